// SPDX-License-Identifier: GPL-2.0-only
/*
 * No TX interrupts (Spanos et al. 2008, section 3.2): the driver reclaims
 * completed descriptors before the next transmit, outside interrupt context and
 * in batches; in the receive path; and, after tx-usecs at the latest, by a timer.
 * The paper's driver only reclaims before each transmit.
 *
 * A full ring is the exception. A sender that waits for the timer would leave the
 * wire idle, so TX is unmasked until there is room again. Where the hardware has
 * an interrupt bit per descriptor, four packets on the ring have it.
 *
 * An instrument, tx_off_without, disables one part of this, to measure its benefit.
 * batch: before each transmit what has been sent is reclaimed, however little it is.
 * receive: nothing is reclaimed in the receive path. timer: there is no timer, so the
 * last packets before a pause are not freed until the next one. all: as in the paper.
 */
#include "scheme.h"

#define TX_EARLY_BATCH	8u

enum off_without {
	WITHOUT_NOTHING,
	WITHOUT_BATCH,
	WITHOUT_RECEIVE,
	WITHOUT_TIMER,
	WITHOUT_ALL,
};

static const char * const off_measures[] = {
	[WITHOUT_NOTHING] = "nothing",
	[WITHOUT_BATCH] = "batch",
	[WITHOUT_RECEIVE] = "receive",
	[WITHOUT_TIMER] = "timer",
	[WITHOUT_ALL] = "all",
	NULL
};

struct irqmod_off {
	struct irqmod_queue *queue;
	struct tasklet_struct tasklet;	/* reclaims after a full ring */
	u32 tx_off_without;		/* enum off_without */
};

static bool tx_off_has(const struct irqmod_off *off, enum off_without part)
{
	u32 without = irqmod_instrument(off->tx_off_without, WITHOUT_NOTHING);

	return without != part && without != WITHOUT_ALL;
}

static void tx_off_start(struct irqmod_queue *queue)
{
	const struct irqmod_off *off = queue->tx_state;

	WRITE_ONCE(queue->tx_early, tx_off_has(off, WITHOUT_BATCH) ?
		   min(TX_EARLY_BATCH, queue->port->tx_ring / 2) : 1);
	queue->tx_timed = tx_off_has(off, WITHOUT_TIMER);
	WRITE_ONCE(queue->tx_in_rx, tx_off_has(off, WITHOUT_RECEIVE));
	queue->tx_in_softirq = true;
	if (queue->port->caps & IRQMOD_CAP_TX_IRQ_BIT)
		queue->tx_irq_every = queue->port->tx_ring / 4;
}

static void tx_off_full(struct irqmod_queue *queue)
{
	queue->ops->unmask(queue, IRQMOD_TX);
}

/* The ring was full, and a packet has left. Reclaims in softirq, where the queue is
 * locked only if another CPU sends.
 */
static void tx_off_irq(struct irqmod_queue *queue)
{
	struct irqmod_off *off = queue->tx_state;

	queue->ops->mask(queue, IRQMOD_TX);
	tasklet_schedule(&off->tasklet);
}

static void tx_off_work(struct tasklet_struct *tasklet)
{
	struct irqmod_off *off = from_tasklet(off, tasklet, tasklet);
	struct irqmod_queue *queue = off->queue;

	__netif_tx_lock(queue->txq, smp_processor_id());
	/* While it is set, the scheme is being stopped: the next one reclaims. */
	if (!queue->tx_switching && !irqmod_tx_locked_reclaim(queue) &&
	    netif_tx_queue_stopped(queue->txq))
		queue->ops->unmask(queue, IRQMOD_TX);
	__netif_tx_unlock(queue->txq);
	irqmod_tx_wake(queue);
}

static void tx_off_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_off *off = state;

	off->queue = queue;
	tasklet_setup(&off->tasklet, tx_off_work);
}

static void tx_off_stop(struct irqmod_queue *queue)
{
	struct irqmod_off *off = queue->tx_state;

	tasklet_kill(&off->tasklet);
}

static const struct irqmod_setting off_settings[] __maybe_unused = {
	{ IRQMOD_SETTING(irqmod_off, tx_off_without), .names = off_measures, .restart = true },
	{ }
};

IRQMOD_TX_SCHEME(off) = {
	.base = {
		.name = "off",
		.needs = IRQMOD_CAP_MASK,
		.preference = 1,
		.settings = irqmod_instrument(off_settings, NULL),
		.state_size = sizeof(struct irqmod_off),
		.init = tx_off_init,
	},
	.start = tx_off_start,
	.stop = tx_off_stop,
	.irq = tx_off_irq,
	.full = tx_off_full,
};
