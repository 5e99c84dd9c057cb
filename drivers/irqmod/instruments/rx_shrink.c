// SPDX-License-Identifier: GPL-2.0-only
/*
 * OpenBSD's way out of livelock, from 4.5 to 5.5 (MCLGETI; m_cltick() and
 * m_cldrop() in sys/kern/uipc_mbuf.c): the receive ring gets shorter while the
 * machine is livelocked, so that the chip drops what there is no time for. Frames
 * are still taken in the interrupt handler and queued.
 *
 * A clock says what livelock is. In OpenBSD it is a timeout of one tick, which
 * runs in a software interrupt below that of the protocols. Here it is a tasklet,
 * which waits until the receive softirq has nothing to do; the first interrupt of
 * a tick starts it. If an interrupt finds that it has waited for more than a tick,
 * interrupts and protocols have had the CPU for so long. (Or processes, while
 * softirqs run in ksoftirqd, which competes with them. OpenBSD has no such case.)
 * Then the ring loses an eighth, and does not grow for four ticks. In other ticks
 * it grows by one descriptor if a pass leaves few of them to the chip. It is short
 * at the start. (5.6 and later change it by one in both directions, if_rxr_get() in
 * sys/net/if.c.)
 *
 * A shorter ring limits the frames of a pass, not the number of passes. So this
 * needs moderated interrupts: after a pass RX stays masked for rx_pause_usecs.
 * re(4) does so for the RTL8139C+, for 125 us.
 */
#include <linux/jiffies.h>

#include "scheme.h"

#define SHRINK_LEAST		2u	/* descriptors */
#define SHRINK_START		4
#define SHRINK_FEW		4	/* left after a pass: the ring grows */
#define SHRINK_HOLD		4	/* ticks without growth after livelock */
#define SHRINK_PAUSE_USECS	125

struct irqmod_shrink {
	struct irqmod_queue *queue;
	struct hrtimer pause;		/* ends the time in which RX is masked */
	struct tasklet_struct clock;
	bool clock_waits;		/* it has been started and has not run */
	unsigned long clock_at;		/* when it was started, in jiffies */
	unsigned long grown_at;
	unsigned long livelock_at;
	bool livelock;
	unsigned int filled;		/* descriptors that the chip has */

	/* Settings. */
	u32 rx_pause_usecs;
};

/* Interrupts may raise the receive softirq at any time; it runs first then. */
static void shrink_clock(struct tasklet_struct *tasklet)
{
	struct irqmod_shrink *s = from_tasklet(s, tasklet, clock);

	if (local_softirq_pending() & BIT(NET_RX_SOFTIRQ) &&
	    !READ_ONCE(s->queue->rx_stopping))
		tasklet_schedule(tasklet);
	else
		WRITE_ONCE(s->clock_waits, false);
}

/* Whether the clock is late. Starts it once a tick. */
static bool shrink_late(struct irqmod_shrink *s, unsigned long now)
{
	if (!READ_ONCE(s->clock_waits)) {
		if (now != s->clock_at) {
			s->clock_at = now;
			s->clock_waits = true;
			tasklet_schedule(&s->clock);
		}
		return false;
	}
	if (now - s->clock_at <= 1)
		return false;
	s->clock_at = now;
	return true;
}

/* Chooses how long the ring may be. */
static void shrink_adapt(struct irqmod_shrink *s)
{
	struct irqmod_queue *queue = s->queue;
	unsigned int limit = queue->rx_limit;
	unsigned long now = jiffies;

	if (unlikely(shrink_late(s, now))) {
		s->livelock = true;
		s->livelock_at = now;
		limit = max(limit - min(limit, max(limit / 8, 2u)), SHRINK_LEAST);
	} else if (s->livelock && now - s->livelock_at > SHRINK_HOLD) {
		s->livelock = false;
	}
	if (!s->livelock && s->filled <= SHRINK_FEW && limit < queue->rx_ring &&
	    now != s->grown_at) {
		limit++;
		s->grown_at = now;
	}
	WRITE_ONCE(queue->rx_limit, limit);
}

/* Takes at most as many frames as the ring holds: those that can have been there
 * when the cause was acknowledged. Later frames interrupt again.
 */
static void rx_shrink_irq(struct irqmod_queue *queue)
{
	struct irqmod_shrink *s = queue->rx_state;
	u32 pause_usecs = READ_ONCE(s->rx_pause_usecs);

	if (pause_usecs)
		irqmod_rx_mask(queue);
	s->filled -= irqmod_rx_pass(queue, s->filled);
	shrink_adapt(s);
	queue->ops->rx_refill(queue);
	s->filled = max(s->filled, queue->rx_limit);
	if (pause_usecs)
		hrtimer_start(&s->pause, irqmod_ktime(pause_usecs),
			      HRTIMER_MODE_REL_PINNED);
}

static enum hrtimer_restart shrink_pause_over(struct hrtimer *timer)
{
	struct irqmod_shrink *s = container_of(timer, struct irqmod_shrink, pause);

	irqmod_rx_unmask(s->queue);
	return HRTIMER_NORESTART;
}

static void rx_shrink_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_shrink *s = state;

	s->queue = queue;
	s->rx_pause_usecs = SHRINK_PAUSE_USECS;
	hrtimer_setup(&s->pause, shrink_pause_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	tasklet_setup(&s->clock, shrink_clock);
}

static bool rx_shrink_start(struct irqmod_queue *queue)
{
	struct irqmod_shrink *s = queue->rx_state;

	queue->deliver = irqmod_deliver_backlog;
	queue->rx_in_softirq = false;
	queue->rx_deferred = true;
	/* The chip has the whole ring; passes leave it no more than this. */
	s->filled = queue->rx_ring;
	WRITE_ONCE(queue->rx_limit, SHRINK_START);
	s->clock_waits = false;
	s->clock_at = jiffies;
	s->livelock = false;
	s->grown_at = jiffies;
	return !s->rx_pause_usecs;
}

static void rx_shrink_stop(struct irqmod_queue *queue)
{
	struct irqmod_shrink *s = queue->rx_state;

	hrtimer_cancel(&s->pause);
	tasklet_kill(&s->clock);
	WRITE_ONCE(queue->rx_limit, UINT_MAX);
	queue->ops->rx_refill(queue);
}

static u64 shrink_limit(const struct irqmod_queue *queue, const void *state)
{
	return min(READ_ONCE(queue->rx_limit), queue->port->rx_ring);
}

static const struct irqmod_setting shrink_settings[] = {
	{ IRQMOD_SETTING(irqmod_shrink, rx_pause_usecs), .low = 0, .high = 10000 },
	{ .name = "rx_limit", .get = shrink_limit },
	{ }
};

IRQMOD_RX_SCHEME(shrink) = {
	.base = {
		.name = "shrink",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_shrink),
		.settings = shrink_settings,
		.init = rx_shrink_init,
	},
	.start = rx_shrink_start,
	.stop = rx_shrink_stop,
	.irq = rx_shrink_irq,
};
