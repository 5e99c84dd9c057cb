// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmit. A URB costs as much as several packets, and forwarded packets arrive
 * without netdev_xmit_more(). Packets are therefore copied into the open URB. It
 * is submitted when it is full, when the last URB on the bus completes, or, if
 * there is none on the bus, at the end of the current softirq, by a separate
 * NAPI instance. If a process sends and no URB is on the bus, the open URB is
 * submitted at once.
 *
 * With interrupts disabled netconsole sends, and nothing is submitted: who prints
 * may be the host controller's driver, with the lock that a URB needs.
 *
 * The lists are shared with the completions. The open URB is protected by the
 * lock of the transmit queue.
 */
#include <linux/etherdevice.h>	/* and unaligned.h, wherever it is */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>

#include "lan78xx.h"

/* As in the series: packets wait on a queue, and the NAPI cycle copies them into URBs. */
static bool lan78xx_tx_queues(const struct lan78xx *np)
{
	return unlikely(irqmod_instrument(np->measures.tx_queue, false));
}

/* Free URBs; tx_queue: without those that the packets on the queue need. */
static inline unsigned int lan78xx_tx_left(const struct lan78xx *np)
{
	unsigned int needed, room = READ_ONCE(np->tx.room);

	if (!lan78xx_tx_queues(np))
		return room;
	needed = DIV_ROUND_UP(READ_ONCE(np->tx.pending_bytes), np->sizes.tx_bytes);
	return room - min(needed, room);
}

/* Queues a URB, sent or failed, for reclaim. */
static void lan78xx_tx_done(struct lan78xx_tx *tx, struct lan78xx_tx_urb *t,
			    bool failed)
{
	unsigned long flags;

	t->failed = failed;
	spin_lock_irqsave(&tx->lock, flags);
	list_add_tail(&t->list, &tx->done);
	spin_unlock_irqrestore(&tx->lock, flags);
}

static void lan78xx_tx_complete(struct urb *urb)
{
	struct lan78xx_tx_urb *t = urb->context;
	struct lan78xx *np = t->np;
	struct lan78xx_tx *tx = &np->tx;
	int flying;

	if (unlikely(urb->status == -EPIPE))
		lan78xx_event(np, EVENT_TX_HALT);
	lan78xx_tx_done(tx, t, urb->status);
	/* A full barrier: either we see the open URB, or the context that
	 * fills it sees that no URB is on the bus.
	 */
	flying = atomic_dec_return(&tx->flying);
	irqmod_interrupt(&np->queue, IRQMOD_TX);
	if (!flying && READ_ONCE(tx->open) && !READ_ONCE(tx->flush))
		napi_schedule(&tx->napi);
	else if (lan78xx_tx_queues(np) && !flying && !skb_queue_empty_lockless(&tx->pending))
		napi_schedule(&tx->napi);
}

/* Transmit queue locked. A URB that the bus does not take is reclaimed by the
 * engine's timer, or with the next one that completes: this is not the context of
 * completions, which may run on another CPU meanwhile.
 */
static void lan78xx_tx_submit(struct lan78xx *np, struct lan78xx_tx_urb *t,
			      void *data)
{
	int err;

	usb_fill_bulk_urb(t->urb, np->udev,
			  usb_sndbulkpipe(np->udev, EP_BULK_OUT), data, t->len,
			  lan78xx_tx_complete, t);
	/* A transfer of full packets needs an explicit end. */
	t->urb->transfer_flags = t->len % np->maxpacket ? 0 : URB_ZERO_PACKET;
	/* Byte queue limits count the URB, which costs less than each packet. */
	np->tx.bytes_sent += t->bytes;
	irqmod_tx_sent(&np->queue, t->bytes);
	atomic_inc(&np->tx.flying);
	err = usb_submit_urb(t->urb, GFP_ATOMIC);
	if (likely(!err))
		return;
	if (err == -EPIPE)
		lan78xx_event(np, EVENT_TX_HALT);
	lan78xx_tx_done(&np->tx, t, true);
	atomic_dec(&np->tx.flying);
	irqmod_tx_want_timer(&np->queue);
}

/* Submits the open URB. Transmit queue locked. */
static void lan78xx_tx_submit_open(struct lan78xx *np)
{
	struct lan78xx_tx_urb *t = np->tx.open;

	if (!t)
		return;
	WRITE_ONCE(np->tx.open, NULL);
	lan78xx_tx_submit(np, t, t->data);
}

