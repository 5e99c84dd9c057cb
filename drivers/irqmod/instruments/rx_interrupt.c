// SPDX-License-Identifier: GPL-2.0-only
/*
 * ORIGINAL: the interrupt handler takes received frames and queues them on the
 * backlog with netif_rx(); the receive softirq processes them when there is CPU
 * time. Under overload there is none: receive livelock (Mogul & Ramakrishnan
 * 1997; Spanos et al. 2008, section 2).
 */
#include "scheme.h"

static bool rx_interrupt_start(struct irqmod_queue *queue)
{
	queue->deliver = irqmod_deliver_backlog;
	queue->rx_deferred = false;
	queue->rx_in_softirq = false;
	return true;
}

static void rx_interrupt_stop(struct irqmod_queue *queue)
{
	/* All work is done in the handler; the engine has waited for it. */
}

#define INTERRUPT_PASS	16

/* Takes at most as many frames as the ring holds: those that can have been
 * there when the cause was acknowledged. Later frames interrupt again. Small
 * passes refill the ring in between.
 */
static void rx_interrupt_irq(struct irqmod_queue *queue)
{
	unsigned int taken, total = 0;

	do {
		taken = irqmod_rx_pass(queue, INTERRUPT_PASS);
		total += taken;
	} while (taken == INTERRUPT_PASS && total < queue->rx_ring);
}

IRQMOD_RX_SCHEME(interrupt) = {
	.base = {
		.name = "interrupt",
		.needs = IRQMOD_CAP_MASK,
	},
	.start = rx_interrupt_start,
	.stop = rx_interrupt_stop,
	.irq = rx_interrupt_irq,
};
