// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive. URBs move from the free list to the bus (flying) and to the done
 * list, where a scheme takes their frames, and back to the free list. A transfer
 * holds many frames. Frames beyond the budget of a pass wait on the overflow
 * queue or in their URB.
 *
 * While the engine masks RX, completed URBs are held back on the done list.
 */
#include <linux/etherdevice.h>	/* and unaligned.h, wherever it is */
#include <linux/if_vlan.h>

#include "lan78xx.h"

/* Desired frames per transfer: enough to spread the cost of the URB, few enough
 * that no frame waits long for or behind the others. The chip's limit is in
 * bytes; the driver computes it from the mean size of received frames.
 */
#define BURST_FRAMES	60
#define BURST_AGAIN	512	/* frames between updates */

/* Counters of a pass. */
struct lan78xx_sums {
	u32 packets, bytes, errors, no_buffer;
};

static void lan78xx_rx_complete(struct urb *urb);

/* Provides a buffer for one transfer: from the pool, or new. */
static bool lan78xx_rx_buffer(struct lan78xx *np, struct lan78xx_rx_urb *r)
{
	if (lan78xx_has(np, rx_pool))
		return true;
	if (!r->skb)
		r->skb = __netdev_alloc_skb(np->netdev, np->sizes.rx_bytes,
					    GFP_ATOMIC | __GFP_NOWARN);
	if (!r->skb)
		return false;
	r->data = r->skb->data;
	return true;
}

static int lan78xx_rx_submit(struct lan78xx *np, struct lan78xx_rx_urb *r)
{
	if (!lan78xx_rx_buffer(np, r))
		return -ENOMEM;
	usb_fill_bulk_urb(r->urb, np->udev,
			  usb_rcvbulkpipe(np->udev, EP_BULK_IN), r->data,
			  np->sizes.rx_bytes, lan78xx_rx_complete, r);
	return usb_submit_urb(r->urb, GFP_ATOMIC);
}

/* Submits free URBs up to the limit. Any context. The number of attempts is
 * bounded, because a failing endpoint returns each URB at once.
 */
void lan78xx_rx_fill(struct lan78xx *np)
{
	struct lan78xx_rx *rx = &np->rx;
	unsigned int left = np->sizes.rx_urbs;
	struct lan78xx_rx_urb *r;
	unsigned long flags;
	int err;

	while (left--) {
		spin_lock_irqsave(&rx->lock, flags);
		r = list_first_entry_or_null(&rx->free, struct lan78xx_rx_urb,
					     list);
		if (!r || rx->halted || rx->flying >= np->sizes.rx_urbs) {
			spin_unlock_irqrestore(&rx->lock, flags);
			return;
		}
		list_del(&r->list);
		rx->flying++;
		spin_unlock_irqrestore(&rx->lock, flags);

		err = lan78xx_rx_submit(np, r);
		if (likely(!err))
			continue;
		spin_lock_irqsave(&rx->lock, flags);
		rx->flying--;
		list_add(&r->list, &rx->free);
		spin_unlock_irqrestore(&rx->lock, flags);
		if (err == -EPIPE)
			lan78xx_event(np, EVENT_RX_HALT);
		else if (err != -EPERM && err != -ENODEV && err != -ESHUTDOWN)
			lan78xx_event_later(np, EVENT_RX_FILL);
		return;
	}
}

/* Any context: depends on the host controller's driver. */
static void lan78xx_rx_complete(struct urb *urb)
{
	struct lan78xx_rx_urb *r = urb->context;
	struct lan78xx *np = r->np;
	struct lan78xx_rx *rx = &np->rx;
	bool good = !urb->status;
	unsigned long flags;

	r->len = urb->actual_length;
	r->at = 0;
	spin_lock_irqsave(&rx->lock, flags);
	rx->flying--;
	if (unlikely(urb->status == -EPIPE))
		rx->halted = true;
	list_add_tail(&r->list, good ? &rx->done : &rx->free);
	spin_unlock_irqrestore(&rx->lock, flags);

	if (unlikely(!good)) {
		switch (urb->status) {
		case -EPIPE:
			lan78xx_event(np, EVENT_RX_HALT);
			break;
		case -ENOENT:
		case -ECONNRESET:
		case -ESHUTDOWN:
		case -ENODEV:
			break;
		default:	/* bus error or babble: retry later, not at once */
			lan78xx_event_later(np, EVENT_RX_FILL);
		}
		return;
	}
	if (!lan78xx_has(np, poll_resubmit))
		lan78xx_rx_fill(np);
	/* Pairs with the barrier in lan78xx_unmask(). */
	smp_mb();
	if (!READ_ONCE(rx->masked))
		irqmod_interrupt(&np->queue, IRQMOD_RX);
}

