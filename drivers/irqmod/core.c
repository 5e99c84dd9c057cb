// SPDX-License-Identifier: GPL-2.0-only
/* irqmod: registration, start and stop, interrupts, and changes of the scheme. */
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "scheme.h"

#define DEFAULT_TX_USECS	1000
#define DEFAULT_TX_FRAMES	128	/* Spanos et al. 2008 */

#ifdef IRQMOD_DEBUG
/* The ring is held for the time of a pass, by the function that calls it. A pass
 * that begins within another, on any CPU, means that a scheme has passed the ring
 * on without giving it up; one after the stop, that the scheme's stop() did not
 * wait for its contexts. Between its passes the function owns the ring, until RX
 * is unmasked or the scheme gives the ring away: a pass of another function means
 * that two contexts share it, even if their passes never meet.
 */
int irqmod_rx_pass_checked(struct irqmod_port *port, int budget,
			   const char *owner)
{
	const char *holder = xchg(&port->rx_holder, owner);
	const char *before = xchg(&port->rx_owner, owner);
	const char *name = port->netdev->name;
	int taken;

	WARN_ONCE(holder, "%s: %s takes the ring that %s holds\n",
		  name, owner, holder);
	WARN_ONCE(!holder && before && before != owner,
		  "%s: %s takes the ring that %s owns\n", name, owner, before);
	WARN_ONCE(READ_ONCE(port->rx_quiet), "%s: %s takes the ring after its stop\n",
		  name, owner);
	taken = (irqmod_rx_pass)(port, budget);
	/* What the pass wrote is seen by whoever holds the ring next. */
	smp_store_release(&port->rx_holder, NULL);
	return taken;
}

static void rx_quiet(struct irqmod_port *port, bool quiet)
{
	WARN_ONCE(quiet && READ_ONCE(port->rx_holder),
		  "%s: stopped, and %s still holds the ring\n",
		  port->netdev->name, port->rx_holder);
	irqmod_rx_give(port);
	WRITE_ONCE(port->rx_quiet, quiet);
}
#else
static inline void rx_quiet(struct irqmod_port *port, bool quiet) { }
#endif

/* One pass over the ring; delivers the frames taken. */
int (irqmod_rx_pass)(struct irqmod_port *port, int budget)
{
	int taken;

	taken = port->ops->rx_take(port, budget);
	port->rx_frames += taken;
	u64_stats_update_begin(&port->rx_stats.syncp);
	u64_stats_inc(&port->rx_stats.polls);
	if (taken < budget)
		u64_stats_inc(&port->rx_stats.polls_done);
	u64_stats_update_end(&port->rx_stats.syncp);
	if (port->rx_in_softirq)
		irqmod_deliver_flush(port);
	return taken;
}

/**
 * irqmod_interrupt() - an interrupt of the port
 * @port: the port
 * @groups: IRQMOD_RX, IRQMOD_TX or both: which groups of causes have been raised
 *
 * Called by the hard interrupt handler after it has acknowledged the causes, or by
 * the completion of a transfer, in the bus driver's context. Starts what the
 * schemes do then. While the port is stopped it masks @groups.
 *
 * Context: hard IRQ, or softirq with IRQMOD_CAP_TRANSFERS. Not for one port on two
 * CPUs at a time.
 */
void irqmod_interrupt(struct irqmod_port *port, u32 groups)
{
	if (unlikely(!READ_ONCE(port->up))) {
		port->ops->mask(port, groups);
		return;
	}
	u64_stats_update_begin(&port->irq_stats.syncp);
	if (groups & IRQMOD_RX)
		u64_stats_inc(&port->irq_stats.rx);
	if (groups & IRQMOD_TX)
		u64_stats_inc(&port->irq_stats.tx);
	u64_stats_update_end(&port->irq_stats.syncp);

	if ((groups & (IRQMOD_RX | port->tx_with_rx)) &&
	    !READ_ONCE(port->rx_stopping))
		port->rx->irq(port);
	if (groups & IRQMOD_TX & ~port->tx_with_rx)
		port->tx->irq(port);
}
EXPORT_SYMBOL_GPL(irqmod_interrupt);

