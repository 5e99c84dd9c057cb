// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of schemes, and what every queue has of each scheme: its private state.
 */
#include <linux/slab.h>

#include "scheme.h"

const struct irqmod_scheme * const irqmod_rx_schemes[] = {
	&irqmod_rx_adaptive.base,
	&irqmod_rx_aim.base,
	&irqmod_rx_de.base,
#if IS_ENABLED(CONFIG_DIMLIB)
	&irqmod_rx_dim.base,
#endif
	&irqmod_rx_hybrid.base,
	&irqmod_rx_itr.base,
	&irqmod_rx_napi.base,
#ifdef IRQMOD_INSTRUMENTS
	&irqmod_rx_howto.base,
	&irqmod_rx_ifpoll.base,
	&irqmod_rx_interrupt.base,
	&irqmod_rx_polling.base,
	&irqmod_rx_shrink.base,
	&irqmod_rx_standard.base,
	&irqmod_rx_timer.base,
#endif
	NULL
};

const struct irqmod_scheme * const irqmod_tx_schemes[] = {
	&irqmod_tx_coalesce.base,
	&irqmod_tx_interrupt.base,
	&irqmod_tx_off.base,
	&irqmod_tx_poll.base,
#ifdef IRQMOD_INSTRUMENTS
	&irqmod_tx_rate.base,
#endif
	NULL
};

#define SCHEMES	(ARRAY_SIZE(irqmod_rx_schemes) + ARRAY_SIZE(irqmod_tx_schemes) - 2)

/* The @i-th of both tables. */
static const struct irqmod_scheme *scheme_at(unsigned int i)
{
	const unsigned int rx = ARRAY_SIZE(irqmod_rx_schemes) - 1;

	return i < rx ? irqmod_rx_schemes[i] : irqmod_tx_schemes[i - rx];
}

/* A scheme that the port's hardware supports, and that is @adaptive or not; of those the
 * one with the highest preference. NULL: there is none.
 */
const struct irqmod_rx_scheme *irqmod_rx_preferred(const struct irqmod_port *port,
						   bool adaptive)
{
	const struct irqmod_scheme *best = NULL, *rx;
	int i;

	for (i = 0; (rx = irqmod_rx_schemes[i]); i++)
		if (irqmod_rx_of(rx)->adaptive == adaptive && irqmod_can(port, rx->needs) &&
		    (!best || rx->preference > best->preference))
			best = rx;
	return best ? irqmod_rx_of(best) : NULL;
}

/* The same of all. */
const struct irqmod_rx_scheme *irqmod_rx_default(const struct irqmod_port *port)
{
	const struct irqmod_rx_scheme *rx = irqmod_rx_preferred(port, false);
	const struct irqmod_rx_scheme *adaptive = irqmod_rx_preferred(port, true);

	return adaptive && adaptive->base.preference > rx->base.preference ? adaptive : rx;
}

/* The same; one that goes together with @rx. */
const struct irqmod_tx_scheme *irqmod_tx_default(const struct irqmod_port *port,
						 const struct irqmod_rx_scheme *rx)
{
	const struct irqmod_scheme *best = NULL, *tx;
	int i;

	for (i = 0; (tx = irqmod_tx_schemes[i]); i++)
		if (irqmod_can(port, tx->needs) &&
		    (rx->masks || !irqmod_tx_of(tx)->needs_masks) &&
		    (!best || tx->preference > best->preference))
			best = tx;
	return irqmod_tx_of(best);
}

/* The queue's private state of a scheme, also if another one is active; NULL: it has none. */
void *irqmod_state(const struct irqmod_queue *queue, const struct irqmod_scheme *scheme)
{
	unsigned int i;

	for (i = 0; i < SCHEMES; i++)
		if (scheme_at(i) == scheme)
			return queue->states[i];
	return NULL;
}

void irqmod_states_free(struct irqmod_queue *queue)
{
	unsigned int i;

	for (i = 0; queue->states && i < SCHEMES; i++)
		kfree(queue->states[i]);
	kfree(queue->states);
	queue->states = NULL;
}

int irqmod_states_alloc(struct irqmod_queue *queue)
{
	unsigned int i;

	queue->states = kcalloc(SCHEMES, sizeof(*queue->states), GFP_KERNEL);
	if (!queue->states)
		return -ENOMEM;
	for (i = 0; i < SCHEMES; i++) {
		const struct irqmod_scheme *scheme = scheme_at(i);

		if (!scheme->state_size || !irqmod_can(queue->port, scheme->needs))
			continue;
		queue->states[i] = kzalloc(scheme->state_size, GFP_KERNEL);
		if (!queue->states[i]) {
			irqmod_states_free(queue);
			return -ENOMEM;
		}
		if (scheme->init)
			scheme->init(queue, queue->states[i]);
	}
	return 0;
}
