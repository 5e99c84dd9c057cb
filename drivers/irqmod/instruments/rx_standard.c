// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tasklet that USB drivers used before NAPI (usbnet, and lan78xx before
 * Linux 5.17): every completed transfer schedules it; it takes all frames,
 * without a budget, and queues them on the backlog. For comparison.
 */
#include "scheme.h"

struct irqmod_standard {
	struct irqmod_queue *queue;
	struct tasklet_struct tasklet;
};

static void rx_standard_work(struct tasklet_struct *tasklet)
{
	struct irqmod_standard *s = from_tasklet(s, tasklet, tasklet);

	irqmod_rx_pass(s->queue, INT_MAX);
}

static void rx_standard_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_standard *s = state;

	s->queue = queue;
	tasklet_setup(&s->tasklet, rx_standard_work);
}

static bool rx_standard_start(struct irqmod_queue *queue)
{
	queue->deliver = irqmod_deliver_backlog;
	queue->rx_deferred = false;
	queue->rx_in_softirq = true;
	return true;
}

static void rx_standard_stop(struct irqmod_queue *queue)
{
	struct irqmod_standard *s = queue->rx_state;

	tasklet_kill(&s->tasklet);
}

static void rx_standard_irq(struct irqmod_queue *queue)
{
	struct irqmod_standard *s = queue->rx_state;

	tasklet_schedule(&s->tasklet);
}

IRQMOD_RX_SCHEME(standard) = {
	.base = {
		.name = "standard",
		.needs = IRQMOD_CAP_TRANSFERS,
		.state_size = sizeof(struct irqmod_standard),
		.init = rx_standard_init,
	},
	.start = rx_standard_start,
	.stop = rx_standard_stop,
	.irq = rx_standard_irq,
};