/**
 * irqmod_rx_again() - frames have arrived while RX was masked
 * @port: the port
 *
 * For unmask() of drivers whose hardware does not raise the cause again.
 *
 * Context: any in which RX is unmasked, with BH disabled.
 */
void irqmod_rx_again(struct irqmod_port *port)
{
	if (READ_ONCE(port->up) && !READ_ONCE(port->rx_stopping))
		port->rx->irq(port);
}
EXPORT_SYMBOL_GPL(irqmod_rx_again);

/* Waits for handlers, and for softirqs on other CPUs, for which RCU waits: the
 * transmit timer (poll) and the completions of a bus driver start the receive
 * scheme, too. One that had seen rx_stopping clear might otherwise do so after
 * the scheme has stopped.
 */
static void irqmod_synchronize(struct irqmod_port *port)
{
	if (port->irq)
		synchronize_irq(port->irq);
	synchronize_net();
}

/* The poll of the port's NAPI. */
int irqmod_poll(struct napi_struct *napi, int budget)
{
	struct irqmod_port *port = container_of(napi, struct irqmod_port, napi);

	return port->rx->poll(port, budget);
}

static void rx_start(struct irqmod_port *port)
{
	bool open;

	rx_quiet(port, false);
	port->rx_state = irqmod_rx_state(port, port->rx);
	open = port->rx->start(port);
	WRITE_ONCE(port->rx_stopping, false);
	/* Act as if a frame had arrived: the previous scheme may have consumed
	 * the interrupt of frames still on the ring. RX is masked, so the
	 * handler does not run concurrently. Interrupts stay enabled: under
	 * PREEMPT_RT the locks of mask() and unmask() sleep.
	 */
	local_bh_disable();
	port->rx->irq(port);
	if (open)
		port->ops->unmask(port, IRQMOD_RX);
	local_bh_enable();
}

static void rx_stop(struct irqmod_port *port)
{
	WRITE_ONCE(port->rx_stopping, true);
	irqmod_rx_mask(port);
	irqmod_synchronize(port);
	port->rx->stop(port);
	/* The last poll may have unmasked RX. */
	irqmod_rx_mask(port);
	irqmod_synchronize(port);
	rx_quiet(port, true);
}

/* Starts byte queue limits with the packets now on the ring, or ends them. A queue
 * that they had stopped runs again. The queue is locked, and nothing reclaims.
 */
static void tx_limit(struct irqmod_port *port, bool limited)
{
	struct netdev_queue *txq = netdev_get_tx_queue(port->netdev, 0);
	unsigned int bytes;

	if (!limited && !port->tx_limited)
		return;
	netdev_tx_reset_queue(txq);
#ifdef CONFIG_BQL
	/* The reset leaves adj_limit, which would allow as many bytes as have
	 * ever been completed. A completion of none sets it: to the limit, as for
	 * a queue that has not been used.
	 */
	dql_completed(&txq->dql, 0);
#endif
	port->tx_limited = limited;
	bytes = limited ? port->ops->tx_bytes(port) : 0;
	if (bytes)
		netdev_tx_sent_queue(txq, bytes);
	netif_schedule_queue(txq);
}

static void tx_start(struct irqmod_port *port)
{
	struct netdev_queue *txq;

	netif_tx_lock_bh(port->netdev);
	port->tx_switching = false;
	port->tx_since_irq = 0;
	tx_limit(port, port->tx->limits && port->ops->tx_bytes);
	port->tx->start(port);
	/* Packets queued under the previous scheme may never interrupt. Without
	 * its timer, off reclaims them before the next transmit; there is none
	 * while the queue is stopped.
	 */
	txq = netdev_get_tx_queue(port->netdev, 0);
	if (port->ops->tx_outstanding(port) &&
	    (port->tx_timed || !port->tx_early || netif_tx_queue_stopped(txq)))
		irqmod_tx_arm(port);
	netif_tx_unlock_bh(port->netdev);
}

