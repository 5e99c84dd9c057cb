// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tasklet that USB drivers used before NAPI (usbnet, and lan78xx before
 * Linux 5.17): every completed transfer schedules it; it takes all frames,
 * without a budget, and queues them on the backlog. For comparison.
 */
#include "scheme.h"

static void rx_standard_work(struct tasklet_struct *tasklet)
{
	struct irqmod_port *port = from_tasklet(port, tasklet, rx_tasklet);

	irqmod_rx_pass(port, INT_MAX);
}

static void rx_standard_start(struct irqmod_port *port)
{
	port->deliver = irqmod_deliver_backlog;
	port->rx_deferred = false;
	port->rx_in_softirq = true;
	tasklet_setup(&port->rx_tasklet, rx_standard_work);
}

static void rx_standard_stop(struct irqmod_port *port)
{
	tasklet_kill(&port->rx_tasklet);
}

static void rx_standard_irq(struct irqmod_port *port)
{
	tasklet_schedule(&port->rx_tasklet);
}

const struct irqmod_rx_scheme irqmod_rx_standard = {
	.name = "standard",
	.needs = IRQMOD_CAP_TRANSFERS,
	.never_masks = true,
	.start = rx_standard_start,
	.stop = rx_standard_stop,
	.irq = rx_standard_irq,
};