/* Takes a free URB, with @buffer one that has a buffer; the caller has checked that
 * one is free. NULL: no memory. Transmit queue locked.
 */
static struct lan78xx_tx_urb *lan78xx_tx_take(struct lan78xx *np, bool buffer)
{
	struct lan78xx_tx *tx = &np->tx;
	struct lan78xx_tx_urb *t;
	unsigned long flags;
	u8 *data = NULL;

	if (buffer && !lan78xx_has(np, tx_pool)) {
		data = kmalloc(np->sizes.tx_bytes, GFP_ATOMIC | __GFP_NOWARN);
		if (!data)
			return NULL;
	}
	spin_lock_irqsave(&tx->lock, flags);
	t = list_first_entry(&tx->free, struct lan78xx_tx_urb, list);
	list_del(&t->list);
	tx->room--;
	spin_unlock_irqrestore(&tx->lock, flags);
	if (data)
		t->data = data;
	t->len = 0;
	t->packets = 0;
	t->bytes = 0;
	return t;
}

/* Writes command words A and B. */
static void lan78xx_tx_command(const struct sk_buff *skb, u8 *at)
{
	u32 a = skb->len | TX_FCS, b = 0;

	if (skb->ip_summed == CHECKSUM_PARTIAL)
		a |= TX_IPE | TX_TPE;
	if (skb_is_gso(skb)) {
		a |= TX_LSO | TX_IPE | TX_TPE;
		b = (u32)max_t(u16, skb_shinfo(skb)->gso_size, TX_MSS_MIN) <<
		    TX_MSS_SHIFT;
	}
	if (skb_vlan_tag_present(skb)) {
		a |= TX_IVTG;
		b |= skb_vlan_tag_get(skb);
	}
	put_unaligned_le32(a, at);
	put_unaligned_le32(b, at + 4);
}

static void lan78xx_tx_account(struct lan78xx_tx_urb *t,
			       const struct sk_buff *skb)
{
	t->packets += skb_shinfo(skb)->gso_segs ?: 1;
	t->bytes += max_t(unsigned int, skb->len, ETH_ZLEN); /* the chip pads */
}

/* Appends a copy of the packet to a URB that has room for it. */
static void lan78xx_tx_copy(struct lan78xx_tx_urb *t, const struct sk_buff *skb)
{
	unsigned int at = ALIGN(t->len, TX_ALIGN);
	u8 *data = t->data + at + TX_CMD_BYTES;

	/* The padding between two packets is sent as well: clear it. */
	while (unlikely(t->len < at))
		t->data[t->len++] = 0;
	if (likely(!skb_is_nonlinear(skb)))
		memcpy(data, skb->data, skb->len);
	else
		skb_copy_bits(skb, 0, data, skb->len);
	lan78xx_tx_command(skb, t->data + at);
	lan78xx_tx_account(t, skb);
	t->len = at + TX_CMD_BYTES + skb->len;
}

/* netpoll transmits with interrupts off, where NAPI's cache must not be used. */
static void lan78xx_tx_consume(struct sk_buff *skb)
{
	napi_consume_skb(skb, !irqs_disabled());
}

/* Whether the open URB has no room for the packet. */
static bool lan78xx_tx_open_is_full(struct lan78xx *np,
				    const struct sk_buff *skb)
{
	const struct lan78xx_tx_urb *t = np->tx.open;

	return t && ALIGN(t->len, TX_ALIGN) + TX_CMD_BYTES + skb->len >
		    np->sizes.tx_bytes;
}

/* Appends the packet to the open URB. */
static bool lan78xx_tx_pack(struct lan78xx *np, struct sk_buff *skb)
{
	struct lan78xx_tx_urb *t;

	if (lan78xx_tx_open_is_full(np, skb))
		lan78xx_tx_submit_open(np);
	t = np->tx.open;
	if (!t) {
		t = lan78xx_tx_take(np, true);
		if (unlikely(!t))
			return false;
		WRITE_ONCE(np->tx.open, t);
	}
	lan78xx_tx_copy(t, skb);
	lan78xx_tx_consume(skb);
	return true;
}

/* One URB per packet. Without tx_pool it is sent from the packet's own memory,
 * with the command words in its headroom.
 */
