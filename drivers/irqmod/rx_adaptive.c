// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive: disable-enable as long as receiving leaves the others their CPU
 * time, and paced by a timer when it does not. Nothing is to be set.
 *
 * The driver cannot see the queues of those it serves, but it can see whom it
 * interrupts. If most runs interrupt a process, somebody wants the CPU; if the
 * runs of a window take more than half of it then, receiving is too dear. So
 * RX stays masked and a timer brings the next run, later and later: frames
 * that are taken together cost less, and wake the receiver once. If the ring
 * bears no longer period, a run is bounded, and the NIC drops what is too
 * much, at no cost. A router's CPU is wanted by nobody else: it is not paced.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>

#include "scheme.h"

#define ADAPTIVE_PASS		64
#define ADAPTIVE_PERIOD_MIN_NS	(32 * NSEC_PER_USEC)
/* Longer ones save next to nothing, and fill the sockets behind the ring. */
#define ADAPTIVE_PERIOD_MAX_NS	(500 * NSEC_PER_USEC)
#define ADAPTIVE_BREATH_NS	1000
#define ADAPTIVE_WORK_JIFFIES	HZ	/* then a tick's rest, as in rx_de.c */
#define ADAPTIVE_REST_NS	((u64)TICK_NSEC)
#define ADAPTIVE_OLD_WINDOWS	8	/* what was learnt so long ago is void */

struct irqmod_adaptive {
	u64 irq_at_ns;		/* of the interrupt that began this run; 0: none */
	u64 window_at_ns;
	u64 busy_ns;		/* of this window */
	u32 frames;
	u32 runs;
	u32 wanted;		/* runs that interrupted a process */
	u32 period_ns;		/* 0: interrupts */
	u32 allowance;		/* frames a run may take */
};

int irqmod_adaptive_init(struct irqmod_port *port)
{
	port->adaptive = kzalloc(sizeof(*port->adaptive), GFP_KERNEL);
	return port->adaptive ? 0 : -ENOMEM;
}

void irqmod_adaptive_free(struct irqmod_port *port)
{
	kfree(port->adaptive);
	port->adaptive = NULL;
}

/* Whether the one interrupted is a process that does work of its own. Runs in
 * ksoftirqd interrupt nobody: then it is whether anybody else waits.
 */
static bool cpu_wanted(void)
{
	if (is_idle_task(current))
		return false;
	if (current->flags & PF_KTHREAD)
		return !single_task_running();
	return current->policy != SCHED_IDLE;
}

/* The period in which half the ring fills, at the rate of this window. */
static u32 longest_period(const struct irqmod_port *port,
			  const struct irqmod_adaptive *a, u64 elapsed_ns)
{
	u64 period_ns = div_u64(elapsed_ns * (port->rx_ring / 2),
				a->frames ?: 1);

	return min_t(u64, period_ns, ADAPTIVE_PERIOD_MAX_NS);
}

static void adapt(struct irqmod_port *port, struct irqmod_adaptive *a, u64 now)
{
	u64 elapsed_ns = now - a->window_at_ns;
	bool wanted = a->wanted * 2 > a->runs;
	u32 longest = longest_period(port, a, elapsed_ns);

	if (elapsed_ns > (u64)ADAPTIVE_OLD_WINDOWS * port->rx_rate_window_ms *
			 NSEC_PER_MSEC) {
		a->period_ns = 0;
		a->allowance = port->rx_ring;
	} else if (wanted && a->busy_ns * 2 > elapsed_ns) {
		if (a->period_ns < longest)
			a->period_ns = min_t(u32, longest,
					     max_t(u32, a->period_ns * 2,
						   ADAPTIVE_PERIOD_MIN_NS));
		else	/* towards 7/16, which is in the band below */
			a->allowance = max_t(u64, 1,
					     div64_u64(elapsed_ns * a->frames * 7,
						       a->busy_ns * a->runs * 16));
	} else if (!wanted || a->busy_ns * 4 < elapsed_ns) {
		if (a->allowance < port->rx_ring)
			a->allowance = min(a->allowance * 2, port->rx_ring);
		else
			a->period_ns /= 2;
		if (a->period_ns < ADAPTIVE_PERIOD_MIN_NS)
			a->period_ns = 0;
	}
	a->window_at_ns = now;
	a->busy_ns = 0;
	a->frames = 0;
	a->runs = 0;
	a->wanted = 0;
}

static void later(struct irqmod_port *port, u64 ns)
{
	if (time_after(jiffies, port->rx_rest_at)) {
		ns = max(ns, ADAPTIVE_REST_NS);
		port->rx_rest_at = jiffies + ADAPTIVE_WORK_JIFFIES;
	}
	hrtimer_start(&port->rest_timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
}

static enum hrtimer_restart adaptive_timer(struct hrtimer *timer)
{
	struct irqmod_port *port = container_of(timer, struct irqmod_port,
						rest_timer);

	tasklet_hi_schedule(&port->rx_tasklet);
	return HRTIMER_NORESTART;
}

static void adaptive_work(struct tasklet_struct *tasklet)
{
	struct irqmod_port *port = from_tasklet(port, tasklet, rx_tasklet);
	struct irqmod_adaptive *a = port->adaptive;
	u64 now, began = a->irq_at_ns ?: local_clock();
	unsigned int frames = 0;
	bool empty = false;

	a->irq_at_ns = 0;
	a->runs++;
	a->wanted += cpu_wanted();
	while (!READ_ONCE(port->rx_stopping) && frames < a->allowance) {
		int budget = min(ADAPTIVE_PASS, (int)(a->allowance - frames));
		int taken = irqmod_rx_pass(port, budget);

		irqmod_tx_rx_reclaim(port);
		frames += taken;
		empty = taken < budget;
		if (empty)
			break;
	}
	if (READ_ONCE(port->rx_stopping))
		return;

	now = local_clock();
	a->busy_ns += now - began;
	a->frames += frames;
	if (now - a->window_at_ns >= (u64)port->rx_rate_window_ms * NSEC_PER_MSEC)
		adapt(port, a, now);

	if (a->period_ns && frames) {
		later(port, a->period_ns);
	} else if (!empty) {
		later(port, ADAPTIVE_BREATH_NS);
	} else {
		port->ops->rx_ack(port);
		if (port->ops->rx_pending(port))
			tasklet_hi_schedule(&port->rx_tasklet);
		else
			port->ops->unmask(port, IRQMOD_RX);
	}
}

static void rx_adaptive_irq(struct irqmod_port *port)
{
	port->ops->mask(port, IRQMOD_RX);
	port->adaptive->irq_at_ns = local_clock();
	port->rx_rest_at = jiffies + ADAPTIVE_WORK_JIFFIES;
	tasklet_hi_schedule(&port->rx_tasklet);
}

static void rx_adaptive_start(struct irqmod_port *port)
{
	struct irqmod_adaptive *a = port->adaptive;

	memset(a, 0, sizeof(*a));
	a->window_at_ns = local_clock();
	a->allowance = port->rx_ring;
	port->deliver = irqmod_deliver_stack;
	port->rx_deferred = false;
	port->rx_in_softirq = true;
	hrtimer_init(&port->rest_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	port->rest_timer.function = adaptive_timer;
	tasklet_setup(&port->rx_tasklet, adaptive_work);
}

const struct irqmod_rx_scheme irqmod_rx_adaptive = {
	.name = "adaptive",
	.needs = IRQMOD_CAP_MASK,
	.start = rx_adaptive_start,
	.stop = irqmod_de_stop,
	.irq = rx_adaptive_irq,
};
