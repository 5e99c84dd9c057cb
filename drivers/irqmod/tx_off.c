// SPDX-License-Identifier: GPL-2.0-only
/*
 * No TX interrupt (Spanos et al. 2008, section 3.2): what has been sent is
 * freed just before the next transmit, outside interrupt context, a few at a
 * time; in the receive path; and by a timer, tx-usecs at the latest.
 */
#include "scheme.h"

static void tx_off_start(struct irqmod_port *port)
{
	port->tx_early = true;
	port->tx_timed = true;
}

static void tx_off_irq(struct irqmod_port *port)
{
	/* A cause that shares its line, or was latched: not ours to serve. */
	port->ops->mask(port, IRQMOD_TX);
}

const struct irqmod_tx_scheme irqmod_tx_off = {
	.name = "off",
	.needs = IRQMOD_CAP_MASK,
	.in_irq = false,
	.start = tx_off_start,
	.irq = tx_off_irq,
};
