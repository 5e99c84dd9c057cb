// SPDX-License-Identifier: GPL-2.0-only
/*
 * NAPI (Documentation/networking/napi.rst): the first frame interrupts, RX is
 * masked, and net_rx_action() polls the ring, rx_weight frames at a time, until
 * it is empty. In an overload the NIC drops the excess at no cost.
 */
#include "scheme.h"

/* Masks RX even if the poll is already running in a process (busy polling): it
 * takes the frames, so their interrupts are of no use. Its last poll unmasks RX.
 * In this order, because that poll would not see a mask that follows the prep.
 */
void irqmod_napi_schedule(struct irqmod_port *port)
{
	port->ops->mask(port, IRQMOD_RX);
	if (napi_schedule_prep(&port->napi))
		__napi_schedule(&port->napi);
}

int irqmod_napi_poll(struct napi_struct *napi, int budget)
{
	struct irqmod_port *port = container_of(napi, struct irqmod_port, napi);
	int done;

	irqmod_tx_rx_reclaim(port);
	/* netpoll polls with a budget of 0: transmit only. */
	if (unlikely(!budget))
		return 0;

	done = irqmod_rx_pass(port, budget);
	if (irqmod_hybrid_wants_de(port)) {
		if (napi_complete_done(napi, min(done, budget - 1)))
			irqmod_de_schedule(port);
		return min(done, budget - 1);
	}
	if (done == budget)
		return budget;		/* more to do: stay on the poll list */

	if (napi_complete_done(napi, done)) {
		port->ops->rx_ack(port);
		if (port->ops->rx_pending(port))
			napi_schedule(napi);	/* RX is still masked */
		else
			port->ops->unmask(port, IRQMOD_RX);
	}
	return done;
}

static void rx_napi_start(struct irqmod_port *port)
{
	irqmod_deliver_as_napi(port);
	port->rx_deferred = false;
	port->rx_in_softirq = true;
	port->rx_merges = true;
	port->napi.weight = port->rx_weight;
	napi_enable(&port->napi);
}

/* napi_disable() does not wait for what a poll on another CPU does after
 * napi_complete_done(): it still looks at the ring and unmasks RX. Polls run
 * with BH disabled, for which RCU waits.
 */
void irqmod_napi_stop(struct irqmod_port *port)
{
	napi_disable(&port->napi);
	synchronize_net();
}

static void rx_napi_stop(struct irqmod_port *port)
{
	irqmod_napi_stop(port);
	port->rx_merges = false;
}

const struct irqmod_rx_scheme irqmod_rx_napi = {
	.name = "napi",
	.start = rx_napi_start,
	.stop = rx_napi_stop,
	.irq = irqmod_napi_schedule,
};
