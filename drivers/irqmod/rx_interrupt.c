// SPDX-License-Identifier: GPL-2.0-only
/*
 * ORIGINAL: the interrupt handler takes what has arrived and queues it on the
 * backlog with netif_rx(); softirq does the rest when there is time. Under
 * overload there is none: receive livelock (Mogul & Ramakrishnan 1997; Spanos
 * et al. 2008, section 2).
 */
#include "scheme.h"

static void rx_interrupt_start(struct irqmod_port *port)
{
	port->deliver = irqmod_deliver_backlog;
	port->rx_deferred = false;
	port->rx_in_softirq = false;
}

static void rx_interrupt_stop(struct irqmod_port *port)
{
	/* All work is done in the handler, which the engine has waited for. */
}

static void rx_interrupt_irq(struct irqmod_port *port)
{
	/* At most a ring's worth: what comes meanwhile interrupts again. */
	irqmod_rx_pass(port, port->rx_ring);
}

const struct irqmod_rx_scheme irqmod_rx_interrupt = {
	.name = "interrupt",
	.never_masks = true,
	.start = rx_interrupt_start,
	.stop = rx_interrupt_stop,
	.irq = rx_interrupt_irq,
};
