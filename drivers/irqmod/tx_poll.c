// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions are taken with the received frames, as most drivers of today do in
 * their NAPI poll: a TX cause starts the receive scheme as an RX cause does, RX
 * and TX are masked together, each pass over the receive ring reclaims first,
 * and both are unmasked when the ring is empty. Needs a receive scheme that masks
 * RX.
 *
 * Some receive schemes pause with RX masked (@pauses). A sender that waits for the
 * end of the pause would leave the wire idle, so TX is unmasked when the ring is
 * full.
 */
#include "scheme.h"

static void tx_poll_start(struct irqmod_queue *queue)
{
	queue->tx_in_softirq = true;
	WRITE_ONCE(queue->tx_in_rx, true);
	queue->tx_irq_every = 1;
	/* Pairs with tx_reclaim_in_pass(): a pass without the queue's lock sees
	 * the packets that byte queue limits count.
	 */
	smp_store_release(&queue->tx_with_rx, IRQMOD_TX);
	/* If receiving has been stopped, its start unmasks TX. */
	if (!READ_ONCE(queue->rx_stopping))
		queue->ops->unmask(queue, IRQMOD_TX);
}

static void tx_poll_irq(struct irqmod_queue *queue)
{
	/* A TX cause starts the receive scheme: irqmod_interrupt(). This is called
	 * only while the scheme is being stopped, before the last mask: the next
	 * one reclaims.
	 */
}

static void tx_poll_full(struct irqmod_queue *queue)
{
	/* Acquire: pairs with rx_start_queue(). If receiving has been stopped, its
	 * start reclaims. rx_stop() waits for us, as for all of ndo_start_xmit, and
	 * masks TX again.
	 */
	if (!smp_load_acquire(&queue->rx_stopping) && queue->rx->pauses)
		queue->ops->unmask(queue, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(poll) = {
	.base = {
		.name = "poll",
		.needs = IRQMOD_CAP_MASK,
		.preference = 2,
	},
	.needs_masks = true,
	.limits = true,
	.start = tx_poll_start,
	.irq = tx_poll_irq,
	.full = tx_poll_full,
};
