// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqmod, debug builds: who takes frames from the receive ring, who polls, and who
 * reclaims.
 *
 * The receive ring is held for the time of a pass, by the function that makes it. A
 * pass that begins within another, on any CPU, means that a scheme has passed the
 * ring on without giving it up; one after the stop, that the scheme's stop() did
 * not wait for its contexts. Between its passes the function owns the ring, until
 * RX is unmasked or the scheme gives the ring away: a pass of another function
 * means that two contexts share it, even if their passes never meet.
 *
 * When stop() returns, no NAPI poll may be running either. napi_disable() does not
 * wait for what a poll does after napi_complete_done().
 *
 * Likewise a reclaim that begins within another means that two contexts share the
 * transmit ring without a lock. No packet is sent while the port is stopped.
 */
#include "scheme.h"

#ifdef IRQMOD_DEBUG
int irqmod_rx_pass_checked(struct irqmod_queue *queue, int budget,
			   const char *owner)
{
	const char *holder = xchg(&queue->rx_holder, owner);
	const char *before = xchg(&queue->rx_owner, owner);
	const char *name = queue->netdev->name;
	int taken;

	WARN_ONCE(holder, "%s: %s takes the ring that %s holds\n",
		  name, owner, holder);
	WARN_ONCE(!holder && before && before != owner,
		  "%s: %s takes the ring that %s owns\n", name, owner, before);
	WARN_ONCE(READ_ONCE(queue->rx_quiet), "%s: %s takes the ring after its stop\n",
		  name, owner);
	taken = irqmod_rx_pass_unchecked(queue, budget);
	/* What the pass wrote is seen by whoever holds the ring next. */
	smp_store_release(&queue->rx_holder, NULL);
	return taken;
}

int irqmod_rx_poll(struct irqmod_queue *queue, int budget)
{
	int done;

	atomic_inc(&queue->rx_polling);
	done = queue->rx->poll(queue, budget);
	atomic_dec(&queue->rx_polling);
	return done;
}

/* After a receive scheme's stop: no NAPI poll is running. */
void irqmod_rx_check_idle(const struct irqmod_queue *queue)
{
	WARN_ONCE(atomic_read(&queue->rx_polling), "%s: %s has stopped during a poll\n",
		  queue->netdev->name, queue->rx->base.name);
}

/* After a receive scheme's stop, or before its start: no pass may begin. */
void irqmod_rx_quiet(struct irqmod_queue *queue, bool quiet)
{
	WARN_ONCE(quiet && READ_ONCE(queue->rx_holder),
		  "%s: stopped, and %s still holds the ring\n",
		  queue->netdev->name, queue->rx_holder);
	irqmod_rx_give(queue);
	WRITE_ONCE(queue->rx_quiet, quiet);
}

unsigned int irqmod_tx_reclaim_checked(struct irqmod_queue *queue,
				       const char *holder)
{
	const char *before = xchg(&queue->tx_holder, holder);
	unsigned int packets;

	WARN_ONCE(before, "%s: %s reclaims while %s does\n",
		  queue->netdev->name, holder, before);
	WARN_ONCE(READ_ONCE(queue->tx_quiet), "%s: %s reclaims after the stop\n",
		  queue->netdev->name, holder);
	packets = queue->ops->tx_reclaim(queue);
	/* What it wrote is seen by whoever reclaims next. */
	smp_store_release(&queue->tx_holder, NULL);
	return packets;
}

/* After a transmit scheme's stop, or before its start: nothing may reclaim. */
void irqmod_tx_quiet(struct irqmod_queue *queue, bool quiet)
{
	WARN_ONCE(quiet && READ_ONCE(queue->tx_holder),
		  "%s: stopped, and %s still reclaims\n",
		  queue->netdev->name, queue->tx_holder);
	WRITE_ONCE(queue->tx_quiet, quiet);
}

/* After the last stop of the transmit queue, or before its start. */
void irqmod_tx_close(struct irqmod_queue *queue, bool closed)
{
	WRITE_ONCE(queue->tx_closed, closed);
}

/**
 * irqmod_tx_check_started() - checks that no packet is sent while the port is stopped
 * @queue: the queue; it is locked
 *
 * There is no chip to send them. Called by irqmod_tx_begin().
 */
void irqmod_tx_check_started(const struct irqmod_queue *queue)
{
	WARN_ONCE(READ_ONCE(queue->tx_closed), "%s: a packet is sent after the stop\n",
		  queue->netdev->name);
}
EXPORT_SYMBOL_GPL(irqmod_tx_check_started);
#endif