/* TX causes are URB completions; the available schemes need no TX mask. */
void lan78xx_mask(struct irqmod_queue *queue, u32 groups)
{
	if (groups & IRQMOD_RX)
		WRITE_ONCE(to_lan78xx(queue)->rx.masked, true);
}

void lan78xx_unmask(struct irqmod_queue *queue, u32 groups)
{
	if (!(groups & IRQMOD_RX))
		return;
	WRITE_ONCE(to_lan78xx(queue)->rx.masked, false);
	/* Either we see the URB, or its completion sees that RX is unmasked. */
	smp_mb();
	if (lan78xx_rx_pending(queue))
		irqmod_rx_missed(queue);
}

/* Nothing to do: a completion is not latched. */
void lan78xx_rx_ack(struct irqmod_queue *queue)
{
}

bool lan78xx_rx_pending(struct irqmod_queue *queue)
{
	struct lan78xx_rx *rx = &to_lan78xx(queue)->rx;

	return !list_empty_careful(&rx->done) || rx->current_urb ||
	       !skb_queue_empty_lockless(&rx->overflow);
}

void lan78xx_rx_refill(struct irqmod_queue *queue)
{
	lan78xx_rx_fill(to_lan78xx(queue));
}

/* Returns an sk_buff for the frame at @frame. With rx_pool it is a copy,
 * otherwise a clone that shares the buffer.
 */
static struct sk_buff *lan78xx_rx_skb(struct lan78xx *np,
				      struct lan78xx_rx_urb *r,
				      const u8 *frame, unsigned int len)
{
	struct sk_buff *skb;

	if (likely(lan78xx_has(np, rx_pool))) {
		if (likely(len <= IRQMOD_RX_MAX))
			skb = irqmod_rx_alloc(&np->queue, len);
		else
			skb = netdev_alloc_skb_ip_align(np->netdev, len);
		if (likely(skb))
			skb_put_data(skb, frame, len);
		return skb;
	}
	skb = skb_clone(r->skb, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb->data = (u8 *)frame;
	skb->len = len;
	skb_set_tail_pointer(skb, len);
	/* Charge each clone for its part of the buffer. */
	skb->truesize = SKB_TRUESIZE(len);
	return skb;
}

/* True if the chip verified the TCP or UDP checksum. Fragments are excluded, as
 * the data sheet does not specify the result for them.
 */
static bool lan78xx_rx_verified(u32 a, const u8 *frame, unsigned int len)
{
	if (a & (RX_ICE | RX_TCE | RX_ICSM) || len < ETH_ZLEN - VLAN_HLEN)
		return false;
	switch (a & (RX_IPV | RX_PID)) {
	case RX_PID_TCP:
	case RX_PID_UDP:	/* IPv4: fragment offset, more fragments */
		return !(get_unaligned_be16(frame + ETH_HLEN + 6) & 0x3fff);
	case RX_IPV | RX_PID_TCP:
		return frame[ETH_HLEN + 6] == IPPROTO_TCP;
	case RX_IPV | RX_PID_UDP:
		return frame[ETH_HLEN + 6] == IPPROTO_UDP;
	default:
		return false;
	}
}

static void lan78xx_rx_deliver(struct lan78xx *np, struct sk_buff *skb,
			       bool flow)
{
	skb->cb[0] = 0;
	if (flow)
		irqmod_deliver_flow(&np->queue, skb);
	else
		irqmod_deliver(&np->queue, skb);
}

/* Delivers the frame to the stack (@now), or puts it on the overflow queue. */
static void lan78xx_rx_hand_over(struct lan78xx *np, struct sk_buff *skb,
				 u32 a, u32 b, bool now)
{
	struct lan78xx_rx *rx = &np->rx;
	u32 pid = a & RX_PID;
	bool flow;

	if (rx->checksums && (!(a & RX_FVTG) || rx->strip) &&
	    lan78xx_rx_verified(a, skb->data, skb->len))
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->protocol = eth_type_trans(skb, np->netdev);
	if (a & RX_FVTG && rx->strip)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q), b & RX_VTAG);
	flow = pid != RX_PID_UDP && lan78xx_has(np, rx_pool) &&
	       (pid == RX_PID_TCP || irqmod_is_flow(skb));
	if (unlikely(!now)) {
		skb->cb[0] = flow;
		__skb_queue_tail(&rx->overflow, skb);
	} else {
		lan78xx_rx_deliver(np, skb, flow);
	}
}

