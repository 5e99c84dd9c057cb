// SPDX-License-Identifier: GPL-2.0-only
/*
 * Common code of the transmit schemes: reclaiming under the right lock, waking
 * the queue, and the timer that guarantees that every packet is eventually
 * reclaimed (Documentation/networking/driver.rst).
 *
 * Byte queue limits are used where the scheme says so (@limits). BQL adapts to the
 * delay between a transmit and its completion. Some schemes report completions
 * late on purpose, for one packet in N or only at the next transmit. BQL would
 * then allow a long queue or, during a pause, stop the queue until the timer
 * expires. With these the size of the ring limits the queue.
 */
#include "scheme.h"

/* Whether to wake the queue: not for every packet. */
static bool tx_enough(struct irqmod_queue *queue)
{
	const struct irqmod_port *port = queue->port;

	return queue->ops->tx_room(queue) >=
	       max(port->tx_ring / 4, READ_ONCE(port->tx_reserve));
}

void irqmod_tx_wake(struct irqmod_queue *queue)
{
	/* Pairs with the barrier in irqmod_tx_full(). */
	smp_mb();
	if (unlikely(netif_tx_queue_stopped(queue->txq)) &&
	    READ_ONCE(queue->up) && tx_enough(queue))
		netif_tx_wake_queue(queue->txq);
}

static void tx_count(struct irqmod_queue *queue, u64_stats_t *place,
		     unsigned int packets)
{
	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(place, packets);
	u64_stats_update_end(&queue->tx_stats.syncp);
}

/**
 * irqmod_tx_reclaim_early() - reclaims before a transmit
 * @queue: the queue
 *
 * Once tx_early are on the ring: a reclaim costs the less per packet, the more it
 * finds. Called by irqmod_tx_begin().
 *
 * Context: ndo_start_xmit.
 */
void irqmod_tx_reclaim_early(struct irqmod_queue *queue)
{
	unsigned int packets;

	if (queue->ops->tx_outstanding(queue) < queue->tx_early)
		return;
	packets = irqmod_tx_reclaim(queue);
	if (packets)
		tx_count(queue, &queue->tx_stats.reclaims_xmit, packets);
}
EXPORT_SYMBOL_GPL(irqmod_tx_reclaim_early);

static unsigned int tx_reclaim_with_rx(struct irqmod_queue *queue)
{
	unsigned int packets = irqmod_tx_reclaim(queue);

	if (packets)
		tx_count(queue, &queue->tx_stats.reclaims_rx, packets);
	return packets;
}

/* With tx_with_rx passes never overlap, and until the scheme is stopped nothing else
 * reclaims, except netpoll (@tasklet). Otherwise the queue's lock is needed; if another
 * has it, nothing is reclaimed.
 */
static unsigned int tx_reclaim_in_pass(struct irqmod_queue *queue)
{
	unsigned int packets = 0;
	bool with_rx;

	/* Acquire: pairs with start() of the scheme that sets it. */
	with_rx = smp_load_acquire(&queue->tx_with_rx);
	if (with_rx && !queue->rx->tasklet)
		return tx_reclaim_with_rx(queue);
	if (with_rx) {
		__netif_tx_lock(queue->txq, smp_processor_id());
		packets = tx_reclaim_with_rx(queue);
		__netif_tx_unlock(queue->txq);
		return packets;
	}
	if (!__netif_tx_trylock(queue->txq))
		return 0;
	/* The scheme may have changed before the queue was locked. */
	if (queue->tx_in_rx)
		packets = tx_reclaim_with_rx(queue);
	__netif_tx_unlock(queue->txq);
	return packets;
}

/* Called in each pass over the receive ring, in softirq. */
void irqmod_tx_rx_reclaim(struct irqmod_queue *queue)
{
	unsigned int packets;

	if (!READ_ONCE(queue->tx_in_rx) || !queue->ops->tx_outstanding(queue))
		return;
	packets = tx_reclaim_in_pass(queue);
	/* Also without a packet: what the driver has on the ring besides (8255x:
	 * commands) may have made room.
	 */
	if (packets || unlikely(netif_tx_queue_stopped(queue->txq)))
		irqmod_tx_wake(queue);
	/* Still stopped: the next completion, too, is taken at once. */
	if (READ_ONCE(queue->tx_with_rx) && queue->rx->pauses &&
	    unlikely(irqmod_tx_is_stopped(queue)))
		queue->ops->unmask(queue, IRQMOD_TX);
}

