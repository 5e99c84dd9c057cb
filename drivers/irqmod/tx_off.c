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
 * An instrument, tx_off_without, disables one part of this, to measure its benefit. batch: before
 * each transmit what has been sent is reclaimed, however little it is. receive:
 * nothing is reclaimed in the receive path. timer: there is no timer, so the last
 * packets before a pause are not freed until the next one. all: as in the paper.
 */
#include "scheme.h"

#define TX_EARLY_BATCH	8

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

static bool tx_off_has(const struct irqmod_queue *queue, enum off_without part)
{
	u32 without = irqmod_instrument(queue->port->tx_off_without,
					WITHOUT_NOTHING);

	return without != part && without != WITHOUT_ALL;
}

static void tx_off_start(struct irqmod_queue *queue)
{
	WRITE_ONCE(queue->tx_early,
		   tx_off_has(queue, WITHOUT_BATCH) ? TX_EARLY_BATCH : 1);
	queue->tx_timed = tx_off_has(queue, WITHOUT_TIMER);
	queue->tx_in_rx = tx_off_has(queue, WITHOUT_RECEIVE);
	queue->tx_in_softirq = true;
	if (queue->port->caps & IRQMOD_CAP_TX_IRQ_BIT)
		queue->tx_irq_every = queue->port->tx_ring / 4;
}

static void tx_off_full(struct irqmod_queue *queue)
{
	queue->ops->unmask(queue, IRQMOD_TX);
}

static IRQMOD_CHOICE(struct irqmod_port, tx_off_without, off_measures);

static const struct attribute * const __maybe_unused off_settings[] = {
	&irqmod_setting_tx_off_without.attr.attr,
	NULL
};

IRQMOD_TX_SCHEME(off) = {
	.name = "off",
	.needs = IRQMOD_CAP_MASK,
	.preference = 1,
	.settings = irqmod_instrument(off_settings, NULL),
	.start = tx_off_start,
	.irq = irqmod_tx_full_irq,
	.full = tx_off_full,
};