/* Takes up to @budget frames from a completed transfer; with overflow_queue,
 * also queues the remaining ones. Every length stated by the device is checked
 * against the number of bytes received.
 */
static int lan78xx_rx_frames(struct lan78xx *np, struct lan78xx_rx_urb *r,
			     int budget, struct lan78xx_sums *sums)
{
	const bool whole = lan78xx_has(np, overflow_queue);
	unsigned int at = r->at, end = r->len;
	int taken = 0;

	while (at < end && (taken < budget || whole)) {
		const u8 *frame = r->data + at + RX_CMD_BYTES;
		unsigned int size, len;
		struct sk_buff *skb;
		u32 a, b;

		taken++;
		if (unlikely(end - at < RX_CMD_BYTES)) {
			sums->errors++;
			at = end;
			break;
		}
		a = get_unaligned_le32(r->data + at);
		b = get_unaligned_le32(r->data + at + 4);
		size = a & RX_LENGTH;
		if (unlikely(size > end - at - RX_CMD_BYTES)) {
			sums->errors++;
			at = end;
			break;
		}
		at = ALIGN(at + RX_CMD_BYTES + size, RX_ALIGN);
		if (unlikely((a & RX_RED && a & RX_ERRORS) ||
			     size < ETH_HLEN + ETH_FCS_LEN ||
			     size > FRAME_MAX + ETH_FCS_LEN)) {
			sums->errors++;
			continue;
		}
		len = size - ETH_FCS_LEN;
		skb = lan78xx_rx_skb(np, r, frame, len);
		if (unlikely(!skb)) {
			sums->no_buffer++;
			continue;
		}
		sums->packets++;
		sums->bytes += len;
		lan78xx_rx_hand_over(np, skb, a, b, taken <= budget);
	}
	r->at = at;
	return min(taken, budget);
}

static struct lan78xx_rx_urb *lan78xx_rx_next(struct lan78xx_rx *rx)
{
	struct lan78xx_rx_urb *r = rx->current_urb;
	unsigned long flags;

	if (r)
		return r;
	if (list_empty_careful(&rx->done))
		return NULL;
	spin_lock_irqsave(&rx->lock, flags);
	r = list_first_entry_or_null(&rx->done, struct lan78xx_rx_urb, list);
	if (r)
		list_del(&r->list);
	spin_unlock_irqrestore(&rx->lock, flags);
	return r;
}

/* Called when all frames of the URB have been taken. */
static void lan78xx_rx_recycle(struct lan78xx *np, struct lan78xx_rx_urb *r)
{
	unsigned long flags;

	if (r->skb) {
		dev_kfree_skb_any(r->skb);
		r->skb = NULL;
	}
	spin_lock_irqsave(&np->rx.lock, flags);
	list_add_tail(&r->list, &np->rx.free);
	spin_unlock_irqrestore(&np->rx.lock, flags);
	if (!np->queue.rx_deferred)
		lan78xx_rx_fill(np);
}

static void lan78xx_rx_update_burst(struct lan78xx *np)
{
	struct lan78xx_rx *rx = &np->rx;
	unsigned int mean = rx->seen_bytes / rx->seen_frames + RX_CMD_BYTES +
			    ETH_FCS_LEN;
	unsigned int burst = clamp(mean * BURST_FRAMES, (u32)BURST_MIN,
				   np->sizes.rx_bytes) / np->maxpacket;

	rx->seen_frames = 0;
	rx->seen_bytes = 0;
	/* Ignore small changes. */
	if (burst * 4 > rx->burst * 3 && burst * 3 < rx->burst * 4)
		return;
	WRITE_ONCE(rx->burst, burst);
	if (lan78xx_has(np, adaptive_burst))
		lan78xx_event(np, EVENT_BURST);
}

