// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hybrid (Salah & Qahtan): disable-enable below the cliff, NAPI above it. The
 * packet rate is estimated every rx_rate_window_ms. Two thresholds around the
 * cliff avoid constant switching at a load that fluctuates around it.
 *
 * The ring belongs to DE's tasklet or to NAPI's poll (@polls). Only its owner
 * passes it on, when it finds that the load has crossed the cliff. The other may
 * be scheduled meanwhile (@irq in scheme.h): it then takes no frames, reclaims
 * nothing, and schedules the owner. Neither runs on two CPUs at a time, so there
 * is one owner, whenever the timer says that the load has crossed the cliff.
 * Frames carry no NAPI ID: while DE owns the ring a process would poll in vain.
 *
 * The cliff belongs to the processor: a queue compares with it what the processor
 * receives on all queues with this scheme, of all interfaces. Each sees nearly the same
 * sum, and their windows end at different instants, so they change one by one.
 *
 * rx_above chooses what NAPI does above the cliff. napi, the paper's form: it
 * polls until the ring is empty, and unmasks RX. paced: RX stays masked, and a
 * timer starts each poll, rx-usecs after the last one began. Frames are then taken
 * together, which costs less than one by one, and no interrupt comes between. A
 * poll of paced takes one budget of frames at most, and the next one follows
 * when other tasks have had the CPU for as long as this one took, or when
 * nothing else wants the CPU. The polls of all queues on a CPU rest together. So
 * receiving never keeps a process from more than half of the CPU, and the NIC
 * drops the excess at no cost. On a router no process wants the CPU, and polls
 * follow each other.
 */
#include <linux/math64.h>
#include <linux/sched/clock.h>

#include "de.h"
#include "estimator.h"
#include "napi.h"

#define DEFAULT_CLIFF_PPS	60000
#define DEFAULT_EPSILON		150	/* Salah & Qahtan: fewest switches */
#define DEFAULT_WINDOW_MS	8
#define PACED_LOOK_SHIFT	2	/* paced: looks at the CPU in a rest, 2^2 */

enum hybrid_above {
	ABOVE_NAPI,
	ABOVE_PACED,
};

static const char * const hybrid_aboves[] = {
	[ABOVE_NAPI] = "napi",
	[ABOVE_PACED] = "paced",
	NULL
};

struct irqmod_hybrid {
	struct irqmod_de de;
	struct estimator estimator;
	struct hrtimer timer;	/* end of a window */
	ktime_t window;
	bool polls;		/* the ring is the poll's, not the tasklet's */
	bool asked;		/* rx_count() called, result pending */
	bool counting;		/* first count received: a window has begun */
	u32 switches;		/* between DE and NAPI; written by the timer */
	unsigned int cpu;	/* where frames were taken last */
	atomic_t *cpu_pps;	/* the CPU's sum that has this queue's part */
	u32 pps;		/* the part */

	/* paced. look_ns is written by the poll that starts the timer. While that
	 * runs, polls take completions only.
	 */
	struct hrtimer pacer;	/* the next poll */
	u64 look_ns;		/* between two looks at the CPU */
	u32 period_ns;		/* rx-usecs; written under RTNL */
	bool rests;		/* the pacer starts the next poll */

	/* Settings. */
	u32 rx_above;		/* enum hybrid_above */
	u32 rx_above_weight;	/* 0: rx_weight */
	u32 rx_cliff_pps;
	u32 rx_epsilon_permille;
	u32 rx_rate_window_ms;
};

/* paced: when the rest after the polls of paced queues on this CPU ends, in
 * local_clock(). A timer may interrupt a poll, or have moved to another CPU: a
 * rest is then measured wrong.
 */
static DEFINE_PER_CPU(u64, hybrid_rested_ns);

/* What a CPU receives on all queues, in packets/s, as their windows find it. */
static DEFINE_PER_CPU(atomic_t, hybrid_cpu_pps);

static bool above_cliff(const struct irqmod_hybrid *h)
{
	return READ_ONCE(h->estimator.above);
}

