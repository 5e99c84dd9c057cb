// SPDX-License-Identifier: GPL-2.0-only
/*
 * NAPI with the chip's own moderation: at least rx-usecs pass from one interrupt to the
 * next. The chip counts them, so that no timer of the kernel's is needed.
 */
#include "napi.h"

static int rx_itr_poll(struct irqmod_queue *queue, int budget)
{
	return irqmod_napi_end(queue, irqmod_napi_pass(queue, budget), budget);
}

static void rx_itr_changed(struct irqmod_queue *queue, void *state)
{
	unsigned int usecs = irqmod_rx_usecs(queue);

	if (queue->rx == &irqmod_rx_itr && READ_ONCE(queue->up))
		irqmod_moderate(queue, usecs, usecs);
}

static bool rx_itr_start(struct irqmod_queue *queue)
{
	unsigned int usecs = irqmod_rx_usecs(queue);

	irqmod_moderate(queue, usecs, usecs);
	irqmod_napi_start(queue);
	return false;
}

/* The engine has waited for the poll. */
static void rx_itr_stop(struct irqmod_queue *queue)
{
	irqmod_moderate(queue, 0, 0);
}

IRQMOD_RX_SCHEME(itr) = {
	.base = {
		.name = "itr",
		.needs = IRQMOD_CAP_MASK | IRQMOD_CAP_MODERATION,
		.preference = 2,
	},
	.masks = true,
	.period = true,
	.changed = rx_itr_changed,
	.start = rx_itr_start,
	.stop = rx_itr_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_itr_poll,
};
