// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of schemes, and what every queue has of each receive scheme: its
 * private state.
 */
#include <linux/slab.h>

#include "scheme.h"

const struct irqmod_rx_scheme * const irqmod_rx_schemes[] = {
	IRQMOD_RX_ADDRESSES, NULL
};

const struct irqmod_tx_scheme * const irqmod_tx_schemes[] = {
	IRQMOD_TX_ADDRESSES, NULL
};

#define RX_SCHEMES	(ARRAY_SIZE(irqmod_rx_schemes) - 1)

/* A scheme that the port's hardware supports, of those the one with the highest
 * preference.
 */
const struct irqmod_rx_scheme *irqmod_rx_default(const struct irqmod_port *port)
{
	const struct irqmod_rx_scheme *best = NULL;
	int i;

	for (i = 0; irqmod_rx_schemes[i]; i++)
		if (irqmod_can(port, irqmod_rx_schemes[i]->needs) &&
		    (!best || irqmod_rx_schemes[i]->preference > best->preference))
			best = irqmod_rx_schemes[i];
	return best;
}

const struct irqmod_tx_scheme *irqmod_tx_default(const struct irqmod_port *port)
{
	const struct irqmod_tx_scheme *best = NULL;
	int i;

	for (i = 0; irqmod_tx_schemes[i]; i++)
		if (irqmod_can(port, irqmod_tx_schemes[i]->needs) &&
		    (!best || irqmod_tx_schemes[i]->preference > best->preference))
			best = irqmod_tx_schemes[i];
	return best;
}

/* The queue's private state of a scheme, also if another one is active. */
void *irqmod_rx_state(const struct irqmod_queue *queue,
		      const struct irqmod_rx_scheme *scheme)
{
	int i;

	for (i = 0; irqmod_rx_schemes[i]; i++)
		if (irqmod_rx_schemes[i] == scheme)
			return queue->rx_states[i];
	return NULL;
}

void irqmod_rx_states_free(struct irqmod_queue *queue)
{
	int i;

	for (i = 0; queue->rx_states && i < RX_SCHEMES; i++)
		kfree(queue->rx_states[i]);
	kfree(queue->rx_states);
	queue->rx_states = NULL;
}

int irqmod_rx_states_alloc(struct irqmod_queue *queue)
{
	int i;

	queue->rx_states = kcalloc(RX_SCHEMES, sizeof(*queue->rx_states),
				   GFP_KERNEL);
	if (!queue->rx_states)
		return -ENOMEM;
	for (i = 0; i < RX_SCHEMES; i++) {
		const struct irqmod_rx_scheme *scheme = irqmod_rx_schemes[i];

		if (!scheme->state_size || !irqmod_can(queue->port, scheme->needs))
			continue;
		queue->rx_states[i] = kzalloc(scheme->state_size, GFP_KERNEL);
		if (!queue->rx_states[i]) {
			irqmod_rx_states_free(queue);
			return -ENOMEM;
		}
		scheme->init(queue, queue->rx_states[i]);
	}
	return 0;
}
