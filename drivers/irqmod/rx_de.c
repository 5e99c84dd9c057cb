// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disable-enable (Salah & Qahtan, section 4.1): the handler masks RX, all
 * frames are processed until the ring is empty, then RX is unmasked.
 *
 * The paper processes frames in the interrupt handler. Current kernels do not
 * allow protocol processing in hard IRQ (the stack takes locks with _bh), so
 * the HI softirq does it: the deferred context of the highest priority, which
 * runs before the timer, transmit and receive softirqs.
 *
 * Under overload the ring never becomes empty, which would starve two groups.
 * The first are the lower softirqs, including the one that frees the skbs of TX
 * interrupts: after as many frames as the ring holds, the tasklet ends and a
 * timer restarts it immediately. The second are the watchdog, RCU and kernel
 * threads: after a quarter of a second, the timer waits for one tick. User
 * processes only get these ticks, which is what the paper calls starvation.
 * (One second was too long: a task that missed one pause had to wait for the
 * next.)
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
	hrtimer_setup(&port->rest_timer, de_rested, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
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