/* The queue is locked. The handler, which reclaims without that lock (@in_irq), has
 * another. The message that is sent may be its own.
 */
static unsigned int tx_netpoll_reclaim(struct irqmod_queue *queue)
{
	unsigned int packets;

	if (!queue->tx->in_irq)
		return tx_reclaim_with_rx(queue);
	if (!spin_trylock(&queue->tx_lock))
		return 0;
	packets = tx_reclaim_with_rx(queue);
	spin_unlock(&queue->tx_lock);
	return packets;
}

/**
 * irqmod_netpoll() - reclaims for netpoll, where no tasklet and no timer runs
 * @queue: the queue
 *
 * Called by ndo_poll_controller, which must not run or wait for the interrupt
 * handler: netconsole may send a message of that handler. The cause stays, and
 * interrupts later. With tx_with_rx, netpoll polls a NAPI itself.
 *
 * Context: interrupts disabled.
 */
void irqmod_netpoll(struct irqmod_queue *queue)
{
	unsigned int packets = 0;
	bool ours;

	if (!__netif_tx_trylock(queue->txq))
		return;
	ours = !queue->tx_switching;
	/* Acquire: pairs with rx_start_queue(). rx_stop() waits for us. */
	if (READ_ONCE(queue->tx_with_rx) && smp_load_acquire(&queue->rx_stopping))
		ours = false;
	else if (READ_ONCE(queue->tx_with_rx))
		ours = ours && queue->rx->tasklet;
	if (ours)
		packets = tx_netpoll_reclaim(queue);
	__netif_tx_unlock(queue->txq);
	if (packets)
		irqmod_tx_wake(queue);
}
EXPORT_SYMBOL_GPL(irqmod_netpoll);

/* Reclaims after an interrupt; the queue is locked. Returns whether there is now as
 * much room as irqmod_tx_wake() needs.
 */
bool irqmod_tx_locked_reclaim(struct irqmod_queue *queue)
{
	unsigned int packets = irqmod_tx_reclaim(queue);

	if (packets)
		tx_count(queue, &queue->tx_stats.reclaims_irq, packets);
	return tx_enough(queue);
}

/* Reclaims before a scheme is started; the queue is locked, and no handler, pass or
 * timer reclaims until then. The packets count as reclaimed by the timer, which would
 * otherwise do it later. Returns whether there is now as much room as irqmod_tx_wake()
 * needs.
 */
bool irqmod_tx_start_reclaim(struct irqmod_queue *queue)
{
	unsigned int packets = 0;

	if (queue->ops->tx_outstanding(queue))
		packets = irqmod_tx_reclaim(queue);
	if (packets)
		tx_count(queue, &queue->tx_stats.reclaims_timer, packets);
	return tx_enough(queue);
}

/* Reclaims in the handler (@in_irq). */
void irqmod_tx_irq_reclaim(struct irqmod_queue *queue)
{
	unsigned long flags;
	unsigned int packets;

	spin_lock_irqsave(&queue->tx_lock, flags);
	packets = irqmod_tx_reclaim(queue);
	if (packets)
		tx_count(queue, &queue->tx_stats.reclaims_irq, packets);
	spin_unlock_irqrestore(&queue->tx_lock, flags);
	irqmod_tx_wake(queue);
}

static void tx_timer_reclaim(struct irqmod_queue *queue)
{
	unsigned int packets = 0;
	unsigned long flags;

	if (READ_ONCE(queue->tx_with_rx)) {
		/* A pass over the receive ring reclaims. Another CPU may be at
		 * it: schemes allow this (@irq in scheme.h).
		 */
		/* Acquire: pairs with rx_start_queue(). */
		if (!smp_load_acquire(&queue->rx_stopping))
			queue->rx->irq(queue);
	} else if (queue->tx->in_irq) {
		spin_lock_irqsave(&queue->tx_lock, flags);
		packets = irqmod_tx_reclaim(queue);
		if (packets)
			tx_count(queue, &queue->tx_stats.reclaims_timer, packets);
		spin_unlock_irqrestore(&queue->tx_lock, flags);
	} else if (__netif_tx_trylock(queue->txq)) {
		/* While the scheme is being stopped, a pass over the receive ring
		 * may still be reclaiming without the lock: tx_stop() waits for it.
		 */
		if (!queue->tx_switching && !READ_ONCE(queue->tx_with_rx))
			packets = irqmod_tx_reclaim(queue);
		if (packets)
			tx_count(queue, &queue->tx_stats.reclaims_timer, packets);
		__netif_tx_unlock(queue->txq);
	}
	irqmod_tx_wake(queue);
}