int lan78xx_rx_take(struct irqmod_queue *queue, int budget)
{
	struct lan78xx *np = to_lan78xx(queue);
	struct lan78xx_rx *rx = &np->rx;
	struct lan78xx_rx_urb *r;
	struct lan78xx_sums sums = {};
	struct sk_buff *skb;
	int taken = 0;

	while (taken < budget && (skb = __skb_dequeue(&rx->overflow))) {
		taken++;
		lan78xx_rx_deliver(np, skb, skb->cb[0]);
	}
	while (taken < budget && (r = lan78xx_rx_next(rx))) {
		taken += lan78xx_rx_frames(np, r, budget - taken, &sums);
		rx->current_urb = r->at < r->len ? r : NULL;
		if (!rx->current_urb)
			lan78xx_rx_recycle(np, r);
	}

	rx->seen_frames += sums.packets;
	rx->seen_bytes += sums.bytes;
	if (unlikely(rx->seen_frames >= BURST_AGAIN))
		lan78xx_rx_update_burst(np);

	u64_stats_update_begin(&queue->rx_stats.syncp);
	u64_stats_add(&queue->rx_stats.packets, sums.packets);
	u64_stats_add(&queue->rx_stats.bytes, sums.bytes);
	if (unlikely(sums.errors || sums.no_buffer)) {
		u64_stats_add(&queue->rx_stats.errors, sums.errors);
		u64_stats_add(&queue->rx_stats.no_buffer, sums.no_buffer);
	}
	u64_stats_update_end(&queue->rx_stats.syncp);
	return taken;
}

/* Cancels all URBs and blocks submission. May sleep. */
void lan78xx_rx_stop(struct lan78xx *np)
{
	unsigned int i;

	for (i = 0; i < np->rx.count; i++)
		usb_poison_urb(np->rx.urbs[i].urb);
}

/* Allows submission again; with @halted, nothing is submitted yet. */
void lan78xx_rx_start(struct lan78xx *np, bool halted)
{
	unsigned int i;

	spin_lock_irq(&np->rx.lock);
	np->rx.halted = halted;
	spin_unlock_irq(&np->rx.lock);
	for (i = 0; i < np->rx.count; i++)
		usb_unpoison_urb(np->rx.urbs[i].urb);
	lan78xx_rx_fill(np);
}

/* Called with the scheme and the URBs stopped. */
void lan78xx_rx_free(struct lan78xx *np)
{
	struct lan78xx_rx *rx = &np->rx;
	unsigned int i;

	__skb_queue_purge(&rx->overflow);
	rx->current_urb = NULL;
	INIT_LIST_HEAD(&rx->free);
	INIT_LIST_HEAD(&rx->done);
	for (i = 0; i < rx->count; i++) {
		usb_free_urb(rx->urbs[i].urb);
		if (lan78xx_has(np, rx_pool))
			kfree(rx->urbs[i].data);
		dev_kfree_skb(rx->urbs[i].skb);
	}
	kfree(rx->urbs);
	rx->urbs = NULL;
	rx->count = 0;
}

/* Without poll_resubmit, a completion submits another URB while the frames of
 * the completed one are still being taken, so twice as many are needed.
 */
int lan78xx_rx_alloc(struct lan78xx *np)
{
	struct lan78xx_rx *rx = &np->rx;
	unsigned int i, count = np->sizes.rx_urbs;

	if (!lan78xx_has(np, poll_resubmit))
		count *= 2;
	rx->urbs = kcalloc(count, sizeof(*rx->urbs), GFP_KERNEL);
	if (!rx->urbs)
		return -ENOMEM;
	rx->flying = 0;
	rx->halted = false;
	rx->seen_frames = 0;
	rx->seen_bytes = 0;
	for (i = 0; i < count; i++) {
		struct lan78xx_rx_urb *r = &rx->urbs[i];

		rx->count++;
		r->np = np;
		r->urb = usb_alloc_urb(0, GFP_KERNEL);
		if (lan78xx_has(np, rx_pool))
			r->data = kmalloc(np->sizes.rx_bytes, GFP_KERNEL);
		if (!r->urb || (lan78xx_has(np, rx_pool) && !r->data)) {
			lan78xx_rx_free(np);
			return -ENOMEM;
		}
		list_add_tail(&r->list, &rx->free);
	}
	return 0;
}
