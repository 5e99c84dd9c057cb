// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of schemes, and what every queue has of each scheme: its private state.
 */
#include <linux/slab.h>

#include "scheme.h"

const struct irqmod_rx_scheme * const irqmod_rx_schemes[] = {
	&irqmod_rx_adaptive,
	&irqmod_rx_aim,
	&irqmod_rx_de,
#if IS_ENABLED(CONFIG_DIMLIB)
	&irqmod_rx_dim,
#endif
	&irqmod_rx_hybrid,
	&irqmod_rx_itr,
	&irqmod_rx_napi,
#ifdef IRQMOD_INSTRUMENTS
	&irqmod_rx_ifpoll,
	&irqmod_rx_interrupt,
	&irqmod_rx_polling,
	&irqmod_rx_shrink,
	&irqmod_rx_standard,
	&irqmod_rx_timer,
#endif
	NULL
};

const struct irqmod_tx_scheme * const irqmod_tx_schemes[] = {
	&irqmod_tx_coalesce,
	&irqmod_tx_interrupt,
	&irqmod_tx_off,
	&irqmod_tx_poll,
#ifdef IRQMOD_INSTRUMENTS
	&irqmod_tx_rate,
#endif
	NULL
};

#define RX_SCHEMES	(ARRAY_SIZE(irqmod_rx_schemes) - 1)
#define TX_SCHEMES	(ARRAY_SIZE(irqmod_tx_schemes) - 1)

/* A scheme that the port's hardware supports, and that is @adaptive or not; of those the
 * one with the highest preference. NULL: there is none.
 */
const struct irqmod_rx_scheme *irqmod_rx_preferred(const struct irqmod_port *port,
						   bool adaptive)
{
	const struct irqmod_rx_scheme *best = NULL, *rx;
	int i;

	for (i = 0; (rx = irqmod_rx_schemes[i]); i++)
		if (rx->adaptive == adaptive && irqmod_can(port, rx->needs) &&
		    (!best || rx->preference > best->preference))
			best = rx;
	return best;
}

/* The same of all. */
const struct irqmod_rx_scheme *irqmod_rx_default(const struct irqmod_port *port)
{
	const struct irqmod_rx_scheme *rx = irqmod_rx_preferred(port, false);
	const struct irqmod_rx_scheme *adaptive = irqmod_rx_preferred(port, true);

	return adaptive && adaptive->preference > rx->preference ? adaptive : rx;
}

/* The same; one that goes together with @rx. */
const struct irqmod_tx_scheme *irqmod_tx_default(const struct irqmod_port *port,
						 const struct irqmod_rx_scheme *rx)
{
	const struct irqmod_tx_scheme *best = NULL, *tx;
	int i;

	for (i = 0; (tx = irqmod_tx_schemes[i]); i++)
		if (irqmod_can(port, tx->needs) &&
		    (rx->masks || !tx->needs_masks) &&
		    (!best || tx->preference > best->preference))
			best = tx;
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

void *irqmod_tx_state(const struct irqmod_queue *queue,
		      const struct irqmod_tx_scheme *scheme)
{
	int i;

	for (i = 0; irqmod_tx_schemes[i]; i++)
		if (irqmod_tx_schemes[i] == scheme)
			return queue->tx_states[i];
	return NULL;
}

void irqmod_states_free(struct irqmod_queue *queue)
{
	int i;

	/* Those of both directions. */
	for (i = 0; queue->rx_states && i < RX_SCHEMES + TX_SCHEMES; i++)
		kfree(queue->rx_states[i]);
	kfree(queue->rx_states);
	queue->rx_states = NULL;
}

/* Sets *@state up, unless there is nothing to it; false: there is no memory. */
static bool state_alloc(struct irqmod_queue *queue, void **state, size_t size,
			u32 needs,
			void (*init)(struct irqmod_queue *queue, void *state))
{
	if (!size || !irqmod_can(queue->port, needs))
		return true;
	*state = kzalloc(size, GFP_KERNEL);
	if (!*state)
		return false;
	if (init)
		init(queue, *state);
	return true;
}

static bool states_alloc(struct irqmod_queue *queue)
{
	int i;

	for (i = 0; i < RX_SCHEMES; i++) {
		const struct irqmod_rx_scheme *scheme = irqmod_rx_schemes[i];

		if (!state_alloc(queue, &queue->rx_states[i], scheme->state_size,
				 scheme->needs, scheme->init))
			return false;
	}
	for (i = 0; i < TX_SCHEMES; i++) {
		const struct irqmod_tx_scheme *scheme = irqmod_tx_schemes[i];

		if (!state_alloc(queue, &queue->tx_states[i], scheme->state_size,
				 scheme->needs, scheme->init))
			return false;
	}
	return true;
}

int irqmod_states_alloc(struct irqmod_queue *queue)
{
	queue->rx_states = kcalloc(RX_SCHEMES + TX_SCHEMES,
				   sizeof(*queue->rx_states), GFP_KERNEL);
	if (!queue->rx_states)
		return -ENOMEM;
	queue->tx_states = queue->rx_states + RX_SCHEMES;
	if (states_alloc(queue))
		return 0;
	irqmod_states_free(queue);
	return -ENOMEM;
}
