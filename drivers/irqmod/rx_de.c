// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disable-enable (Salah & Qahtan, section 4.1): the handler masks RX, all
 * frames are processed at once and exhaustively, then RX is unmasked.
 *
 * The paper processes in the interrupt handler. Today's kernels do not allow
 * protocol processing in hard IRQ (the stack takes locks with _bh), so it is
 * done at the highest priority that can be deferred, the HI softirq, before
 * timers, transmit and receive softirqs.
 *
 * Exhaustive means for ever under overload, which two kinds of others do not
 * survive. The lower softirqs, among them the one that frees what transmit
 * interrupts hand over: after a ring's worth of frames the tasklet ends and a
 * timer brings it back at once. And the watchdog, RCU and the kernel's own
 * threads: after a quarter of a second's work the timer takes a tick, which is
 * what user processes get as well: what the paper calls starvation. (A second
 * was too long: who slept through one rest had to wait for the next.)
 */
#include <linux/jiffies.h>

#include "scheme.h"

#define DE_WORK_JIFFIES	(HZ / 4)
#define DE_REST_NS	((u64)TICK_NSEC)
#define DE_BREATH_NS	1000
#define DE_PASS		64

void irqmod_de_schedule(struct irqmod_port *port)
{
	port->ops->mask(port, IRQMOD_RX);
	port->rx_rest_at = jiffies + DE_WORK_JIFFIES;
	tasklet_hi_schedule(&port->rx_tasklet);
}

static enum hrtimer_restart de_rested(struct hrtimer *timer)
{
	struct irqmod_port *port = container_of(timer, struct irqmod_port,
						rest_timer);

	tasklet_hi_schedule(&port->rx_tasklet);
	return HRTIMER_NORESTART;
}

static void de_pause(struct irqmod_port *port)
{
	u64 pause_ns = DE_BREATH_NS;

	if (time_after(jiffies, port->rx_rest_at)) {
		pause_ns = DE_REST_NS;
		port->rx_rest_at = jiffies + DE_WORK_JIFFIES;
	}
	hrtimer_start(&port->rest_timer, ns_to_ktime(pause_ns),
		      HRTIMER_MODE_REL);
}

static void de_work(struct tasklet_struct *tasklet)
{
	struct irqmod_port *port = from_tasklet(port, tasklet, rx_tasklet);
	unsigned int frames = 0;

	while (!READ_ONCE(port->rx_stopping)) {
		int taken = irqmod_rx_pass(port, DE_PASS);

		irqmod_tx_rx_reclaim(port);
		if (irqmod_hybrid_wants_napi(port)) {
			irqmod_napi_schedule(port);
			return;
		}
		if (taken) {
			frames += taken;
			if (frames < port->rx_ring)
				continue;
			de_pause(port);
			return;
		}
		port->ops->rx_ack(port);
		if (port->ops->rx_pending(port))
			continue;
		port->ops->unmask(port, IRQMOD_RX);
		return;
	}
}

void irqmod_de_start(struct irqmod_port *port)
{
	port->deliver = irqmod_deliver_stack;
	port->rx_deferred = false;
	port->rx_in_softirq = true;
	hrtimer_init(&port->rest_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	port->rest_timer.function = de_rested;
	tasklet_setup(&port->rx_tasklet, de_work);
}

void irqmod_de_stop(struct irqmod_port *port)
{
	/* The tasklet starts the timer and the timer the tasklet; with
	 * rx_stopping set the tasklet does neither.
	 */
	tasklet_kill(&port->rx_tasklet);
	hrtimer_cancel(&port->rest_timer);
	tasklet_kill(&port->rx_tasklet);
}

const struct irqmod_rx_scheme irqmod_rx_de = {
	.name = "de",
	.needs = IRQMOD_CAP_MASK,
	.start = irqmod_de_start,
	.stop = irqmod_de_stop,
	.irq = irqmod_de_schedule,
};
