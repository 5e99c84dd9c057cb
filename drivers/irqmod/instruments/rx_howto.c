// SPDX-License-Identifier: GPL-2.0-only
/*
 * NAPI as NAPI_HOWTO.txt of Linux 2.6 has it: the poll does not refill the ring at once,
 * but when more than half of it is empty. If there is no memory then, RX stays masked, and
 * a timer starts the next poll (restart_timer() there): a chip without descriptors may
 * have no frame left to interrupt for. For comparison: ours replace each buffer when they
 * take its frame, or drop the frame, so that the ring never runs dry.
 */
#include "napi.h"

#define HOWTO_RESTART_NS	((u64)TICK_NSEC)

struct irqmod_howto {
	struct irqmod_queue *queue;
	struct hrtimer timer;		/* the next poll, for want of memory */
	unsigned int emptied;		/* descriptors, since the last refill */
};

static enum hrtimer_restart howto_restart(struct hrtimer *timer)
{
	struct irqmod_howto *h = container_of(timer, struct irqmod_howto, timer);

	napi_schedule(&h->queue->napi);		/* RX is still masked */
	return HRTIMER_NORESTART;
}

static int rx_howto_poll(struct irqmod_queue *queue, int budget)
{
	struct irqmod_howto *h = queue->rx_state;
	bool dry = false;
	int done;

	done = irqmod_napi_pass(queue, budget);
	if (unlikely(!budget))
		return 0;
	h->emptied += done;
	if (h->emptied > queue->rx_ring / 2) {
		dry = !irqmod_timer_refill(queue);
		if (!dry)
			h->emptied = 0;
	}
	if (!dry || done == budget)
		return irqmod_napi_end(queue, done, budget);
	if (napi_complete_done(&queue->napi, done))
		hrtimer_start(&h->timer, ns_to_ktime(HOWTO_RESTART_NS),
			      HRTIMER_MODE_REL_PINNED);
	return done;
}

static void rx_howto_init(struct irqmod_queue *queue, void *state)
{
	struct irqmod_howto *h = state;

	h->queue = queue;
	hrtimer_setup(&h->timer, howto_restart, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
}

static bool rx_howto_start(struct irqmod_queue *queue)
{
	struct irqmod_howto *h = queue->rx_state;

	h->emptied = 0;
	irqmod_napi_start(queue);
	queue->rx_deferred = true;
	return false;
}

static void rx_howto_stop(struct irqmod_queue *queue)
{
	struct irqmod_howto *h = queue->rx_state;

	/* Only polls start it, and there are none any more. */
	hrtimer_cancel(&h->timer);
	queue->ops->rx_refill(queue);
}

IRQMOD_RX_SCHEME(howto) = {
	.base = {
		.name = "howto",
		.needs = IRQMOD_CAP_MASK,
		.state_size = sizeof(struct irqmod_howto),
		.init = rx_howto_init,
	},
	.masks = true,
	.pauses = true,
	.start = rx_howto_start,
	.stop = rx_howto_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_howto_poll,
};