/* Whether the ring is the poll's. */
static bool hybrid_polls(const struct irqmod_hybrid *h)
{
	/* The new owner sees what the last one's passes wrote: pairs with the
	 * release in hybrid_give_ring().
	 */
	return smp_load_acquire(&h->polls);
}

/* Called by the owner. */
static void hybrid_give_ring(struct irqmod_hybrid *h, bool polls)
{
	irqmod_rx_give(h->de.queue);
	WRITE_ONCE(h->de.busy, false);	/* DE's work has ended, or begins */
	/* Pairs with the acquire in hybrid_polls(). */
	smp_store_release(&h->polls, polls);
}

/* The total of the frames that have arrived; false: the hardware has no count. */
static bool hybrid_arrived(struct irqmod_queue *queue, u32 *arrived)
{
	if (queue->ops->rx_arrived)
		return queue->ops->rx_arrived(queue, arrived);
	*arrived = READ_ONCE(queue->rx_frames);
	return true;
}

/* The queue's part of a CPU's sum; NULL: of none. */
static void hybrid_count(struct irqmod_hybrid *h, atomic_t *cpu_pps, u32 pps)
{
	if (h->cpu_pps)
		atomic_sub(h->pps, h->cpu_pps);
	if (cpu_pps)
		atomic_add(pps, cpu_pps);
	h->cpu_pps = cpu_pps;
	h->pps = pps;
}

/* Ends a window; the CPU's other queues count, too. */
static bool hybrid_estimate(struct irqmod_hybrid *h, u32 arrived)
{
	atomic_t *cpu_pps = per_cpu_ptr(&hybrid_cpu_pps, READ_ONCE(h->cpu));
	u32 window_ms = h->rx_rate_window_ms, others;
	bool changes;

	hybrid_count(h, cpu_pps, h->pps);
	others = atomic_read(cpu_pps) - h->pps;
	changes = estimator_window(&h->estimator, arrived,
				   estimator_units(others, window_ms));
	hybrid_count(h, cpu_pps, estimator_rate_pps(&h->estimator, window_ms));
	return changes;
}

static enum hrtimer_restart hybrid_window(struct hrtimer *timer)
{
	struct irqmod_hybrid *h = container_of(timer, struct irqmod_hybrid,
					       timer);
	struct irqmod_queue *queue = h->de.queue;
	const struct irqmod_ops *ops = queue->ops;
	bool refused = false;
	u32 arrived;

	if (ops->rx_count && !h->asked) {
		h->asked = ops->rx_count(queue);
		if (h->asked) {
			hrtimer_add_expires_ns(timer, IRQMOD_COUNT_NS);
			return HRTIMER_RESTART;
		}
		refused = true;
	}
	if (refused || !hybrid_arrived(queue, &arrived)) {
		estimator_no_count(&h->estimator);
	} else if (!h->counting) {
		estimator_start(&h->estimator, arrived);
		h->counting = true;
	} else if (hybrid_estimate(h, arrived)) {
		WRITE_ONCE(h->switches, h->switches + 1);
	}
	hrtimer_forward_now(timer, h->asked ? ktime_sub_ns(h->window, IRQMOD_COUNT_NS)
					    : h->window);
	h->asked = false;
	return HRTIMER_RESTART;
}

/* DE's run; passes the ring on to NAPI, or finds that NAPI has it. */
static void rx_hybrid_work(struct tasklet_struct *tasklet)
{
	struct irqmod_de *de = from_tasklet(de, tasklet, tasklet);
	struct irqmod_hybrid *h = container_of(de, struct irqmod_hybrid, de);

	if (irqmod_de_rests(de))
		return;
	WRITE_ONCE(h->cpu, smp_processor_id());
	de->frames = 0;
	while (!READ_ONCE(de->queue->rx_stopping)) {
		if (above_cliff(h) && !hybrid_polls(h))
			hybrid_give_ring(h, true);
		if (hybrid_polls(h)) {
			irqmod_napi_schedule(de->queue);
			return;
		}
		if (!irqmod_de_pass(de))
			return;
	}
}

