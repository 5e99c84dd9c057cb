// SPDX-License-Identifier: GPL-2.0-only
/*
 * No TX interrupts (Spanos et al. 2008, section 3.2): the driver reclaims
 * completed descriptors before the next transmit, outside interrupt context and
 * in batches; in the receive path; and, after tx-usecs at the latest, by a timer.
 *
 * A full ring is the exception. A sender that waits for the timer would leave the
 * wire idle, so TX is unmasked until there is room again. Where the hardware has
 * an interrupt bit per descriptor, four packets on the ring have it.
 */
#include "scheme.h"

static void tx_off_start(struct irqmod_port *port)
{
	WRITE_ONCE(port->tx_early, true);
	port->tx_timed = true;
	port->tx_in_softirq = true;
	if (port->caps & IRQMOD_CAP_TX_IRQ_BIT)
		port->tx_irq_every = port->tx_ring / 4;
}

static void tx_off_full(struct irqmod_port *port)
{
	port->ops->unmask(port, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(off) = {
	.name = "off",
	.needs = IRQMOD_CAP_MASK,
	.preference = 1,
	.start = tx_off_start,
	.irq = irqmod_tx_full_irq,
	.full = tx_off_full,
};
