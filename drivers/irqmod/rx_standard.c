// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tasklet that USB drivers used before NAPI (usbnet, and lan78xx before
 * Linux 5.17): every completed transfer schedules it; it takes all frames,
 * without a budget, and queues them on the backlog. For comparison.
 */
#include "scheme.h"

struct irqmod_standard {
	struct irqmod_port *port;
	struct tasklet_struct tasklet;
};

static void rx_standard_work(struct tasklet_struct *tasklet)
{
	struct irqmod_standard *s = from_tasklet(s, tasklet, tasklet);

	irqmod_rx_pass(s->port, INT_MAX);
}

static void rx_standard_init(struct irqmod_port *port, void *state)
{
	struct irqmod_standard *s = state;

	s->port = port;
	tasklet_setup(&s->tasklet, rx_standard_work);
}

static bool rx_standard_start(struct irqmod_port *port)
{
	port->deliver = irqmod_deliver_backlog;
	port->rx_deferred = false;
	port->rx_in_softirq = true;
	return true;
}

static void rx_standard_stop(struct irqmod_port *port)
{
	struct irqmod_standard *s = port->rx_state;

	tasklet_kill(&s->tasklet);
}

static void rx_standard_irq(struct irqmod_port *port)
{
	struct irqmod_standard *s = port->rx_state;

	tasklet_schedule(&s->tasklet);
}

IRQMOD_RX_SCHEME(standard) = {
	.name = "standard",
	.needs = IRQMOD_CAP_TRANSFERS,
	.state_size = sizeof(struct irqmod_standard),
	.init = rx_standard_init,
	.start = rx_standard_start,
	.stop = rx_standard_stop,
	.irq = rx_standard_irq,
};