/* The rest after the polls on this CPU is over when it has taken as long as they
 * have, or when nothing else wants the CPU.
 */
static enum hrtimer_restart hybrid_rested(struct hrtimer *timer)
{
	struct irqmod_hybrid *h = container_of(timer, struct irqmod_hybrid,
					       pacer);

	u64 *rested_ns = this_cpu_ptr(&hybrid_rested_ns);
	u64 now = local_clock();

	if (now < READ_ONCE(*rested_ns)) {
		if (irqmod_cpu_wanted()) {
			hrtimer_start(timer, ns_to_ktime(READ_ONCE(h->look_ns)),
				      HRTIMER_MODE_REL_PINNED);
			return HRTIMER_NORESTART;
		}
		/* No task wants this CPU: the polls need not rest any more, and what is
		 * left of this rest is not added to the next one.
		 */
		WRITE_ONCE(*rested_ns, now);
	}
	WRITE_ONCE(h->rests, false);
	napi_schedule(&h->de.queue->napi);	/* RX is still masked */
	return HRTIMER_NORESTART;
}

/* The end of a paced poll that began at @began and took @done frames; returns
 * what the poll returns.
 */
static int hybrid_pace(struct irqmod_hybrid *h, u64 began, int done, int budget)
{
	u64 now = local_clock(), ran_ns = now - began;
	u64 look_ns = max_t(u64, ran_ns >> PACED_LOOK_SHIFT, NSEC_PER_USEC);
	u32 period_ns = READ_ONCE(h->period_ns);
	u64 *rested_ns = this_cpu_ptr(&hybrid_rested_ns);
	u64 wait_ns = look_ns;

	if (done == budget) {
		/* More to do. Nobody to give way to? Stay on the poll list. */
		if (!need_resched() && !irqmod_cpu_wanted())
			return budget;
		done = budget - 1;
	} else if (ran_ns + look_ns < period_ns) {
		wait_ns = period_ns - ran_ns;
	}
	/* What was left of the rest when the poll began, and this poll's. */
	WRITE_ONCE(*rested_ns, max(*rested_ns, began) + 2 * ran_ns);
	WRITE_ONCE(h->look_ns, look_ns);
	WRITE_ONCE(h->rests, true);
	if (napi_complete_done(&h->de.queue->napi, done))
		hrtimer_start(&h->pacer, ns_to_ktime(wait_ns), HRTIMER_MODE_REL_PINNED);
	else
		WRITE_ONCE(h->rests, false);
	return done;
}

/* NAPI's poll; passes the ring on to DE, or finds that DE has it. */
static int rx_hybrid_poll(struct irqmod_queue *queue, int budget)
{
	struct irqmod_hybrid *h = queue->rx_state;
	u64 began = 0;
	int done = 0;

	if (unlikely(!budget))
		return 0;	/* netpoll: irqmod_netpoll() */
	if (READ_ONCE(h->rests))
		return irqmod_napi_completions(queue);
	if (hybrid_polls(h)) {
		/* A thread that polls may move. */
		WRITE_ONCE(h->cpu, raw_smp_processor_id());
		if (h->rx_above == ABOVE_PACED)
			began = local_clock();
		done = irqmod_napi_pass(queue, budget);
		if (above_cliff(h))
			return h->rx_above == ABOVE_PACED ?
			       hybrid_pace(h, began, done, budget) :
			       irqmod_napi_end(queue, done, budget);
		hybrid_give_ring(h, false);
		done = min(done, budget - 1);
	}
	/* Also if NAPI is not complete: a thread that polls all the time (Linux 6.19)
	 * never is. To schedule DE twice does no harm.
	 */
	napi_complete_done(&queue->napi, done);
	irqmod_de_schedule(&h->de);
	return done;
}

static void rx_hybrid_changed(struct irqmod_queue *queue, void *state)
{
	struct irqmod_hybrid *h = state;

	WRITE_ONCE(h->period_ns, irqmod_rx_usecs(queue) * NSEC_PER_USEC);
	if (queue->rx_state == h && h->rx_above_weight)
		queue->napi.weight = h->rx_above_weight;
}

