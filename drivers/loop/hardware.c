// SPDX-License-Identifier: GPL-2.0-only
/* irqmod_loop: the rings, and a timer that is the hardware. */
#include "loop.h"

static struct loop_queue *to_loop(struct irqmod_queue *queue)
{
	return container_of(queue, struct loop_queue, queue);
}

/* Every operation on the rings checks that it is allowed now. */
struct loop_queue *loop_running(struct irqmod_queue *queue)
{
	const struct loop *loop = netdev_priv(queue->netdev);

	WARN_ON_ONCE(READ_ONCE(loop->stopped) || READ_ONCE(to_loop(queue)->off));
	return to_loop(queue);
}

static void loop_mask(struct irqmod_queue *queue, u32 groups)
{
	struct loop_queue *q = to_loop(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->masked |= groups;
	spin_unlock_irqrestore(&q->lock, flags);
}

/* What was raised while masked interrupts at the next step. */
static void loop_unmask(struct irqmod_queue *queue, u32 groups)
{
	struct loop_queue *q = loop_running(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->masked &= ~groups;
	spin_unlock_irqrestore(&q->lock, flags);
}

static void loop_rx_ack(struct irqmod_queue *queue)
{
	struct loop_queue *q = loop_running(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->causes &= ~IRQMOD_RX;
	spin_unlock_irqrestore(&q->lock, flags);
}

static bool loop_rx_pending(struct irqmod_queue *queue)
{
	struct loop_queue *q = loop_running(queue);

	/* Pairs with hardware_send(). */
	return smp_load_acquire(&q->rx_filled) != q->rx_taken;
}

static void loop_rx_refill(struct irqmod_queue *queue)
{
	struct loop_queue *q = loop_running(queue);
	u32 limit = min_t(u32, READ_ONCE(queue->rx_limit), LOOP_RX_RING);
	/* Pairs with loop_rx_take(), for schemes that refill later. */
	u32 missing = smp_load_acquire(&q->rx_taken) - q->rx_returned;
	u32 spare = LOOP_RX_RING - limit;

	if (missing > spare)
		/* Pairs with hardware_send(). */
		smp_store_release(&q->rx_returned,
				  q->rx_returned + missing - spare);
}

static int loop_rx_take(struct irqmod_queue *queue, int budget)
{
	struct loop_queue *q = loop_running(queue);
	/* Pairs with hardware_send(). */
	u32 left = smp_load_acquire(&q->rx_filled) - q->rx_taken;
	unsigned int packets = 0, no_buffer = 0;
	struct sk_buff *skb;
	u32 i, taken = min_t(u32, left, budget);

	for (i = q->rx_taken; i != q->rx_taken + taken; i++) {
		skb = irqmod_rx_alloc(queue, ETH_ZLEN);
		if (!skb) {
			no_buffer++;
			continue;
		}
		packets++;
		skb_put_data(skb, &q->rx[i % LOOP_RX_RING], ETH_ZLEN);
		skb->protocol = eth_type_trans(skb, queue->netdev);
		skb_record_rx_queue(skb, queue->index);
		irqmod_deliver(queue, skb);
	}
	/* Pairs with loop_rx_refill(). */
	smp_store_release(&q->rx_taken, i);
	if (!queue->rx_deferred)
		loop_rx_refill(queue);

	u64_stats_update_begin(&queue->rx_stats.syncp);
	u64_stats_add(&queue->rx_stats.packets, packets);
	u64_stats_add(&queue->rx_stats.bytes, packets * ETH_ZLEN);
	u64_stats_add(&queue->rx_stats.no_buffer, no_buffer);
	u64_stats_update_end(&queue->rx_stats.syncp);
	return taken;
}

static unsigned int loop_tx_outstanding(struct irqmod_queue *queue)
{
	struct loop_queue *q = to_loop(queue);

	/* Pairs with loop_tx_reclaim(). */
	return READ_ONCE(q->tx_filled) - smp_load_acquire(&q->tx_done);
}

static unsigned int loop_tx_room(struct irqmod_queue *queue)
{
	return LOOP_TX_RING - loop_tx_outstanding(queue);
}

static unsigned int loop_tx_bytes(struct irqmod_queue *queue)
{
	struct loop_queue *q = loop_running(queue);
	unsigned int bytes = 0;
	u32 i;

	for (i = q->tx_done; i != q->tx_filled; i++)
		bytes += q->tx[i % LOOP_TX_RING]->len;
	return bytes;
}

static unsigned int loop_tx_reclaim(struct irqmod_queue *queue)
{
	struct loop_queue *q = loop_running(queue);
	/* Pairs with hardware_send(). */
	u32 i, sent = smp_load_acquire(&q->tx_sent);
	unsigned int bytes = 0, packets = sent - q->tx_done;

	for (i = q->tx_done; i != sent; i++) {
		bytes += q->tx[i % LOOP_TX_RING]->len;
		irqmod_tx_free(queue, q->tx[i % LOOP_TX_RING]);
	}
	if (!packets)
		return 0;
	/* Pairs with loop_tx_outstanding(). */
	smp_store_release(&q->tx_done, sent);
	irqmod_tx_completed(queue, packets, bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, packets);
	u64_stats_add(&queue->tx_stats.bytes, bytes);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets;
}

const struct irqmod_ops loop_irqmod_ops = {
	.mask = loop_mask,
	.unmask = loop_unmask,
	.rx_ack = loop_rx_ack,
	.rx_take = loop_rx_take,
	.rx_pending = loop_rx_pending,
	.rx_refill = loop_rx_refill,
	.tx_reclaim = loop_tx_reclaim,
	.tx_outstanding = loop_tx_outstanding,
	.tx_bytes = loop_tx_bytes,
	.tx_room = loop_tx_room,
};

netdev_tx_t loop_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct loop *loop = netdev_priv(netdev);
	struct loop_queue *q = &loop->queue[skb_get_queue_mapping(skb)];
	bool always = !(loop->port.caps & IRQMOD_CAP_TX_IRQ_BIT);
	unsigned int i = q->tx_filled % LOOP_TX_RING;

	loop_running(&q->queue);
	irqmod_tx_begin(&q->queue);
	q->tx[i] = skb;
	q->tx_irq[i] = irqmod_tx_sent(&q->queue, skb->len) || always;
	/* Pairs with hardware_send(). */
	smp_store_release(&q->tx_filled, q->tx_filled + 1);
	irqmod_tx_queued(&q->queue, loop_tx_room(&q->queue), 1);
	return NETDEV_TX_OK;
}

/* A frame of the sender. */
static bool loops(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_802_EX1) && skb->len == ETH_ZLEN;
}

/* Sends packets, and receives those of the sender, if there is room for them.
 * Returns the causes.
 */
static u32 hardware_send(struct loop_queue *q)
{
	/* Pairs with loop_xmit(). */
	u32 end = smp_load_acquire(&q->tx_filled);
	u32 sent, causes = 0;

	end = min(end - q->tx_sent, (u32)LOOP_STEP) + q->tx_sent;
	for (sent = q->tx_sent; sent != end; sent++) {
		struct sk_buff *skb = q->tx[sent % LOOP_TX_RING];
		/* Pairs with loop_rx_refill(). */
		u32 waiting = q->rx_filled - smp_load_acquire(&q->rx_returned);

		/* No frame is lost: it waits on the transmit ring. */
		if (loops(skb) && waiting == LOOP_RX_RING)
			break;
		if (q->tx_irq[sent % LOOP_TX_RING])
			causes |= IRQMOD_TX;
		if (!loops(skb))
			continue;
		memcpy(&q->rx[q->rx_filled % LOOP_RX_RING], skb->data, ETH_ZLEN);
		/* Pairs with loop_rx_take() and loop_rx_pending(). */
		smp_store_release(&q->rx_filled, q->rx_filled + 1);
		causes |= IRQMOD_RX;
	}
	/* Pairs with loop_tx_reclaim(). */
	smp_store_release(&q->tx_sent, sent);
	return causes;
}

static enum hrtimer_restart hardware_step(struct hrtimer *timer)
{
	struct loop_queue *q = container_of(timer, struct loop_queue, step);
	u32 raised, causes = hardware_send(q);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->causes |= causes;
	raised = q->causes & ~q->masked;
	q->causes &= q->masked;
	spin_unlock_irqrestore(&q->lock, flags);
	if (raised)
		irqmod_interrupt(&q->queue, raised);
	hrtimer_forward_now(timer, ns_to_ktime(LOOP_STEP_NS));
	return HRTIMER_RESTART;
}

static void start_here(void *data)
{
	struct loop_queue *q = data;

	hrtimer_start(&q->step, ns_to_ktime(LOOP_STEP_NS),
		      HRTIMER_MODE_REL_PINNED);
}

void loop_hardware_init(struct loop_queue *q)
{
	q->masked = LOOP_ALL;
	spin_lock_init(&q->lock);
	hrtimer_setup(&q->step, hardware_step, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
}

void loop_hardware_start(struct loop_queue *q)
{
	smp_call_function_single(q->cpu, start_here, q, true);
}

/* Empties the rings. Returns how many of the sender's frames were on them. */
u32 loop_hardware_stop(struct loop_queue *q)
{
	u32 i, frames;

	hrtimer_cancel(&q->step);
	WARN_ON_ONCE(q->masked != LOOP_ALL);
	WARN_ON_ONCE(!netif_tx_queue_stopped(q->queue.txq));
	frames = q->rx_filled - q->rx_taken;
	for (i = q->tx_sent; i != q->tx_filled; i++)
		frames += loops(q->tx[i % LOOP_TX_RING]);
	for (; q->tx_done != q->tx_filled; q->tx_done++)
		kfree_skb(q->tx[q->tx_done % LOOP_TX_RING]);
	q->tx_sent = q->tx_filled;
	q->rx_taken = q->rx_filled;
	q->rx_returned = q->rx_filled;
	q->causes = 0;
	return frames;
}
