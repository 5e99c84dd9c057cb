// SPDX-License-Identifier: GPL-2.0-only
/*
 * One TX interrupt per N packets (Spanos et al. 2008, section 3.2: N = 128).
 * At the end of a burst, a timer reclaims tx-usecs after the first packet. If
 * the hardware has an interrupt bit per descriptor, it is set for every N-th
 * packet. Otherwise packets are counted, and the cause is unmasked after every
 * N-th.
 */
#include "scheme.h"

static void tx_coalesce_start(struct irqmod_port *port)
{
	port->tx_timed = true;
	if (port->caps & IRQMOD_CAP_TX_IRQ_BIT) {
		port->tx_irq_every = port->tx_frames;
		port->ops->unmask(port, IRQMOD_TX);
	} else {
		port->tx_counted = true;
	}
}

static void tx_coalesce_changed(struct irqmod_port *port)
{
	if (port->tx_irq_every)
		port->tx_irq_every = port->tx_frames;
}

static void tx_coalesce_irq(struct irqmod_port *port)
{
	irqmod_tx_irq_reclaim(port);
	if (port->tx_counted)
		irqmod_tx_mask_unless_full(port);
}

static void tx_coalesce_full(struct irqmod_port *port)
{
	if (port->tx_counted)
		port->ops->unmask(port, IRQMOD_TX);
}

IRQMOD_TX_SCHEME(coalesce) = {
	.name = "coalesce",
	.needs = IRQMOD_CAP_MASK,
	.in_irq = true,
	.start = tx_coalesce_start,
	.changed = tx_coalesce_changed,
	.irq = tx_coalesce_irq,
	.full = tx_coalesce_full,
};