/* ndo_start_xmit puts a packet on the ring and then reads tx_armed, both with the
 * queue locked. If the lock is taken, there may be a packet.
 */
static bool tx_timer_needed(struct irqmod_queue *queue)
{
	bool needed;

	if (!__netif_tx_trylock(queue->txq))
		return true;
	needed = queue->ops->tx_outstanding(queue);
	queue->tx_armed = needed;
	__netif_tx_unlock(queue->txq);
	return needed;
}

/* Runs in softirq: the longest wait if tx_timed, and for all schemes the reclaim of
 * packets queued under the previous scheme.
 */
enum hrtimer_restart irqmod_tx_timer(struct hrtimer *timer)
{
	struct irqmod_queue *queue = container_of(timer, struct irqmod_queue,
						  tx_timer);

	tx_timer_reclaim(queue);
	if (!tx_timer_needed(queue))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, irqmod_ktime(queue->tx_usecs));
	return HRTIMER_RESTART;
}

/**
 * irqmod_tx_arm() - arms the transmit timer
 * @queue: the queue
 *
 * Called by irqmod_tx_queued().
 *
 * Context: the queue is locked.
 */
void irqmod_tx_arm(struct irqmod_queue *queue)
{
	queue->tx_armed = true;
	hrtimer_start(&queue->tx_timer, irqmod_ktime(queue->tx_usecs),
		      HRTIMER_MODE_REL_SOFT);
}
EXPORT_SYMBOL_GPL(irqmod_tx_arm);

/**
 * irqmod_tx_want_timer() - no interrupt will say that something on the ring is done
 * @queue: the queue
 *
 * For a packet that a device has refused at once (USB), and for what else a driver
 * has on the ring (8255x: commands). The timer reclaims it: a call of
 * irqmod_interrupt() might meet another one.
 *
 * Context: the queue is locked.
 */
void irqmod_tx_want_timer(struct irqmod_queue *queue)
{
	/* While the scheme changes, no: its start looks at what is on the ring. */
	if (!queue->tx_armed && !queue->tx_switching)
		irqmod_tx_arm(queue);
}
EXPORT_SYMBOL_GPL(irqmod_tx_want_timer);

/**
 * irqmod_tx_limited() - the byte queue limit has stopped the queue
 * @queue: the queue
 *
 * As with a full ring, the next completion interrupts. Called by irqmod_tx_queued().
 *
 * Context: the queue is locked.
 */
void irqmod_tx_limited(struct irqmod_queue *queue)
{
	if (queue->tx->full && !queue->tx_switching)
		queue->tx->full(queue);
}
EXPORT_SYMBOL_GPL(irqmod_tx_limited);

/**
 * irqmod_tx_full() - stops the queue because the ring is full
 * @queue: the queue
 * @reserve: the descriptors that a packet may need; if there are as many after all,
 *           the queue is started again
 *
 * The next completion then interrupts with every scheme: the wire must not wait for
 * a timer. Called by irqmod_tx_queued().
 *
 * Context: the queue is locked.
 */
void irqmod_tx_full(struct irqmod_queue *queue, unsigned int reserve)
{
	netif_tx_stop_queue(queue->txq);
	/* Pairs with the barrier in irqmod_tx_wake(): either we see the descriptors
	 * that a reclaim has just freed, or it sees the stopped queue.
	 */
	smp_mb();
	if (queue->ops->tx_room(queue) >= reserve)
		netif_tx_start_queue(queue->txq);
	else if (queue->tx->full && !queue->tx_switching)
		queue->tx->full(queue);
}
EXPORT_SYMBOL_GPL(irqmod_tx_full);

/* Masks TX, which was unmasked because the ring was full, unless it still is.
 * Hard IRQ.
 */
void irqmod_tx_mask_unless_full(struct irqmod_queue *queue)
{
	queue->ops->mask(queue, IRQMOD_TX);
	/* Masks are written under a lock. If irqmod_tx_full() unmasked TX before
	 * that, it had stopped the queue, which we see.
	 */
	if (netif_tx_queue_stopped(queue->txq))
		queue->ops->unmask(queue, IRQMOD_TX);
}
