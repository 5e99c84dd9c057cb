// SPDX-License-Identifier: GPL-2.0-only
/*
 * Polling from a clock, as DragonFly BSD's ifpoll does (sys/net/if_poll.c, from
 * Rizzo's polling for FreeBSD): RX stays masked, and a timer starts a poll every
 * rx-usecs. The poll takes a burst of frames, five at a time, so that other
 * interfaces have their turn in between. Processes are guaranteed a share of the
 * CPU, rx_user_percent: a burst that has taken more than the rest of the period
 * makes the next one shorter by one frame, any other makes it longer. A burst
 * that is not over when the clock ticks makes the next one shorter by an eighth.
 *
 * ifpoll has a rate of its own for transmit completions, half that of receiving.
 * Here this holds if completions are taken with the frames (tx_with_rx), unless the
 * ring is full: then the next completion starts a poll that takes no frames. With
 * other transmit schemes completions are taken as usual.
 */
#include <linux/sched/clock.h>

#include "napi.h"

#define IFPOLL_EACH_BURST	5
#define IFPOLL_BURST_MAX	150u
#define IFPOLL_USER_PERCENT	50

struct irqmod_ifpoll {
	struct irqmod_queue *queue;
	struct hrtimer timer;		/* the clock */
	ktime_t period;
	u64 began_ns;			/* this burst */
	unsigned int burst;		/* frames of a burst */
	unsigned int left;		/* ... of this one; 0: none has begun */
	bool due;			/* the clock has ticked: a burst begins */
	bool late;			/* ... during this burst */
	bool tx_turn;			/* completions are taken in this burst */

	/* Settings. */
	u32 rx_user_percent;
};

static enum hrtimer_restart ifpoll_tick(struct hrtimer *timer)
{
	struct irqmod_ifpoll *f = container_of(timer, struct irqmod_ifpoll,
					       timer);

	/* Seen by the poll that this schedules, or that it finds scheduled. */
	WRITE_ONCE(f->due, true);
	if (napi_schedule_prep(&f->queue->napi))
		__napi_schedule(&f->queue->napi);
	else
		WRITE_ONCE(f->late, true);
	hrtimer_forward_now(timer, READ_ONCE(f->period));
	return HRTIMER_RESTART;
}

static void ifpoll_begin(struct irqmod_ifpoll *f)
{
	f->began_ns = local_clock();
	f->left = f->burst;
	f->tx_turn = !f->tx_turn;
	WRITE_ONCE(f->due, false);
	WRITE_ONCE(f->late, false);
}

/* Chooses the length of the next burst. */
static void ifpoll_adapt(struct irqmod_ifpoll *f)
{
	u64 used_ns = local_clock() - f->began_ns;
	u64 period_ns = ktime_to_ns(READ_ONCE(f->period));

	if (used_ns * 100 > period_ns * (100 - READ_ONCE(f->rx_user_percent)))
		f->burst = max(f->burst - 1, 1u);
	else
		f->burst = min(f->burst + 1, IFPOLL_BURST_MAX);
	if (READ_ONCE(f->late))
		f->burst = max(f->burst - f->burst / 8, 1u);
}

static int rx_ifpoll_poll(struct irqmod_queue *queue, int budget)
{
	struct irqmod_ifpoll *f = queue->rx_state;
	unsigned int most, taken;

	if (unlikely(!budget)) {
		/* netpoll, which does not wait for the second tick. */
		irqmod_tx_rx_reclaim(queue);
		return 0;
	}
	if (!f->left && !READ_ONCE(f->due))
		return irqmod_napi_completions(queue);
	if (!f->left)
		ifpoll_begin(f);
	if (f->tx_turn || !queue->tx_with_rx)
		irqmod_tx_rx_reclaim(queue);
	most = min_t(unsigned int, f->left, budget);
	taken = irqmod_rx_pass(queue, most);
	f->left -= most;
	if (taken == most && f->left && !READ_ONCE(queue->rx_stopping))
		return budget;		/* the others' turn, then ours again */
	f->left = 0;
	ifpoll_adapt(f);
	taken = min_t(unsigned int, taken, budget - 1);
	napi_complete_done(&queue->napi, taken);
	return taken;
}

/* The clock polls for frames. */
static void rx_ifpoll_irq(struct irqmod_queue *queue)
{
	irqmod_rx_mask(queue);
	if (READ_ONCE(queue->tx_with_rx))
		napi_schedule(&queue->napi);
}

static void rx_ifpoll_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_ifpoll *f = state;

	f->queue = queue;
	f->rx_user_percent = IFPOLL_USER_PERCENT;
	hrtimer_setup(&f->timer, ifpoll_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
}

static void rx_ifpoll_changed(struct irqmod_queue *queue, void *state)
{
	struct irqmod_ifpoll *f = state;

	WRITE_ONCE(f->period, irqmod_ktime(irqmod_rx_usecs(queue)));
	if (queue->rx_state == state)
		queue->napi.weight = IFPOLL_EACH_BURST;
}

static bool rx_ifpoll_start(struct irqmod_queue *queue)
{
	struct irqmod_ifpoll *f = queue->rx_state;

	f->burst = IFPOLL_EACH_BURST;
	f->left = 0;
	f->tx_turn = false;
	f->due = false;
	f->late = false;
	irqmod_napi_start(queue);
	/* Frames without the NAPI's ID: only the clock polls. */
	queue->deliver = irqmod_deliver_stack;
	rx_ifpoll_changed(queue, f);
	hrtimer_start(&f->timer, f->period, HRTIMER_MODE_REL_PINNED);
	return false;
}

static void rx_ifpoll_stop(struct irqmod_queue *queue)
{
	struct irqmod_ifpoll *f = queue->rx_state;

	hrtimer_cancel(&f->timer);
}

static const struct irqmod_setting ifpoll_settings[] = {
	{ IRQMOD_SETTING(irqmod_ifpoll, rx_user_percent), .low = 0, .high = 99 },
	{ }
};

IRQMOD_RX_SCHEME(ifpoll) = {
	.base = {
		.name = "ifpoll",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_ifpoll),
		.settings = ifpoll_settings,
		.init = rx_ifpoll_init,
	},
	.masks = true,
	.pauses = true,
	.period = true,
	.changed = rx_ifpoll_changed,
	.start = rx_ifpoll_start,
	.stop = rx_ifpoll_stop,
	.irq = rx_ifpoll_irq,
	.poll = rx_ifpoll_poll,
};