static bool lan78xx_tx_single(struct lan78xx *np, struct sk_buff *skb)
{
	struct lan78xx_tx_urb *t;
	void *data;

	lan78xx_tx_submit_open(np);
	/* Before taking a URB, since this may fail. */
	if (!lan78xx_has(np, tx_pool) &&
	    (skb_cow_head(skb, TX_CMD_BYTES) || skb_linearize(skb)))
		return false;
	t = lan78xx_tx_take(np, false);
	if (unlikely(!t))
		return false;
	if (lan78xx_has(np, tx_pool)) {
		data = t->data;
		lan78xx_tx_copy(t, skb);
		lan78xx_tx_consume(skb);
	} else {
		lan78xx_tx_account(t, skb);
		data = skb->data - TX_CMD_BYTES;
		lan78xx_tx_command(skb, data);
		t->len = skb->len + TX_CMD_BYTES;
		t->skb = skb;
	}
	lan78xx_tx_submit(np, t, data);
	return true;
}

/* Decides when the open URB is submitted, after the last packet of a batch. */
static void lan78xx_tx_doorbell(struct lan78xx *np, bool stopped)
{
	struct lan78xx_tx *tx = &np->tx;

	if (!tx->open)
		return;
	if (unlikely(irqs_disabled())) {
		lan78xx_event(np, EVENT_TX_FLUSH);
		return;
	}
	/* Pairs with atomic_dec_return() in lan78xx_tx_complete(). */
	smp_mb();
	if (stopped || (!atomic_read(&tx->flying) && !in_serving_softirq())) {
		lan78xx_tx_submit_open(np);
	} else if (!atomic_read(&tx->flying) && !tx->flush) {
		WRITE_ONCE(tx->flush, true);
		napi_schedule(&tx->napi);
	}
}

/* Linux 5.16 packed packets, but none that the chip segments. */
static bool lan78xx_tx_packs(const struct lan78xx *np,
			     const struct sk_buff *skb)
{
	return lan78xx_has(np, tx_packing) &&
	       (lan78xx_has(np, tx_pool) || !skb_is_gso(skb));
}

/* Disables offloads for packets that the chip does not understand or cannot segment.
 * Kernels before 6.1.70 and 6.6.9 do not compare the size of forwarded packets with
 * gso_max_size, and no kernel checks gso_size.
 */
netdev_features_t lan78xx_features_check(struct sk_buff *skb,
					 struct net_device *netdev,
					 netdev_features_t features)
{
	struct lan78xx *np = netdev_priv(netdev);
	bool tagged = skb_vlan_tag_present(skb);
	__be16 outer = tagged ? skb->vlan_proto : skb->protocol;

	if (likely(!skb_is_gso(skb) && !eth_type_vlan(outer)))
		return features;
	/* The chip does not look behind a provider's tag (802.1ad). The stack puts
	 * such a tag into the data, if it is not there already.
	 */
	if (outer == htons(ETH_P_8021AD))
		features &= ~(NETIF_F_CSUM_MASK | NETIF_F_GSO_MASK);
	/* The stack may put the tag into the data after this check. */
	if (skb_is_gso(skb) &&
	    (skb->len + (tagged ? VLAN_HLEN : 0) >
	     READ_ONCE(np->sizes.tx_bytes) - TX_CMD_BYTES ||
	     skb_shinfo(skb)->gso_size > TX_MSS_MAX))
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}

/* A URB is free, or the packet fits into the open one. Transmit queue locked. */
static void lan78xx_tx_send(struct lan78xx *np, struct sk_buff *skb)
{
	bool taken = false;

	/* A longer packet was checked by the stack before the URBs became smaller. */
	if (likely(skb->len <= np->sizes.tx_bytes - TX_CMD_BYTES))
		taken = lan78xx_tx_packs(np, skb) ? lan78xx_tx_pack(np, skb)
						  : lan78xx_tx_single(np, skb);
	if (unlikely(!taken)) {
		dev_kfree_skb_any(skb);
		dev_core_stats_tx_dropped_inc(np->netdev);
	}
}

/* What a packet takes up in a URB, at most. */
static unsigned int lan78xx_tx_needs(const struct sk_buff *skb)
{
	return ALIGN(TX_CMD_BYTES + skb->len, TX_ALIGN);
}

