// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive: disable-enable while receiving leaves enough CPU time to processes,
 * paced by a timer otherwise. There are no settings.
 *
 * The driver cannot see the queues behind it, but it can see what each run of
 * its tasklet interrupts. If most runs of a window interrupt a process, the
 * CPU is wanted elsewhere; if the runs then take more than half of the CPU,
 * receiving costs too much. RX then stays masked, and a timer starts the next
 * run, with an increasing period: frames that are taken together cost less, and
 * they wake the receiving process only once.
 *
 * If the ring is too small for a longer period, the number of frames per run is
 * limited, and the NIC drops the excess at no cost. The best limit is the number
 * of frames that the process has just finished when the next run starts. With
 * more frames, the excess is dropped at the socket after its full processing
 * cost; with fewer, the CPU goes idle. Each run sees from what it interrupts
 * which of the two is the case, and lowers or raises the limit by one frame.
 * Receiving is guaranteed 3/8 of the CPU, because the process that wants the
 * CPU may not be waiting for frames. On a router no process wants the CPU, so
 * receiving is not paced.
 *
 * The shares of a CPU are those of all queues with this scheme on it together.
 */
#include <linux/math64.h>
#include <linux/sched/clock.h>

#include "de.h"

#define ADAPTIVE_PASS		64
#define ADAPTIVE_PERIOD_MIN_NS	(32 * NSEC_PER_USEC)
/* Longer periods save almost nothing and fill the sockets. */
#define ADAPTIVE_PERIOD_MAX_NS	(500 * NSEC_PER_USEC)
#define ADAPTIVE_WORK_JIFFIES	(HZ / 8)	/* then a long pause: kernel threads */
#define ADAPTIVE_WINDOW_NS	(8 * NSEC_PER_MSEC)
#define ADAPTIVE_OLD_WINDOWS	8	/* older state is discarded */

struct irqmod_adaptive {
	struct irqmod_de de;	/* its timer also starts the next run */
	/* Written by @irq without a lock, also during a run: at worst one
	 * window is measured wrong (on 32-bit, a torn time).
	 */
	u64 irq_at_ns;		/* interrupt that started this run; 0: timer */
	u64 window_at_ns;	/* start of this window */
	u64 busy_ns;		/* time spent receiving in this window */
	u64 all_at_ns;		/* busy_ns of all queues, when it began */
	int cpu;		/* where it began */
	u32 frames;
	u32 runs;
	u32 wanted;		/* runs that interrupted a process */
	u32 bounded;		/* runs that left frames on the ring */
	u32 period_ns;		/* 0: interrupts */
	u32 allowance;		/* frame limit of a run; ring size: no limit */
	u32 least;		/* lowest limit: takes 3/8 of the CPU */
	bool left;		/* the last run left frames on the ring */
};

/* Of all queues with this scheme on a CPU. */
struct adaptive_cpu {
	u64 busy_ns;	/* time spent receiving */
	u64 ended_ns;	/* end of the last run */
};

static DEFINE_PER_CPU(struct adaptive_cpu, adaptive_cpu);

/* Time that all queues on this CPU spent receiving in this window. */
static u64 adaptive_busy_ns(const struct irqmod_adaptive *a)
{
	return a->cpu == smp_processor_id() ?
	       this_cpu_ptr(&adaptive_cpu)->busy_ns - a->all_at_ns : a->busy_ns;
}

/* A window begins. */
static void adaptive_renew(struct irqmod_adaptive *a, u64 now)
{
	a->window_at_ns = now;
	a->busy_ns = 0;
	a->cpu = smp_processor_id();
	a->all_at_ns = this_cpu_ptr(&adaptive_cpu)->busy_ns;
	a->frames = 0;
	a->runs = 0;
	a->wanted = 0;
	a->bounded = 0;
}

/* The time in which half the ring fills at the rate of this window. */
static u32 adaptive_longest_ns(const struct irqmod_queue *queue,
			       const struct irqmod_adaptive *a, u64 elapsed_ns)
{
	u64 period_ns = div_u64(elapsed_ns * (queue->rx_ring / 2),
				a->frames ?: 1);

	return min_t(u64, period_ns, ADAPTIVE_PERIOD_MAX_NS);
}

/* The number of frames that take as long as the period: half of the CPU, with those
 * that other queues take.
 */
static u32 adaptive_half_cpu(const struct irqmod_queue *queue,
			     const struct irqmod_adaptive *a)
{
	u64 frames = div64_u64((u64)a->period_ns * a->frames,
			       adaptive_busy_ns(a) ?: 1);

	return clamp_t(u64, frames, 1, queue->rx_ring);
}

static void adaptive_adapt(struct irqmod_queue *queue,
			   struct irqmod_adaptive *a, u64 now)
{
	u64 elapsed_ns = now - a->window_at_ns;
	bool wanted = a->wanted * 2 > a->runs;
	u32 longest = adaptive_longest_ns(queue, a, elapsed_ns);
	u64 busy_ns = adaptive_busy_ns(a);