static void tx_stop(struct irqmod_port *port)
{
	port->ops->mask(port, IRQMOD_TX);
	irqmod_synchronize(port);
	netif_tx_lock_bh(port->netdev);
	port->tx_switching = true;	/* a full ring must not arm the timer */
	port->tx_irq_every = 0;
	WRITE_ONCE(port->tx_early, 0);
	port->tx_timed = false;
	port->tx_counted = false;
	port->tx_in_softirq = false;
	port->tx_in_rx = false;
	WRITE_ONCE(port->tx_with_rx, 0);
	netif_tx_unlock_bh(port->netdev);
	/* poll: a pass over the receive ring may be reclaiming, without a lock. */
	synchronize_net();
	hrtimer_cancel(&port->tx_timer);
	tasklet_kill(&port->tx_tasklet);
	port->tx_armed = false;
	netif_tx_lock_bh(port->netdev);
	tx_limit(port, false);
	netif_tx_unlock_bh(port->netdev);
	port->ops->mask(port, IRQMOD_TX);
	irqmod_synchronize(port);
}

/**
 * irqmod_start() - starts the schemes
 * @port: the port, with its hardware ready and its rings filled
 *
 * Called in ndo_open, and after a change of the rings. The driver wakes the queue.
 *
 * Context: process, under RTNL.
 */
void irqmod_start(struct irqmod_port *port)
{
	ASSERT_RTNL();
	port->ops->mask(port, IRQMOD_RX | IRQMOD_TX);
	/* The ring may have shrunk. */
	port->tx_frames = clamp(port->tx_frames, 1u, port->tx_ring / 2);
	irqmod_rx_changed(port);
	WRITE_ONCE(port->up, true);
	tx_start(port);
	rx_start(port);
}
EXPORT_SYMBOL_GPL(irqmod_start);

/**
 * irqmod_stop() - stops the schemes
 * @port: the port, its hardware still running; stopped before: nothing is done
 *
 * Called in ndo_stop before the hardware is shut down. When it returns, RX and TX
 * are masked, the transmit queue is stopped, and neither schemes nor timers access
 * the rings until irqmod_start(): the driver may change them.
 *
 * Context: process, under RTNL. Sleeps.
 */
void irqmod_stop(struct irqmod_port *port)
{
	ASSERT_RTNL();
	if (!port->up)
		return;
	WRITE_ONCE(port->up, false);
	rx_stop(port);
	tx_stop(port);
	/* Only now: until then a reclaim on another CPU, which had seen up set,
	 * might wake the queue.
	 */
	netif_tx_disable(port->netdev);
	irqmod_heads_free(&port->heads);
}
EXPORT_SYMBOL_GPL(irqmod_stop);

/* rx-usecs, the weight or the ring changed. */
void irqmod_rx_changed(struct irqmod_port *port)
{
	int i;

	ASSERT_RTNL();
	port->napi.weight = port->rx_weight;
	for (i = 0; irqmod_rx_schemes[i]; i++)
		if (irqmod_rx_schemes[i]->changed &&
		    irqmod_can(port, irqmod_rx_schemes[i]->needs))
			irqmod_rx_schemes[i]->changed(port, port->rx_states[i]);
}

/* Stops the receive scheme while the port is up, and starts it again. */
void irqmod_rx_pause(struct irqmod_port *port)
{
	ASSERT_RTNL();
	if (port->up)
		rx_stop(port);
}

void irqmod_rx_resume(struct irqmod_port *port)
{
	if (port->up)
		rx_start(port);
}

