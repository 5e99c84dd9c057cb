// SPDX-License-Identifier: GPL-2.0-only
/*
 * No TX interrupts (Spanos et al. 2008, section 3.2): the driver reclaims
 * completed descriptors before the next transmit, outside interrupt context and
 * in batches; in the receive path; and, after tx-usecs at the latest, by a timer.
 */
#include "scheme.h"

static void tx_off_start(struct irqmod_port *port)
{
	port->tx_early = true;
	port->tx_timed = true;
	port->tx_in_softirq = true;
}

static void tx_off_irq(struct irqmod_port *port)
{
	/* A cause that shares its line or was latched earlier: ignore it. */
	port->ops->mask(port, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(off) = {
	.name = "off",
	.needs = IRQMOD_CAP_MASK,
	.preference = 1,
	.start = tx_off_start,
	.irq = tx_off_irq,
};