	if (elapsed_ns > ADAPTIVE_OLD_WINDOWS * ADAPTIVE_WINDOW_NS) {
		a->period_ns = 0;
		a->allowance = queue->rx_ring;
	} else if (a->allowance < queue->rx_ring) {
		a->least = adaptive_half_cpu(queue, a) * 3 / 5;
		if (!a->bounded)
			a->allowance = queue->rx_ring;
	} else if (wanted && busy_ns * 2 > elapsed_ns) {
		if (a->period_ns < longest)
			a->period_ns = min_t(u32, longest,
					     max_t(u32, a->period_ns * 2,
						   ADAPTIVE_PERIOD_MIN_NS));
		else
			a->allowance = adaptive_half_cpu(queue, a);
	} else if (!wanted || busy_ns * 4 < elapsed_ns) {
		a->period_ns /= 2;
		if (a->period_ns < ADAPTIVE_PERIOD_MIN_NS)
			a->period_ns = 0;
	}
	adaptive_renew(a, now);
}

/* Called at the start of a run: returns its frame limit. */
static u32 adaptive_limit(const struct irqmod_queue *queue,
			  struct irqmod_adaptive *a, bool wanted)
{
	if (a->allowance == queue->rx_ring)
		return a->allowance;
	if (!wanted)
		a->allowance++;
	else if (a->allowance > max_t(u32, 1, a->least))
		a->allowance--;
	return a->allowance;
}

static void adaptive_work(struct tasklet_struct *tasklet)
{
	struct irqmod_de *de = from_tasklet(de, tasklet, tasklet);
	struct irqmod_adaptive *a = container_of(de, struct irqmod_adaptive, de);
	struct irqmod_queue *queue = de->queue;
	struct adaptive_cpu *cpu = this_cpu_ptr(&adaptive_cpu);
	unsigned int frames = 0, most;
	bool wanted = irqmod_cpu_wanted();
	bool empty = false;
	u64 now, began;

	if (irqmod_de_rests(de))
		return;
	began = READ_ONCE(a->irq_at_ns) ?: local_clock();
	WRITE_ONCE(a->irq_at_ns, 0);
	/* It may have waited for another queue's. */
	began = max(began, cpu->ended_ns);
	a->runs++;
	a->wanted += wanted;
	most = adaptive_limit(queue, a, wanted);
	while (!READ_ONCE(queue->rx_stopping) && frames < most) {
		int budget = min(ADAPTIVE_PASS, (int)(most - frames));
		int taken = irqmod_rx_pass(queue, budget);

		irqmod_tx_rx_reclaim(queue);
		frames += taken;
		empty = taken < budget;
		/* The ring may have overflowed. A pass without frames tells
		 * the driver to see whether its receiver has stopped.
		 */
		if (empty && !(a->left && taken))
			break;
	}
	a->left = !empty;
	if (READ_ONCE(queue->rx_stopping))
		return;

	now = local_clock();
	/* The interrupt may have been taken by another CPU, whose clock is ahead. */
	began = min(began, now);
	a->busy_ns += now - began;
	cpu->busy_ns += now - began;
	cpu->ended_ns = now;
	a->frames += frames;
	a->bounded += !empty;
	if (now - a->window_at_ns >= ADAPTIVE_WINDOW_NS)
		adaptive_adapt(queue, a, now);

	if (a->period_ns && frames)
		irqmod_de_pause(de, a->period_ns);
	else if (!empty)
		irqmod_de_pause(de, IRQMOD_DE_BREATH_NS);
	else if (!irqmod_de_end(de))
		tasklet_hi_schedule(&de->tasklet);
}

static void rx_adaptive_irq(struct irqmod_queue *queue)
{
	struct irqmod_adaptive *a = queue->rx_state;

	/* Otherwise it is a TX cause, which neither begins nor prolongs the work. */
	if (!READ_ONCE(a->de.busy))
		WRITE_ONCE(a->irq_at_ns, local_clock());
	irqmod_de_schedule(&a->de);
}

static void rx_adaptive_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_adaptive *a = state;

	irqmod_de_init(&a->de, queue, adaptive_work);
	a->de.work_jiffies = ADAPTIVE_WORK_JIFFIES;
}

static bool rx_adaptive_start(struct irqmod_queue *queue)
{
	struct irqmod_adaptive *a = queue->rx_state;

	a->irq_at_ns = 0;
	a->period_ns = 0;
	a->least = 0;
	a->left = false;
	local_bh_disable();
	adaptive_renew(a, local_clock());
	local_bh_enable();
	a->allowance = queue->rx_ring;
	irqmod_de_start(&a->de);
	return false;
}

static void rx_adaptive_stop(struct irqmod_queue *queue)
{
	struct irqmod_adaptive *a = queue->rx_state;

	irqmod_de_stop(&a->de);
}

IRQMOD_RX_SCHEME(adaptive) = {
	.base = {
		.name = "adaptive",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_adaptive),
		.init = rx_adaptive_init,
	},
	.masks = true,
	.pauses = true,
	.tasklet = true,
	.start = rx_adaptive_start,
	.stop = rx_adaptive_stop,
	.irq = rx_adaptive_irq,
};
