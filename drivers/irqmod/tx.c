// SPDX-License-Identifier: GPL-2.0-only
/*
 * Common code of the transmit schemes: reclaiming under the right lock, waking
 * the queue, and the timer that guarantees that every packet is eventually
 * reclaimed (Documentation/networking/driver.rst).
 *
 * Byte queue limits are not used. BQL adapts to the delay between a transmit
 * and its completion. Some schemes report completions late on purpose, for one
 * packet in N or only at the next transmit. BQL would then allow a long queue
 * or, during a pause, stop the queue until the timer expires. The size of the
 * ring limits the queue.
 */
#include "scheme.h"

#define TX_EARLY_BATCH	8

/* Wakes the queue when a quarter of the ring is free, not for every packet. */
static void tx_wake(struct irqmod_port *port)
{
	struct netdev_queue *txq = netdev_get_tx_queue(port->netdev, 0);

	/* Pairs with the barrier in irqmod_tx_full(). */
	smp_mb();
	if (unlikely(netif_tx_queue_stopped(txq)) && READ_ONCE(port->up) &&
	    port->ops->tx_room(port) >= port->tx_ring / 4)
		netif_tx_wake_queue(txq);
}

static void tx_count(struct irqmod_port *port, u64_stats_t *place,
		     unsigned int packets)
{
	u64_stats_update_begin(&port->tx_stats.syncp);
	u64_stats_add(place, packets);
	u64_stats_update_end(&port->tx_stats.syncp);
}

/* off: reclaims before a transmit, with the queue's lock held, in batches. The
 * paper reclaims one packet before each transmit, which has the overhead of a
 * reclaim for each packet.
 */
void irqmod_tx_reclaim_early(struct irqmod_port *port)
{
	unsigned int packets;

	if (port->ops->tx_outstanding(port) < TX_EARLY_BATCH)
		return;
	packets = port->ops->tx_reclaim(port);
	if (packets)
		tx_count(port, &port->tx_stats.reclaims_xmit, packets);
}
EXPORT_SYMBOL_GPL(irqmod_tx_reclaim_early);

/* off: reclaims in the receive path, unless the queue is locked. */
void irqmod_tx_rx_reclaim(struct irqmod_port *port)
{
	struct netdev_queue *txq;
	unsigned int packets;

	if (!READ_ONCE(port->tx_early) || !port->ops->tx_outstanding(port))
		return;
	txq = netdev_get_tx_queue(port->netdev, 0);
	if (!__netif_tx_trylock(txq))
		return;
	/* Again, with the lock: once the scheme has been changed, the handler
	 * may be reclaiming on another CPU.
	 */
	packets = port->tx_early ? port->ops->tx_reclaim(port) : 0;
	if (packets)
		tx_count(port, &port->tx_stats.reclaims_rx, packets);
	__netif_tx_unlock(txq);
	if (packets)
		tx_wake(port);
}

/* interrupt, coalesce: reclaims in the handler. */
void irqmod_tx_irq_reclaim(struct irqmod_port *port)
{
	unsigned long flags;
	unsigned int packets;

	spin_lock_irqsave(&port->tx_lock, flags);
	packets = port->ops->tx_reclaim(port);
	if (packets)
		tx_count(port, &port->tx_stats.reclaims_irq, packets);
	spin_unlock_irqrestore(&port->tx_lock, flags);
	tx_wake(port);
}

static void tx_timer_reclaim(struct irqmod_port *port)
{
	struct netdev_queue *txq = netdev_get_tx_queue(port->netdev, 0);
	unsigned int packets = 0;
	unsigned long flags;

	if (port->tx->in_irq) {
		spin_lock_irqsave(&port->tx_lock, flags);
		packets = port->ops->tx_reclaim(port);
		if (packets)
			tx_count(port, &port->tx_stats.reclaims_timer, packets);
		spin_unlock_irqrestore(&port->tx_lock, flags);
	} else if (__netif_tx_trylock(txq)) {
		packets = port->ops->tx_reclaim(port);
		if (packets)
			tx_count(port, &port->tx_stats.reclaims_timer, packets);
		__netif_tx_unlock(txq);
	}
	if (packets)
		tx_wake(port);
}

/* ndo_start_xmit puts a packet on the ring and then reads tx_armed, both with the
 * queue locked. If the lock is taken, there will be a packet.
 */
static bool tx_timer_needed(struct irqmod_port *port)
{
	struct netdev_queue *txq = netdev_get_tx_queue(port->netdev, 0);
	bool needed;

	if (!__netif_tx_trylock(txq))
		return true;
	needed = port->ops->tx_outstanding(port);
	port->tx_armed = needed;
	__netif_tx_unlock(txq);
	return needed;
}

/* Runs in softirq: the time limit of coalesce, the backstop of off, and for all
 * schemes the reclaim of packets queued under the previous scheme.
 */
enum hrtimer_restart irqmod_tx_timer(struct hrtimer *timer)
{
	struct irqmod_port *port = container_of(timer, struct irqmod_port,
						tx_timer);

	tx_timer_reclaim(port);
	if (!tx_timer_needed(port))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, irqmod_ktime(port->tx_usecs));
	return HRTIMER_RESTART;
}

/* Called with the queue locked. */
void irqmod_tx_arm(struct irqmod_port *port)
{
	port->tx_armed = true;
	hrtimer_start(&port->tx_timer, irqmod_ktime(port->tx_usecs),
		      HRTIMER_MODE_REL_SOFT);
}
EXPORT_SYMBOL_GPL(irqmod_tx_arm);

/* coalesce without an interrupt bit: unmask the TX cause once N packets are on
 * the ring. If it has been raised by then, it interrupts at once.
 */
void irqmod_tx_counted(struct irqmod_port *port)
{
	if (port->ops->tx_outstanding(port) >= port->tx_frames)
		port->ops->unmask(port, IRQMOD_TX);
}
EXPORT_SYMBOL_GPL(irqmod_tx_counted);

void irqmod_tx_full(struct irqmod_port *port, struct netdev_queue *txq,
		    unsigned int reserve)
{
	netif_tx_stop_queue(txq);
	/* Pairs with the barrier in tx_wake(): either we see the descriptors
	 * that a reclaim has just freed, or it sees the stopped queue.
	 */
	smp_mb();
	if (port->ops->tx_room(port) >= reserve)
		netif_tx_start_queue(txq);
	else if (!port->tx_switching && !port->tx_armed)
		irqmod_tx_arm(port);
}
EXPORT_SYMBOL_GPL(irqmod_tx_full);