/* The same for the transmit scheme. */
void irqmod_tx_pause(struct irqmod_port *port)
{
	ASSERT_RTNL();
	if (port->up)
		tx_stop(port);
}

void irqmod_tx_resume(struct irqmod_port *port)
{
	if (port->up)
		tx_start(port);
}

int irqmod_set_rx_scheme(struct irqmod_port *port,
			 const struct irqmod_rx_scheme *scheme)
{
	ASSERT_RTNL();
	if (port->rx == scheme)
		return 0;
	if (!irqmod_can(port, scheme->needs) ||
	    (port->tx->needs_masks && !scheme->masks))
		return -EOPNOTSUPP;
	irqmod_rx_pause(port);
	port->rx = scheme;
	irqmod_rx_resume(port);
	return 0;
}

int irqmod_set_tx_scheme(struct irqmod_port *port,
			 const struct irqmod_tx_scheme *scheme)
{
	ASSERT_RTNL();
	if (port->tx == scheme)
		return 0;
	if (!irqmod_can(port, scheme->needs) ||
	    (scheme->needs_masks && !port->rx->masks))
		return -EOPNOTSUPP;
	irqmod_tx_pause(port);
	netif_tx_lock_bh(port->netdev);
	port->tx = scheme;
	netif_tx_unlock_bh(port->netdev);
	irqmod_tx_resume(port);
	return 0;
}

/**
 * irqmod_register() - makes a port of the engine
 * @port: the first member of netdev_priv(); the driver has set the fields up to
 *        wire_mbps
 *
 * To be called before register_netdev(). Chooses the default schemes, adds the NAPI
 * and the files in sysfs.
 *
 * Context: process.
 * Return: 0, -EINVAL if @port is not where it belongs or has no speed, -ENOMEM.
 */
int irqmod_register(struct irqmod_port *port)
{
	int err;

	if (WARN_ON(netdev_priv(port->netdev) != port || !port->wire_mbps))
		return -EINVAL;

	port->rx_stopping = true;	/* until rx_start() */
	port->rx = irqmod_rx_default(port);
	port->tx = irqmod_tx_default(port);
	port->tx_usecs = port->tx_usecs ?: DEFAULT_TX_USECS;
	port->tx_frames = port->tx_frames ?: DEFAULT_TX_FRAMES;
	port->rx_weight = port->rx_weight ?: NAPI_POLL_WEIGHT;
	port->heads.chunks = port->wire_mbps > 100 ? IRQMOD_CHUNKS
						   : IRQMOD_CHUNKS_FAST;
	if (port->tx_frames > port->tx_ring / 2)
		port->tx_frames = port->tx_ring / 2;

	spin_lock_init(&port->tx_lock);
	INIT_LIST_HEAD(&port->rx_list);
	u64_stats_init(&port->irq_stats.syncp);
	u64_stats_init(&port->rx_stats.syncp);
	u64_stats_init(&port->tx_stats.syncp);
	tasklet_setup(&port->tx_tasklet, irqmod_tx_full_work);
	hrtimer_setup(&port->tx_timer, irqmod_tx_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);

	err = irqmod_rx_states_alloc(port);
	if (err)
		return err;
	netif_napi_add_weight(port->netdev, &port->napi, irqmod_poll,
			      port->rx_weight);
	port->netdev->sysfs_groups[0] = &irqmod_group;
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_register);

/**
 * irqmod_unregister() - the opposite of irqmod_register()
 * @port: the port
 *
 * To be called after unregister_netdev().
 *
 * Context: process. Sleeps.
 */
void irqmod_unregister(struct irqmod_port *port)
{
	netif_napi_del(&port->napi);
	irqmod_rx_states_free(port);
}
EXPORT_SYMBOL_GPL(irqmod_unregister);

MODULE_DESCRIPTION("Interrupt-handling schemes for Ethernet drivers, exchangeable at run time");
MODULE_LICENSE("GPL");