static void rx_hybrid_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_hybrid *h = state;

	irqmod_de_init(&h->de, queue, rx_hybrid_work);
	hrtimer_setup(&h->timer, hybrid_window, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	hrtimer_setup(&h->pacer, hybrid_rested, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	h->rx_cliff_pps = DEFAULT_CLIFF_PPS;
	h->rx_epsilon_permille = DEFAULT_EPSILON;
	h->rx_rate_window_ms = DEFAULT_WINDOW_MS;
	rx_hybrid_changed(queue, h);
}

static bool rx_hybrid_start(struct irqmod_queue *queue)
{
	struct irqmod_hybrid *h = queue->rx_state;

	estimator_configure(&h->estimator, h->rx_cliff_pps,
			    h->rx_epsilon_permille, h->rx_rate_window_ms);
	estimator_start(&h->estimator, 0);
	h->window = ms_to_ktime(h->rx_rate_window_ms);
	h->polls = false;
	h->asked = false;
	h->counting = false;
	h->rests = false;
	h->cpu = raw_smp_processor_id();
	rx_hybrid_changed(queue, h);
	irqmod_de_start(&h->de);
	hrtimer_start(&h->timer, h->window, HRTIMER_MODE_REL_PINNED);
	return false;
}

static void rx_hybrid_stop(struct irqmod_queue *queue)
{
	struct irqmod_hybrid *h = queue->rx_state;

	/* There are no polls any more, which alone start the pacer. */
	hrtimer_cancel(&h->timer);
	hrtimer_cancel(&h->pacer);
	hybrid_count(h, NULL, 0);
	irqmod_de_stop(&h->de);
}

static void rx_hybrid_irq(struct irqmod_queue *queue)
{
	struct irqmod_hybrid *h = queue->rx_state;

	if (hybrid_polls(h))
		irqmod_napi_schedule(queue);
	else
		irqmod_de_schedule(&h->de);
}

/* Another scheme does not estimate. */
static u64 hybrid_rate_pps(const struct irqmod_queue *queue, const void *state)
{
	const struct irqmod_hybrid *h = state;

	return queue->rx_state == state ?
	       estimator_rate_pps(&h->estimator, h->rx_rate_window_ms) : 0;
}

static u64 hybrid_switches(const struct irqmod_queue *queue, const void *state)
{
	const struct irqmod_hybrid *h = state;

	return READ_ONCE(h->switches);
}

/* A start of the scheme is a start of the estimate: its average is per window, and
 * its timer reads the thresholds.
 */
static const struct irqmod_setting hybrid_settings[] = {
	{ IRQMOD_SETTING(irqmod_hybrid, rx_cliff_pps),
	  .low = 1, .high = 100000000, .restart = true },
	{ IRQMOD_SETTING(irqmod_hybrid, rx_epsilon_permille),
	  .low = 0, .high = 999, .restart = true },
	{ IRQMOD_SETTING(irqmod_hybrid, rx_rate_window_ms),
	  .low = 1, .high = 1000, .restart = true },
	{ IRQMOD_SETTING(irqmod_hybrid, rx_above), .names = hybrid_aboves, .restart = true },
	{ IRQMOD_SETTING(irqmod_hybrid, rx_above_weight), .low = 0, .high = NAPI_POLL_WEIGHT },
	{ .name = "rx_rate_pps", .get = hybrid_rate_pps },
	{ .name = "rx_switches", .get = hybrid_switches },
	{ }
};

IRQMOD_RX_SCHEME(hybrid) = {
	.base = {
		.name = "hybrid",
		.state_size = sizeof(struct irqmod_hybrid),
		.settings = hybrid_settings,
		.init = rx_hybrid_init,
	},
	.masks = true,
	.pauses = true,
	.tasklet = true,
	.period = true,
	.changed = rx_hybrid_changed,
	.start = rx_hybrid_start,
	.stop = rx_hybrid_stop,
	.irq = rx_hybrid_irq,
	.poll = rx_hybrid_poll,
};
