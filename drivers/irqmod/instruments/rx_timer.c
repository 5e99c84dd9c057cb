// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timer-driven polling: there are no receive interrupts. A timer polls the ring
 * in hard IRQ and queues the frames on the backlog. A tasklet, which runs after
 * the receive softirq, refills the ring later.
 *
 * A poll takes 2.3 us for each short frame at 250 MIPS. In the timer's interrupt
 * all other timers would have to wait for it. If timers are late one after
 * another, the kernel delays all of them, and says so ("hrtimer: interrupt took
 * ... ns"). If there are frames to take, the timer therefore only raises another
 * interrupt (irq_work), which follows at once, before softirqs and processes.
 *
 * A pass takes no more frames than the backlog has room for. The others stay on
 * the ring, and the NIC drops the excess at no cost. Of queues that poll together
 * the first would always find the room, and the last none: each takes no more than
 * its share.
 *
 * Instruments. rx_timer_without disables one part of this, to measure its benefit.
 * irq_off: the receive interrupt does the work of the timer. top_half: the timer
 * polls in softirq. backlog: frames go directly to the stack, also in softirq.
 * refill: the ring is refilled at once. retry: a pass that found no frame does not
 * refill, so that a ring which ran dry for want of memory stays dry.
 *
 * rx_timer_refill says when the ring is refilled. softirq: by the tasklet. poll: at
 * the end of each pass, not after the receive softirq. half: as poll, but only once
 * more than half of the ring is empty, or if the pass found no frame.
 */
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "scheme.h"

IRQMOD_PARAMETER(fail_refills, uint, 0644,
		 "For tests: every n-th deferred refill finds no memory (default 0: none)");

enum timer_without {
	WITHOUT_NOTHING,
	WITHOUT_IRQ_OFF,
	WITHOUT_TOP_HALF,
	WITHOUT_BACKLOG,
	WITHOUT_REFILL,
	WITHOUT_RETRY,
};

static const char * const timer_measures[] = {
	[WITHOUT_NOTHING] = "nothing",
	[WITHOUT_IRQ_OFF] = "irq_off",
	[WITHOUT_TOP_HALF] = "top_half",
	[WITHOUT_BACKLOG] = "backlog",
	[WITHOUT_REFILL] = "refill",
	[WITHOUT_RETRY] = "retry",
	NULL
};

enum timer_refill {
	REFILL_SOFTIRQ,
	REFILL_POLL,
	REFILL_HALF,
};

static const char * const timer_refills[] = {
	[REFILL_SOFTIRQ] = "softirq",
	[REFILL_POLL] = "poll",
	[REFILL_HALF] = "half",
	NULL
};

struct irqmod_timer {
	struct irqmod_queue *queue;
	struct hrtimer timer;
	struct irq_work work;		/* polls */
	struct tasklet_struct tasklet;	/* refills */
	ktime_t period;
	ktime_t running;		/* the period until the timer expires next */
	bool apart;			/* polls in an interrupt of its own */
	spinlock_t irq_lock;		/* irq_off: passes of two CPUs (@irq) */
	u32 rx_timer_without;		/* enum timer_without */
	u32 rx_timer_refill;		/* enum timer_refill */
	int share;			/* frames of the backlog that a pass may take */
	int backlog;			/* the backlog's length when @share was computed */
	int sharers;			/* the timers that ran then */
	unsigned int emptied;		/* half: descriptors, since the last refill */
	unsigned int refills;		/* while fail_refills is set */
};

/* How many timers run, on all processors. */
static atomic_t rx_timers;

static enum timer_without timer_without(const struct irqmod_timer *t)
{
	return irqmod_instrument(t->rx_timer_without, WITHOUT_NOTHING);
}

static enum timer_refill timer_refill(const struct irqmod_timer *t)
{
	return irqmod_instrument(t->rx_timer_refill, REFILL_SOFTIRQ);
}

/* How many frames a pass may take, so that all queues find room on the backlog.
 * Divides only if the backlog's length or the number of timers has changed.
 */
static int rx_timer_share(struct irqmod_timer *t)
{
	int backlog = irqmod_max_backlog(), sharers = atomic_read(&rx_timers);

	if (unlikely(backlog != t->backlog || sharers != t->sharers)) {
		t->backlog = backlog;
		t->sharers = sharers;
		t->share = max(backlog / max(sharers, 1), 1);
	}
	return t->share;
}

/* How many frames wait on a processor's backlog. */
static int rx_timer_waiting(unsigned int cpu)
{
	return skb_queue_len_lockless(&per_cpu(softnet_data, cpu).input_pkt_queue);
}

/* How many wait on the fullest backlog that a frame may be queued on: with RPS not this
 * processor's.
 */
static int rx_timer_fullest(const struct irqmod_queue *queue)
{
	int waiting = rx_timer_waiting(smp_processor_id());
#ifdef CONFIG_RPS
	const struct rps_map *map;
	unsigned int i;

	rcu_read_lock();
	map = rcu_dereference(queue->netdev->_rx[queue->index].rps_map);
	for (i = 0; map && i < map->len; i++)
		waiting = max(i ? waiting : 0, rx_timer_waiting(map->cpus[i]));
	rcu_read_unlock();
#endif
	return waiting;
}

/* How many frames a poll may take. */
static int rx_timer_room(struct irqmod_timer *t)
{
	int ring = t->queue->rx_ring;

	if (timer_without(t) == WITHOUT_BACKLOG)
		return ring;
	return min3(ring, rx_timer_share(t),
		    (int)irqmod_max_backlog() - rx_timer_fullest(t->queue));
}

static void rx_timer_refill(struct irqmod_timer *t)
{
	unsigned int fail = irqmod_instrument(READ_ONCE(fail_refills), 0);

	if (unlikely(fail && ++t->refills % fail == 0))
		return;
	t->queue->ops->rx_refill(t->queue);
}

static void rx_timer_pass(struct irqmod_timer *t, int budget)
{
	struct irqmod_queue *queue = t->queue;
	int taken = irqmod_rx_pass(queue, budget);

	if (!queue->rx_deferred)
		return;
	if (!taken && unlikely(timer_without(t) == WITHOUT_RETRY))
		return;
	if (likely(timer_refill(t) == REFILL_SOFTIRQ)) {
		tasklet_schedule(&t->tasklet);
		return;
	}
	t->emptied += taken;
	/* Without frames: the last refill may have run out of memory. */
	if (timer_refill(t) == REFILL_HALF && taken &&
	    t->emptied <= queue->rx_ring / 2)
		return;
	t->emptied = 0;
	rx_timer_refill(t);
}

/* noinline: profiles count it. */
static noinline void rx_timer_poll(struct irq_work *work)
{
	struct irqmod_timer *t = container_of(work, struct irqmod_timer, work);
	int room = rx_timer_room(t);

	if (room > 0)
		rx_timer_pass(t, room);
}

/* Timers of the same period expire together, whenever they were started: at its
 * multiples. So one interrupt serves all interfaces. If they expired some
 * microseconds apart, the kernel would find the next one expired at the end of each
 * interrupt, and with two more, the tick for example, hold all timers up.
 */
static ktime_t rx_timer_first(struct irqmod_timer *t)
{
	u64 period_ns;

	t->running = READ_ONCE(t->period);
	period_ns = ktime_to_ns(t->running);
	return ns_to_ktime((div64_u64(ktime_get_ns(), period_ns) + 1) * period_ns);
}

static void rx_timer_forward(struct irqmod_timer *t)
{
	if (likely(t->running == READ_ONCE(t->period)))
		hrtimer_forward_now(&t->timer, t->running);
	else
		hrtimer_set_expires(&t->timer, rx_timer_first(t));
}

/* Never while a poll is under way: the irq_work runs on the timer's CPU, with
 * interrupts disabled.
 */
static enum hrtimer_restart rx_timer_over(struct hrtimer *timer)
{
	struct irqmod_timer *t = container_of(timer, struct irqmod_timer, timer);

	if (!t->apart || !t->queue->ops->rx_pending(t->queue))
		rx_timer_poll(&t->work);
	else if (rx_timer_room(t) > 0)
		irq_work_queue(&t->work);
	rx_timer_forward(t);
	return HRTIMER_RESTART;
}

static void rx_timer_later(struct tasklet_struct *tasklet)
{
	struct irqmod_timer *t = from_tasklet(t, tasklet, tasklet);

	rx_timer_refill(t);
}

static void rx_timer_changed(struct irqmod_queue *queue, void *state)
{
	struct irqmod_timer *t = state;

	WRITE_ONCE(t->period, irqmod_ktime(irqmod_rx_usecs(queue)));
}

static void rx_timer_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_timer *t = state;

	t->queue = queue;
	spin_lock_init(&t->irq_lock);
	init_irq_work(&t->work, rx_timer_poll);
	tasklet_setup(&t->tasklet, rx_timer_later);
}

