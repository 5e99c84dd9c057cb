// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hybrid (Salah & Qahtan): disable-enable below the cliff, NAPI above it. The
 * packet rate is estimated every rx_rate_window_ms. Two thresholds around the
 * cliff avoid constant switching at a load that fluctuates around it.
 *
 * The context that runs while RX is masked, DE's tasklet or NAPI's poll, owns
 * the ring. When it finds that the scheme has changed, it schedules the other.
 * Frames carry no NAPI ID, so that no process polls the ring while DE owns it.
 */
#include <linux/slab.h>

#include "scheme.h"
#include "estimator.h"

struct irqmod_hybrid {
	struct estimator estimator;
	ktime_t window;
	bool asked;		/* rx_count() called, result pending */
	bool counting;		/* first count received: a window has begun */
};

static bool hybrid(const struct irqmod_port *port)
{
	return port->rx == &irqmod_rx_hybrid;
}

bool irqmod_hybrid_wants_napi(struct irqmod_port *port)
{
	return hybrid(port) && READ_ONCE(port->hybrid->estimator.above);
}

bool irqmod_hybrid_wants_de(struct irqmod_port *port)
{
	return hybrid(port) && !READ_ONCE(port->hybrid->estimator.above);
}

static enum hrtimer_restart hybrid_window(struct hrtimer *timer)
{
	struct irqmod_port *port = container_of(timer, struct irqmod_port,
						rx_timer);
	struct irqmod_hybrid *h = port->hybrid;
	const struct irqmod_ops *ops = port->ops;
	u32 arrived;

	if (ops->rx_count && !h->asked) {
		ops->rx_count(port);
		h->asked = true;
		hrtimer_add_expires_ns(timer, IRQMOD_COUNT_NS);
		return HRTIMER_RESTART;
	}
	arrived = ops->rx_arrived ? ops->rx_arrived(port)
				  : READ_ONCE(port->rx_frames);
	if (!h->counting) {
		estimator_start(&h->estimator, arrived);
		h->counting = true;
	} else if (estimator_window(&h->estimator, arrived)) {
		u64_stats_update_begin(&port->irq_stats.syncp);
		u64_stats_inc(&port->irq_stats.switches);
		u64_stats_update_end(&port->irq_stats.syncp);
	}
	hrtimer_forward_now(timer, h->asked ? ktime_sub_ns(h->window, IRQMOD_COUNT_NS)
					    : h->window);
	h->asked = false;
	return HRTIMER_RESTART;
}

u32 irqmod_hybrid_rate_pps(struct irqmod_port *port)
{
	return estimator_rate_pps(&port->hybrid->estimator,
				  port->rx_rate_window_ms);
}

/* A setting changed; under RTNL. Takes effect with the next window. */
void irqmod_hybrid_configure(struct irqmod_port *port)
{
	struct irqmod_hybrid *h = port->hybrid;

	estimator_configure(&h->estimator, port->rx_cliff_pps,
			    port->rx_epsilon_permille, port->rx_rate_window_ms);
	h->window = ms_to_ktime(port->rx_rate_window_ms);
}

int irqmod_hybrid_init(struct irqmod_port *port)
{
	port->hybrid = kzalloc(sizeof(*port->hybrid), GFP_KERNEL);
	if (!port->hybrid)
		return -ENOMEM;
	irqmod_hybrid_configure(port);
	return 0;
}

void irqmod_hybrid_free(struct irqmod_port *port)
{
	kfree(port->hybrid);
	port->hybrid = NULL;
}

static void rx_hybrid_start(struct irqmod_port *port)
{
	struct irqmod_hybrid *h = port->hybrid;

	estimator_start(&h->estimator, 0);
	h->asked = false;
	h->counting = false;
	irqmod_napi_renew(port, irqmod_napi_poll);
	port->napi.weight = port->rx_weight;
	napi_enable(&port->napi);
	irqmod_de_start(port);
	hrtimer_setup(&port->rx_timer, hybrid_window, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	hrtimer_start(&port->rx_timer, h->window, HRTIMER_MODE_REL);
}

static void rx_hybrid_stop(struct irqmod_port *port)
{
	hrtimer_cancel(&port->rx_timer);
	/* The tasklet may schedule the poll and the poll the tasklet. Once
	 * the poll is disabled, neither can restart the other.
	 */
	irqmod_napi_stop(port);
	irqmod_de_stop(port);
}

static void rx_hybrid_irq(struct irqmod_port *port)
{
	if (READ_ONCE(port->hybrid->estimator.above))
		irqmod_napi_schedule(port);
	else
		irqmod_de_schedule(port);
}

const struct irqmod_rx_scheme irqmod_rx_hybrid = {
	.name = "hybrid",
	.start = rx_hybrid_start,
	.stop = rx_hybrid_stop,
	.irq = rx_hybrid_irq,
};