/* tx_queue: the poll is scheduled unless a URB is on the bus, whose completion does it. */
static void lan78xx_tx_enqueue(struct lan78xx *np, struct sk_buff *skb)
{
	struct lan78xx_tx *tx = &np->tx;

	__skb_queue_tail(&tx->pending, skb);
	WRITE_ONCE(tx->pending_bytes, tx->pending_bytes + lan78xx_tx_needs(skb));
	if (!irqmod_tx_queued(&np->queue, lan78xx_tx_left(np), 1))
		return;
	/* Pairs with atomic_dec_return() in lan78xx_tx_complete(). */
	smp_mb();
	if (!atomic_read(&tx->flying))
		napi_schedule(&tx->napi);
}

/* tx_queue: as many packets as there are URBs for. Transmit queue locked. */
static void lan78xx_tx_send_pending(struct lan78xx *np)
{
	struct lan78xx_tx *tx = &np->tx;
	struct sk_buff *skb;

	while ((skb = skb_peek(&tx->pending))) {
		if (!lan78xx_tx_packs(np, skb) || lan78xx_tx_open_is_full(np, skb))
			lan78xx_tx_submit_open(np);
		if (!tx->open && !READ_ONCE(tx->room))
			break;
		__skb_unlink(skb, &tx->pending);
		WRITE_ONCE(tx->pending_bytes, tx->pending_bytes - lan78xx_tx_needs(skb));
		lan78xx_tx_send(np, skb);
	}
}

netdev_tx_t lan78xx_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct lan78xx *np = netdev_priv(netdev);

	if (unlikely(irqs_disabled()) && lan78xx_tx_open_is_full(np, skb)) {
		lan78xx_event(np, EVENT_TX_FLUSH);
		return NETDEV_TX_BUSY;	/* netpoll's work queue sends it */
	}
	irqmod_tx_begin(&np->queue);
	/* A reclaim saw room, and packets have used it before it woke the queue. */
	if (unlikely(!lan78xx_tx_left(np))) {
		irqmod_tx_full(&np->queue, 1);
		lan78xx_tx_doorbell(np, true);
		return NETDEV_TX_BUSY;
	}
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);
	if (lan78xx_tx_queues(np)) {
		lan78xx_tx_enqueue(np, skb);
		return NETDEV_TX_OK;
	}
	lan78xx_tx_send(np, skb);
	if (irqmod_tx_queued(&np->queue, READ_ONCE(np->tx.room), 1))
		lan78xx_tx_doorbell(np, netif_xmit_stopped(np->queue.txq));
	return NETDEV_TX_OK;
}

/* Submits what waits, from the event work. */
void lan78xx_tx_flush(struct lan78xx *np)
{
	struct netdev_queue *txq = np->queue.txq;

	__netif_tx_lock_bh(txq);
	lan78xx_tx_submit_open(np);
	__netif_tx_unlock_bh(txq);
}

/* The open URB is not submitted any more; the queue is disabled. The NAPI stays. */
void lan78xx_tx_close(struct lan78xx *np)
{
	struct netdev_queue *txq = np->queue.txq;

	__netif_tx_lock_bh(txq);
	WRITE_ONCE(np->tx.open, NULL);
	WRITE_ONCE(np->tx.flush, false);
	__skb_queue_purge(&np->tx.pending);
	np->tx.pending_bytes = 0;
	__netif_tx_unlock_bh(txq);
}

/* Runs at the end of the sending softirq, or after the last completion. netpoll may
 * call it, too (budget 0), with interrupts disabled: then it stays scheduled, if it
 * was.
 */
int lan78xx_tx_poll(struct napi_struct *napi, int budget)
{
	struct lan78xx *np = container_of(napi, struct lan78xx, tx.napi);
	struct netdev_queue *txq = np->queue.txq;

	if (unlikely(!budget))
		return 0;
	__netif_tx_lock(txq, smp_processor_id());
	WRITE_ONCE(np->tx.flush, false);
	if (lan78xx_tx_queues(np))
		lan78xx_tx_send_pending(np);
	lan78xx_tx_submit_open(np);
	__netif_tx_unlock(txq);
	/* Last: napi_disable() waits for it. If this has been scheduled since, it
	 * is called again.
	 */
	napi_complete(napi);
	return 0;
}