/* Whether an irq_work runs at once, in hard IRQ: not at the next tick, and not in
 * a thread (PREEMPT_RT). Modules cannot ask on 32-bit ARM.
 */
static bool rx_timer_has_interrupt(void)
{
	return !IS_ENABLED(CONFIG_ARM) && !IS_ENABLED(CONFIG_PREEMPT_RT) &&
	       arch_irq_work_has_interrupt();
}

static bool rx_timer_start(struct irqmod_queue *queue)
{
	struct irqmod_timer *t = queue->rx_state;
	bool direct = timer_without(t) == WITHOUT_BACKLOG;
	bool soft = direct || timer_without(t) == WITHOUT_TOP_HALF;
	/* Not ABS_HARD: the stack must not be entered in hard IRQ under
	 * PREEMPT_RT, which runs timers of mode ABS in softirq.
	 */
	enum hrtimer_mode mode = soft ? HRTIMER_MODE_ABS_PINNED_SOFT
				      : HRTIMER_MODE_ABS_PINNED;

	queue->deliver = direct ? irqmod_deliver_stack : irqmod_deliver_backlog;
	queue->rx_deferred = timer_without(t) != WITHOUT_REFILL;
	queue->rx_in_softirq = direct;
	t->apart = !soft && rx_timer_has_interrupt();
	t->emptied = 0;
	hrtimer_setup(&t->timer, rx_timer_over, CLOCK_MONOTONIC, mode);
	if (timer_without(t) == WITHOUT_IRQ_OFF)
		return true;
	atomic_inc(&rx_timers);
	hrtimer_start(&t->timer, rx_timer_first(t), mode);
	return false;
}

