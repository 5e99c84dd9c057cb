// SPDX-License-Identifier: GPL-2.0-only
/*
 * One TX interrupt per N packets (Spanos et al. 2008, section 3.2: N = 128).
 * At the end of a burst, a timer reclaims tx-usecs after the first packet. If
 * the hardware has an interrupt bit per descriptor, it is set for every N-th
 * packet. Otherwise packets are counted, and the cause is unmasked after every
 * N-th.
 */
#include "scheme.h"

/* Without an interrupt bit. If the cause has been raised by the N-th packet, it
 * interrupts at once.
 */
static void tx_coalesce_queued(struct irqmod_queue *queue)
{
	if (++queue->tx_since_irq < queue->tx_irq_every)
		return;
	queue->tx_since_irq = 0;
	queue->ops->unmask(queue, IRQMOD_TX);
}

static void tx_coalesce_start(struct irqmod_queue *queue)
{
	queue->tx_timed = true;
	queue->tx_irq_every = irqmod_tx_frames(queue);
	if (queue->port->caps & IRQMOD_CAP_TX_IRQ_BIT)
		queue->ops->unmask(queue, IRQMOD_TX);
	else
		queue->tx_queued = tx_coalesce_queued;
}

static void tx_coalesce_changed(struct irqmod_queue *queue)
{
	queue->tx_irq_every = irqmod_tx_frames(queue);
}

static void tx_coalesce_irq(struct irqmod_queue *queue)
{
	irqmod_tx_irq_reclaim(queue);
	if (queue->tx_queued)
		irqmod_tx_mask_unless_full(queue);
}

static void tx_coalesce_full(struct irqmod_queue *queue)
{
	if (queue->tx_queued)
		queue->ops->unmask(queue, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(coalesce) = {
	.base = {
		.name = "coalesce",
		.needs = IRQMOD_CAP_MASK,
	},
	.in_irq = true,
	.start = tx_coalesce_start,
	.changed = tx_coalesce_changed,
	.irq = tx_coalesce_irq,
	.full = tx_coalesce_full,
};