unsigned int lan78xx_tx_outstanding(struct irqmod_queue *queue)
{
	struct lan78xx *np = to_lan78xx(queue);

	return np->tx.count - READ_ONCE(np->tx.room);
}

unsigned int lan78xx_tx_bytes(struct irqmod_queue *queue)
{
	const struct lan78xx_tx *tx = &to_lan78xx(queue)->tx;

	return tx->bytes_sent - tx->bytes_done;
}

unsigned int lan78xx_tx_room(struct irqmod_queue *queue)
{
	return lan78xx_tx_left(to_lan78xx(queue));
}

unsigned int lan78xx_tx_reclaim(struct irqmod_queue *queue)
{
	struct lan78xx *np = to_lan78xx(queue);
	u32 packets = 0, bytes = 0, errors = 0, all_bytes = 0;
	struct lan78xx_tx *tx = &np->tx;
	struct lan78xx_tx_urb *t;
	unsigned int urbs = 0;
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&tx->lock, flags);
	list_splice_init(&tx->done, &done);
	spin_unlock_irqrestore(&tx->lock, flags);
	list_for_each_entry(t, &done, list) {
		all_bytes += t->bytes;
		if (unlikely(t->failed)) {
			errors += t->packets;
		} else {
			packets += t->packets;
			bytes += t->bytes;
		}
		if (t->skb) {
			irqmod_tx_free(queue, t->skb);
			t->skb = NULL;
		}
		if (!lan78xx_has(np, tx_pool)) {
			kfree(t->data);
			t->data = NULL;
		}
		urbs++;
	}
	if (!urbs)
		return 0;
	spin_lock_irqsave(&tx->lock, flags);
	list_splice_tail(&done, &tx->free);
	WRITE_ONCE(tx->room, tx->room + urbs);
	spin_unlock_irqrestore(&tx->lock, flags);
	tx->bytes_done += all_bytes;
	irqmod_tx_completed(queue, urbs, all_bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, packets);
	u64_stats_add(&queue->tx_stats.bytes, bytes);
	u64_stats_add(&queue->tx_stats.errors, errors);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets + errors;
}

/* Cancels all URBs and blocks submission. May sleep. */
void lan78xx_tx_stop(struct lan78xx *np)
{
	unsigned int i;

	for (i = 0; i < np->tx.count; i++)
		usb_poison_urb(np->tx.urbs[i].urb);
}

void lan78xx_tx_start(struct lan78xx *np)
{
	unsigned int i;

	for (i = 0; i < np->tx.count; i++)
		usb_unpoison_urb(np->tx.urbs[i].urb);
}

/* Called with the queue disabled and the scheme and the URBs stopped. */
void lan78xx_tx_free(struct lan78xx *np)
{
	struct lan78xx_tx *tx = &np->tx;
	unsigned int i;

	tx->room = 0;
	tx->bytes_sent = 0;
	tx->bytes_done = 0;
	INIT_LIST_HEAD(&tx->free);
	INIT_LIST_HEAD(&tx->done);
	for (i = 0; i < tx->count; i++) {
		usb_free_urb(tx->urbs[i].urb);
		kfree(tx->urbs[i].data);
		dev_kfree_skb(tx->urbs[i].skb);
	}
	kfree(tx->urbs);
	tx->urbs = NULL;
	tx->count = 0;
}

int lan78xx_tx_alloc(struct lan78xx *np)
{
	struct lan78xx_tx *tx = &np->tx;
	unsigned int i;

	tx->urbs = kcalloc(np->sizes.tx_urbs, sizeof(*tx->urbs), GFP_KERNEL);
	if (!tx->urbs)
		return -ENOMEM;
	atomic_set(&tx->flying, 0);
	for (i = 0; i < np->sizes.tx_urbs; i++) {
		struct lan78xx_tx_urb *t = &tx->urbs[i];

		tx->count++;
		t->np = np;
		t->urb = usb_alloc_urb(0, GFP_KERNEL);
		if (lan78xx_has(np, tx_pool))
			t->data = kmalloc(np->sizes.tx_bytes, GFP_KERNEL);
		if (!t->urb || (lan78xx_has(np, tx_pool) && !t->data)) {
			lan78xx_tx_free(np);
			return -ENOMEM;
		}
		list_add_tail(&t->list, &tx->free);
	}
	tx->room = tx->count;
	return 0;
}
