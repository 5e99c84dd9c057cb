// SPDX-License-Identifier: GPL-2.0-only
/*
 * The polling of Mogul & Ramakrishnan (Eliminating Receive Livelock in an
 * Interrupt-driven Kernel, USENIX 1996): interrupts only start the poll, which
 * takes at most rx_quota frames before other interfaces, and completions, have
 * their turn. With tx_with_rx completions are taken by the same poll, as in the
 * paper. The paper's other two measures are here too:
 *
 * Feedback from a full queue (section 6.6.1). If rx_queue_high frames of this
 * queue have not been freed, input is inhibited until rx_queue_low remain, or
 * for a tick: RX stays masked, no frames are taken, and the ring holds what
 * arrives. In the paper the queue to a process tells the driver. Here the driver
 * counts the frames that are still in the memory that it gave them, whichever
 * queue behind it has them: a socket, a tun device, the other interface's
 * transmit ring.
 *
 * A limit on CPU time (section 7). If the polls of a period of 10 ms have taken
 * more than rx_cpu_percent of it, input is inhibited for the rest of the period,
 * or until the CPU is idle. Completions are still taken.
 *
 * Nothing tells the driver that a frame has been freed, or that the CPU is idle:
 * while input is inhibited a timer looks.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "napi.h"

#define POLLING_PASS		64u
#define POLLING_DEFAULT_QUOTA	10	/* the paper: 10 to 20 is near the best */
#define POLLING_DEFAULT_LOW	8	/* ... a quarter of its queue of 32 */
/* The chunks hold as many heads of the longest frames: irqmod_heads_next(). */
#define POLLING_MOST_HIGH	96
#define POLLING_PERIOD_NS	(10 * NSEC_PER_MSEC)
#define POLLING_TICK_NS		((u64)TICK_NSEC)
/* A process that takes 80,000 frames/s has not taken the 8 of the low mark. */
#define POLLING_LOOK_NS		(100 * NSEC_PER_USEC)
#define POLLING_IDLE_LOOK_NS	NSEC_PER_MSEC
/* A poll without a quota goes on while frames arrive, as in the paper's figure without
 * one: with that, or with a quota above the budget, it takes more than NAPI allows, and
 * reports no more than the budget. Not for longer than this: the watchdog and RCU wait.
 */
#define POLLING_WORK_JIFFIES	(HZ / 4)

struct irqmod_polling {
	struct irqmod_queue *queue;
	struct hrtimer timer;		/* looks while input is inhibited */
	bool full;			/* input is inhibited by a full queue */
	bool idle;			/* the timer has interrupted the idle task */
	u64 full_at_ns;
	u64 period_at_ns;		/* start of the period, and time used in it */
	u64 used_ns;

	/* Settings. */
	u32 rx_quota;			/* 0: none */
	u32 rx_queue_high;		/* 0: no feedback */
	u32 rx_queue_low;
	u32 rx_cpu_percent;		/* 100: no limit */
};

/* The frames that have been delivered and not been freed. Of a chunk that had to
 * be replaced before all its heads were free the driver knows nothing any more.
 * With chunks of full size none is replaced before POLLING_MOST_HIGH frames have
 * been counted.
 */
static unsigned int polling_behind(const struct irqmod_queue *queue)
{
	const struct irqmod_heads *heads = &queue->heads;
	unsigned int i, frames = 0;

	for (i = 0; i < heads->chunks; i++) {
		const struct irqmod_chunk *chunk = &heads->chunk[i];

		if (chunk->page)
			frames += page_ref_count(chunk->page) - chunk->bias;
	}
	return frames;
}

/* How many frames there is room for behind the driver; 0: input is inhibited. */
static unsigned int polling_room(struct irqmod_polling *p)
{
	unsigned int high = READ_ONCE(p->rx_queue_high);
	unsigned int behind, low;
	u64 now;

	if (!high) {
		p->full = false;
		return UINT_MAX;
	}
	behind = polling_behind(p->queue);
	if (!p->full && behind < high)
		return high - behind;
	now = local_clock();
	if (!p->full) {
		p->full = true;
		p->full_at_ns = now;
		return 0;
	}
	low = min(READ_ONCE(p->rx_queue_low), high - 1);
	if (behind > low && now - p->full_at_ns < POLLING_TICK_NS)
		return 0;
	p->full = false;
	/* After a tick one frame, even if there is no room: it may be another's. */
	return behind < high ? high - behind : 1;
}

/* Whether the CPU time of this period has been used up. */
static bool polling_spent(struct irqmod_polling *p, u64 now)
{
	unsigned int percent = READ_ONCE(p->rx_cpu_percent);

	if (READ_ONCE(p->idle) || now - p->period_at_ns >= POLLING_PERIOD_NS) {
		WRITE_ONCE(p->idle, false);
		p->period_at_ns = now;
		p->used_ns = 0;
	}
	return p->used_ns >= percent * (POLLING_PERIOD_NS / 100);
}

/* The rest of this period. */
static u64 polling_left(const struct irqmod_polling *p, u64 now)
{
	return p->period_at_ns + POLLING_PERIOD_NS - now;
}