static void rx_timer_stop(struct irqmod_queue *queue)
{
	struct irqmod_timer *t = queue->rx_state;

	/* Not started: irq_off. */
	if (hrtimer_cancel(&t->timer))
		atomic_dec(&rx_timers);
	irq_work_sync(&t->work);
	tasklet_kill(&t->tasklet);
	queue->ops->rx_refill(queue);
}

static void rx_timer_irq(struct irqmod_queue *queue)
{
	struct irqmod_timer *t = queue->rx_state;
	unsigned long flags;

	/* Otherwise the cause was latched before RX was masked; the timer will
	 * poll.
	 */
	if (likely(timer_without(t) != WITHOUT_IRQ_OFF))
		return;
	spin_lock_irqsave(&t->irq_lock, flags);
	rx_timer_pass(t, queue->rx_ring);
	spin_unlock_irqrestore(&t->irq_lock, flags);
}

static const struct irqmod_setting timer_settings[] __maybe_unused = {
	{ IRQMOD_SETTING(irqmod_timer, rx_timer_without),
	  .names = timer_measures, .restart = true },
	{ IRQMOD_SETTING(irqmod_timer, rx_timer_refill),
	  .names = timer_refills, .restart = true },
	{ }
};

IRQMOD_RX_SCHEME(timer) = {
	.base = {
		.name = "timer",
		.state_size = sizeof(struct irqmod_timer),
		.settings = irqmod_instrument(timer_settings, NULL),
		.init = rx_timer_init,
	},
	.period = true,
	.changed = rx_timer_changed,
	.start = rx_timer_start,
	.stop = rx_timer_stop,
	.irq = rx_timer_irq,
};
