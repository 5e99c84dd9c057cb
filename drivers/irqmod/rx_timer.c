// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timer-driven polling: there are no receive interrupts. A timer polls the ring
 * in hard IRQ and queues the frames on the backlog. A tasklet, which runs after
 * the receive softirq, refills the ring later.
 *
 * A pass takes no more frames than the backlog has room for. The others stay on
 * the ring, and the NIC drops the excess at no cost.
 *
 * rx_timer_without disables one part of this, to measure its benefit. irq_off:
 * the receive interrupt does the work of the timer. top_half: the timer polls
 * in softirq. backlog: frames go directly to the stack, also in softirq.
 * refill: the ring is refilled at once.
 */
#include "scheme.h"

#define WIRE_FRAME_BITS	672	/* the shortest, with preamble and gap */

/* The user's setting, or the time in which frames at line rate fill half the
 * ring. The other half holds the frames that arrive while the softirq runs or
 * when the timer is late.
 */
unsigned int irqmod_rx_usecs(const struct irqmod_port *port)
{
	return port->rx_usecs ?:
	       clamp(port->rx_ring / 2 * WIRE_FRAME_BITS / port->wire_mbps,
		     (unsigned int)IRQMOD_USECS_MIN,
		     (unsigned int)IRQMOD_USECS_MAX);
}

/* The setting or the ring changed; under RTNL. */
void irqmod_timer_configure(struct irqmod_port *port)
{
	WRITE_ONCE(port->rx_period, irqmod_ktime(irqmod_rx_usecs(port)));
}

const char * const irqmod_timer_measures[] = {
	[IRQMOD_WITHOUT_NOTHING] = "nothing",
	[IRQMOD_WITHOUT_IRQ_OFF] = "irq_off",
	[IRQMOD_WITHOUT_TOP_HALF] = "top_half",
	[IRQMOD_WITHOUT_BACKLOG] = "backlog",
	[IRQMOD_WITHOUT_REFILL] = "refill",
	NULL
};

static int backlog_room(void)
{
	const struct softnet_data *sd = this_cpu_ptr(&softnet_data);

	return irqmod_max_backlog() -
	       (int)skb_queue_len_lockless(&sd->input_pkt_queue);
}

static void rx_timer_pass(struct irqmod_port *port, int budget)
{
	irqmod_rx_pass(port, budget);
	if (port->rx_deferred)
		tasklet_schedule(&port->rx_tasklet);
}

static enum hrtimer_restart rx_timer_poll(struct hrtimer *timer)
{
	struct irqmod_port *port = container_of(timer, struct irqmod_port,
						rx_timer);
	int room = port->rx_ring;

	if (port->rx_without != IRQMOD_WITHOUT_BACKLOG)
		room = min(room, backlog_room());
	if (room > 0)
		rx_timer_pass(port, room);
	hrtimer_forward_now(timer, READ_ONCE(port->rx_period));
	return HRTIMER_RESTART;
}

static void rx_timer_refill(struct tasklet_struct *tasklet)
{
	struct irqmod_port *port = from_tasklet(port, tasklet, rx_tasklet);

	port->ops->rx_refill(port);
}

static void rx_timer_start(struct irqmod_port *port)
{
	bool direct = port->rx_without == IRQMOD_WITHOUT_BACKLOG;
	bool soft = direct || port->rx_without == IRQMOD_WITHOUT_TOP_HALF;
	/* Not REL_HARD: the stack must not be entered in hard IRQ under
	 * PREEMPT_RT, which runs timers of mode REL in softirq.
	 */
	enum hrtimer_mode mode = soft ? HRTIMER_MODE_REL_SOFT
				      : HRTIMER_MODE_REL;

	port->deliver = direct ? irqmod_deliver_stack : irqmod_deliver_backlog;
	port->rx_deferred = port->rx_without != IRQMOD_WITHOUT_REFILL;
	port->rx_in_softirq = direct;
	port->rx_open = false;
	tasklet_setup(&port->rx_tasklet, rx_timer_refill);
	hrtimer_setup(&port->rx_timer, rx_timer_poll, CLOCK_MONOTONIC, mode);
	if (port->rx_without != IRQMOD_WITHOUT_IRQ_OFF)
		hrtimer_start(&port->rx_timer, port->rx_period, mode);
}

static void rx_timer_stop(struct irqmod_port *port)
{
	hrtimer_cancel(&port->rx_timer);
	tasklet_kill(&port->rx_tasklet);
	port->ops->rx_refill(port);
}

static void rx_timer_irq(struct irqmod_port *port)
{
	/* The cause was latched before RX was masked; the timer will poll. */
	if (likely(port->rx_without != IRQMOD_WITHOUT_IRQ_OFF))
		return;
	rx_timer_pass(port, port->rx_ring);
	if (!port->rx_open) {
		port->rx_open = true;
		port->ops->unmask(port, IRQMOD_RX);
	}
}

const struct irqmod_rx_scheme irqmod_rx_timer = {
	.name = "timer",
	.start = rx_timer_start,
	.stop = rx_timer_stop,
	.irq = rx_timer_irq,
};