/* Takes frames until the quota is used up or the ring is empty, or until there is
 * no room behind the driver. Returns how many; *@empty: whether the ring is.
 */
static unsigned int polling_input(struct irqmod_polling *p, bool *empty)
{
	unsigned int quota = READ_ONCE(p->rx_quota) ?: UINT_MAX;
	unsigned long until = jiffies + POLLING_WORK_JIFFIES;
	struct irqmod_queue *queue = p->queue;
	unsigned int taken, most, done = 0;

	do {
		most = min3(quota - done, polling_room(p), POLLING_PASS);
		if (!most)
			break;
		taken = irqmod_rx_pass(queue, most);
		done += taken;
		*empty = taken < most;
	} while (!*empty && !READ_ONCE(queue->rx_stopping) &&
		 time_before(jiffies, until));
	return done;
}

/* The end of a poll that leaves frames on the ring for later. RX stays masked. */
static int polling_inhibit(struct irqmod_polling *p, int done, u64 ns)
{
	/* A poll for completions does not put off the look. */
	if (napi_complete_done(&p->queue->napi, done) &&
	    !hrtimer_is_queued(&p->timer))
		hrtimer_start(&p->timer, ns_to_ktime(ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
	return done;
}

static int rx_polling_poll(struct irqmod_queue *queue, int budget)
{
	struct irqmod_polling *p = queue->rx_state;
	bool limited = READ_ONCE(p->rx_cpu_percent) < 100;
	u64 began = limited ? local_clock() : 0;
	bool empty = false;
	unsigned int done;

	irqmod_tx_rx_reclaim(queue);
	if (unlikely(!budget))
		return 0;
	if (limited && polling_spent(p, began))
		return polling_inhibit(p, 0, min_t(u64, POLLING_IDLE_LOOK_NS,
						   polling_left(p, began)));
	done = polling_input(p, &empty);
	if (limited)
		p->used_ns += local_clock() - began;
	if (empty)
		return irqmod_napi_end(queue, min_t(int, done, budget - 1), budget);
	if (p->full)
		return polling_inhibit(p, min_t(int, done, budget - 1),
				       POLLING_LOOK_NS);
	return budget;
}

static enum hrtimer_restart polling_look(struct hrtimer *timer)
{
	struct irqmod_polling *p = container_of(timer, struct irqmod_polling,
						timer);

	WRITE_ONCE(p->idle, is_idle_task(current));
	napi_schedule(&p->queue->napi);
	return HRTIMER_NORESTART;
}

static void rx_polling_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_polling *p = state;

	BUILD_BUG_ON(POLLING_MOST_HIGH >
		     IRQMOD_CHUNKS_FAST * (IRQMOD_CHUNK_BYTES /
					   IRQMOD_HEAD_BYTES(IRQMOD_RX_MAX)));
	p->queue = queue;
	p->rx_quota = POLLING_DEFAULT_QUOTA;
	p->rx_queue_low = POLLING_DEFAULT_LOW;
	p->rx_cpu_percent = 100;
	/* Hard: under PREEMPT_RT, too, it interrupts what the CPU does. */
	hrtimer_setup(&p->timer, polling_look, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/* net_rx_action() counts a poll that leaves frames as its weight. */
static void rx_polling_changed(struct irqmod_queue *queue, void *state)
{
	struct irqmod_polling *p = state;

	if (queue->rx_state == state)
		queue->napi.weight = clamp(p->rx_quota - 1, 0u,
					   NAPI_POLL_WEIGHT - 1u) + 1;
}

static bool rx_polling_start(struct irqmod_queue *queue)
{
	struct irqmod_polling *p = queue->rx_state;

	p->full = false;
	p->idle = false;
	p->used_ns = 0;
	p->period_at_ns = local_clock();
	irqmod_napi_start(queue);
	/* Frames without the NAPI's ID: a process would poll in vain while input is
	 * inhibited.
	 */
	queue->deliver = irqmod_deliver_stack;
	rx_polling_changed(queue, p);
	return false;
}

static void rx_polling_stop(struct irqmod_queue *queue)
{
	struct irqmod_polling *p = queue->rx_state;

	/* Only polls start it, and there are none any more. */
	hrtimer_cancel(&p->timer);
}

static const struct irqmod_setting polling_settings[] = {
	{ IRQMOD_SETTING(irqmod_polling, rx_quota), .low = 0, .high = 100000 },
	{ IRQMOD_SETTING(irqmod_polling, rx_queue_high), .low = 0, .high = POLLING_MOST_HIGH },
	{ IRQMOD_SETTING(irqmod_polling, rx_queue_low), .low = 0, .high = POLLING_MOST_HIGH - 1 },
	{ IRQMOD_SETTING(irqmod_polling, rx_cpu_percent), .low = 1, .high = 100 },
	{ }
};

IRQMOD_RX_SCHEME(polling) = {
	.base = {
		.name = "polling",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_polling),
		.settings = polling_settings,
		.init = rx_polling_init,
	},
	.masks = true,
	.pauses = true,
	.changed = rx_polling_changed,
	.start = rx_polling_start,
	.stop = rx_polling_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_polling_poll,
};
