// SPDX-License-Identifier: GPL-2.0-only
/* Built if CONFIG_DIMLIB */
/*
 * NAPI with interrupts moderated by the kernel's library for that (lib/dim). The
 * chips have no moderation of their own, so it is done here: when the ring is
 * empty, RX stays masked for a period, after which NAPI polls again; a poll that
 * finds nothing unmasks RX. net_dim() watches frames, bytes and periods, and
 * chooses the period. The number of frames that it chooses as well is not used: it
 * is 256, which take 1.7 ms at 100 Mbit/s, and the longest period is 256 us. While
 * RX is masked nothing counts frames, either. If completions are taken here, too
 * (tx_with_rx), a full transmit ring ends a period early.
 */
#include <linux/dim.h>

#include "napi.h"

struct irqmod_dim {
	struct irqmod_queue *queue;
	struct hrtimer timer;		/* end of a period */
	struct dim dim;
	ktime_t period;			/* 0: no moderation */
	u16 events;			/* polls that emptied the ring */
};

static enum hrtimer_restart dim_over(struct hrtimer *timer)
{
	struct irqmod_dim *d = container_of(timer, struct irqmod_dim, timer);

	napi_schedule(&d->queue->napi);
	return HRTIMER_NORESTART;
}

/* Applies the profile that net_dim() has chosen; in a work queue. */
static void dim_apply(struct work_struct *work)
{
	struct irqmod_dim *d = container_of(work, struct irqmod_dim, dim.work);
	struct dim_cq_moder profile;

	profile = net_dim_get_rx_moderation(d->dim.mode, d->dim.profile_ix);
	WRITE_ONCE(d->period, irqmod_ktime(profile.usec));
	d->dim.state = DIM_START_MEASURE;
}

static void dim_sample(struct irqmod_dim *d)
{
	struct irqmod_rx_stats *stats = &d->queue->rx_stats;
	struct dim_sample sample = {};

	/* Written in this context only. */
	dim_update_sample(++d->events, u64_stats_read(&stats->packets),
			  u64_stats_read(&stats->bytes), &sample);
	irqmod_net_dim(&d->dim, sample);
}

static int rx_dim_poll(struct irqmod_queue *queue, int budget)
{
	struct irqmod_dim *d = queue->rx_state;
	int done = irqmod_napi_pass(queue, budget);
	ktime_t period = READ_ONCE(d->period);

	if (done == budget)
		return budget;
	if (done)
		dim_sample(d);
	if (!done || !period)
		return irqmod_napi_end(queue, done, budget);
	if (napi_complete_done(&queue->napi, done))
		hrtimer_start(&d->timer, period, HRTIMER_MODE_REL_PINNED);
	return done;
}

static void rx_dim_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_dim *d = state;

	d->queue = queue;
	hrtimer_setup(&d->timer, dim_over, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	INIT_WORK(&d->dim.work, dim_apply);
	d->dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
}

static bool rx_dim_start(struct irqmod_queue *queue)
{
	struct irqmod_dim *d = queue->rx_state;

	d->dim.state = DIM_START_MEASURE;
	d->dim.tune_state = DIM_GOING_RIGHT;
	d->dim.profile_ix = 0;
	d->period = 0;
	irqmod_napi_start(queue);
	return false;
}

static void rx_dim_stop(struct irqmod_queue *queue)
{
	struct irqmod_dim *d = queue->rx_state;

	/* Only polls start it, and there are none any more. */
	hrtimer_cancel(&d->timer);
	cancel_work_sync(&d->dim.work);
}

IRQMOD_RX_SCHEME(dim) = {
	.base = {
		.name = "dim",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_dim),
		.init = rx_dim_init,
	},
	.masks = true,
	.pauses = true,
	.adaptive = true,
	.start = rx_dim_start,
	.stop = rx_dim_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_dim_poll,
};
