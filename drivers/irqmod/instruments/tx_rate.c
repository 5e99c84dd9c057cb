// SPDX-License-Identifier: GPL-2.0-only
/*
 * TX interrupts at a maximum rate (Spanos et al. 2008, section 3.2: "or a maximum rate
 * of interrupts per second"), where coalesce counts packets: after an interrupt, TX
 * stays masked for tx_rate_usecs. A full ring unmasks it at once.
 */
#include "scheme.h"

#define RATE_USECS	1000

struct irqmod_rate {
	struct irqmod_queue *queue;
	struct hrtimer timer;

	/* Settings. */
	u32 tx_rate_usecs;
};

static enum hrtimer_restart rate_over(struct hrtimer *timer)
{
	struct irqmod_rate *rate = container_of(timer, struct irqmod_rate, timer);

	/* Set: the scheme is being stopped. tx_stop() waits for us, and masks again. */
	if (!READ_ONCE(rate->queue->tx_switching))
		rate->queue->ops->unmask(rate->queue, IRQMOD_TX);
	return HRTIMER_NORESTART;
}

static void tx_rate_start(struct irqmod_queue *queue)
{
	queue->tx_irq_every = 1;
	queue->ops->unmask(queue, IRQMOD_TX);
}

/* A cause that is raised in the meantime interrupts when the time is over. */
static void tx_rate_irq(struct irqmod_queue *queue)
{
	struct irqmod_rate *rate = queue->tx_state;

	irqmod_tx_irq_reclaim(queue);
	irqmod_tx_mask_unless_full(queue);
	hrtimer_start(&rate->timer, irqmod_ktime(READ_ONCE(rate->tx_rate_usecs)),
		      HRTIMER_MODE_REL_PINNED);
}

static void tx_rate_full(struct irqmod_queue *queue)
{
	queue->ops->unmask(queue, IRQMOD_TX);
}

static void tx_rate_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_rate *rate = state;

	rate->queue = queue;
	rate->tx_rate_usecs = RATE_USECS;
	hrtimer_setup(&rate->timer, rate_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
}

/* No handler runs that would start it again. */
static void tx_rate_stop(struct irqmod_queue *queue)
{
	struct irqmod_rate *rate = queue->tx_state;

	hrtimer_cancel(&rate->timer);
}

static const struct irqmod_setting rate_settings[] = {
	{ IRQMOD_SETTING(irqmod_rate, tx_rate_usecs), .low = 10, .high = 100000 },
	{ }
};

IRQMOD_TX_SCHEME(rate) = {
	.base = {
		.name = "rate",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_rate),
		.settings = rate_settings,
		.init = tx_rate_init,
	},
	.in_irq = true,
	.start = tx_rate_start,
	.stop = tx_rate_stop,
	.irq = tx_rate_irq,
	.full = tx_rate_full,
};
