// SPDX-License-Identifier: GPL-2.0-only
/*
 * NAPI (Documentation/networking/napi.rst): the first frame interrupts, RX is
 * masked, and net_rx_action() polls the ring, rx_weight frames at a time, until
 * it is empty. In an overload the NIC drops the excess at no cost.
 */
#include "napi.h"

/* Masks RX even if the poll is already running in a process (busy polling): it
 * takes the frames, so their interrupts are of no use. Its last poll unmasks RX.
 * In this order, because that poll would not see a mask that follows the prep.
 */
void irqmod_napi_schedule(struct irqmod_queue *queue)
{
	irqmod_rx_mask(queue);
	if (napi_schedule_prep(&queue->napi))
		__napi_schedule(&queue->napi);
}

/* A pass of the poll: returns the frames taken. netpoll polls with a budget of 0:
 * transmit only.
 */
int irqmod_napi_pass(struct irqmod_queue *queue, int budget)
{
	irqmod_tx_rx_reclaim(queue);
	return likely(budget) ? irqmod_rx_pass(queue, budget) : 0;
}

/* The end of a poll in a thread. If such a poll completes and schedules itself, the
 * thread begins the next one without letting another task or RCU have the CPU
 * (napi_threaded_poll_loop()). So the look comes before the completion here. A frame
 * that arrives after the look has a new cause, which interrupts when RX is unmasked.
 */
static int napi_end_in_thread(struct irqmod_queue *queue, int done, int budget)
{
	queue->ops->rx_ack(queue);
	if (queue->ops->rx_pending(queue))
		return budget;
	if (napi_complete_done(&queue->napi, done))
		irqmod_rx_unmask(queue);
	return done;
}

/* The end of a poll that took @done frames; returns what the poll returns. */
int irqmod_napi_end(struct irqmod_queue *queue, int done, int budget)
{
	if (done == budget)
		return budget;		/* more to do: stay on the poll list */

	if (test_bit(NAPI_STATE_THREADED, &queue->napi.state))
		return napi_end_in_thread(queue, done, budget);
	if (napi_complete_done(&queue->napi, done)) {
		queue->ops->rx_ack(queue);
		if (queue->ops->rx_pending(queue))
			napi_schedule(&queue->napi);	/* RX is still masked */
		else
			irqmod_rx_unmask(queue);
	}
	return done;
}

/* A poll that takes no frames, although there may be some: the transmit ring was
 * full, and a packet has left. RX stays masked. Returns what the poll returns.
 */
int irqmod_napi_completions(struct irqmod_queue *queue)
{
	irqmod_tx_rx_reclaim(queue);
	napi_complete_done(&queue->napi, 0);
	return 0;
}

static int rx_napi_poll(struct irqmod_queue *queue, int budget)
{
	return irqmod_napi_end(queue, irqmod_napi_pass(queue, budget), budget);
}

void irqmod_napi_start(struct irqmod_queue *queue)
{
	irqmod_deliver_as_napi(queue);
	queue->rx_deferred = false;
	queue->rx_in_softirq = true;
	queue->rx_merges = true;
}

static bool rx_napi_start(struct irqmod_queue *queue)
{
	irqmod_napi_start(queue);
	return false;
}

static void rx_napi_stop(struct irqmod_queue *queue)
{
	/* The engine has waited for the poll. */
}

IRQMOD_RX_SCHEME(napi) = {
	.base = {
		.name = "napi",
		.preference = 1,
	},
	.masks = true,
	.start = rx_napi_start,
	.stop = rx_napi_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_napi_poll,
};
