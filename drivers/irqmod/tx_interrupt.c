// SPDX-License-Identifier: GPL-2.0-only
/*
 * One TX interrupt per packet. The handler frees it with dev_kfree_skb_irq(),
 * which defers the work to a softirq (Spanos et al. 2008, section 2).
 */
#include "scheme.h"

static void tx_interrupt_start(struct irqmod_queue *queue)
{
	queue->tx_irq_every = 1;
	queue->ops->unmask(queue, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(interrupt) = {
	.base = {
		.name = "interrupt",
	},
	.in_irq = true,
	.start = tx_interrupt_start,
	.irq = irqmod_tx_irq_reclaim,
};
