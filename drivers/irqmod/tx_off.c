// SPDX-License-Identifier: GPL-2.0-only
/*
 * No TX interrupts (Spanos et al. 2008, section 3.2): the driver reclaims
 * completed descriptors before the next transmit, outside interrupt context and
 * in batches; in the receive path; and, after tx-usecs at the latest, by a timer.
 */
#include "scheme.h"

static void tx_off_start(struct irqmod_port *port)
{
	WRITE_ONCE(port->tx_early, true);
	port->tx_timed = true;
}

static void tx_off_irq(struct irqmod_port *port)
{
	/* A cause that shares its line or was latched earlier: ignore it. */
	port->ops->mask(port, IRQMOD_TX);
}

const struct irqmod_tx_scheme irqmod_tx_off = {
	.name = "off",
	.needs = IRQMOD_CAP_MASK,
	.in_irq = false,
	.start = tx_off_start,
	.irq = tx_off_irq,
};
