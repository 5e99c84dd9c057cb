/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface between the engine and a scheme. A scheme is one file and one
 * table entry.
 */
#ifndef IRQMOD_SCHEME_H
#define IRQMOD_SCHEME_H

#include "irqmod.h"
#include "../compat.h"

struct irqmod_rx_scheme {
	const char *name;
	u32 needs;		/* required IRQMOD_CAP_; else EOPNOTSUPP */

	/* Called under RTNL with RX masked and no receive work in progress.
	 * After start() the engine calls irq() once, as if a frame had
	 * arrived: the scheme takes what is on the ring and unmasks RX as
	 * usual. If the scheme never masks RX, the engine unmasks it.
	 */
	void (*start)(struct irqmod_port *port);
	bool never_masks;
	/* Called with rx_stopping set and RX masked; returns when no receive
	 * work is in progress.
	 */
	void (*stop)(struct irqmod_port *port);
	/* Called in hard IRQ for an RX cause; by the engine, after start(),
	 * with only BH disabled. Under PREEMPT_RT interrupts are never
	 * disabled. RX is masked, or this is its handler: it does not run
	 * twice at a time.
	 */
	void (*irq)(struct irqmod_port *port);
};

struct irqmod_tx_scheme {
	const char *name;
	u32 needs;

	/* Sets the port's tx_ flags. Called with the transmit queue locked. */
	void (*start)(struct irqmod_port *port);
	/* True: reclaims in hard IRQ under tx_lock. False: reclaims under the
	 * queue's lock.
	 */
	bool in_irq;
	/* Called in hard IRQ for a TX cause. */
	void (*irq)(struct irqmod_port *port);
};

extern const struct irqmod_rx_scheme irqmod_rx_interrupt;
extern const struct irqmod_rx_scheme irqmod_rx_de;
extern const struct irqmod_rx_scheme irqmod_rx_napi;
extern const struct irqmod_rx_scheme irqmod_rx_hybrid;
extern const struct irqmod_rx_scheme irqmod_rx_timer;
extern const struct irqmod_rx_scheme irqmod_rx_adaptive;
extern const struct irqmod_rx_scheme irqmod_rx_standard;
extern const struct irqmod_rx_scheme * const irqmod_rx_schemes[];

extern const struct irqmod_tx_scheme irqmod_tx_interrupt;
extern const struct irqmod_tx_scheme irqmod_tx_coalesce;
extern const struct irqmod_tx_scheme irqmod_tx_off;
extern const struct irqmod_tx_scheme * const irqmod_tx_schemes[];

/* Limits of rx-usecs and tx-usecs. */
#define IRQMOD_USECS_MIN	10
#define IRQMOD_USECS_MAX	100000

static inline ktime_t irqmod_ktime(unsigned int usecs)
{
	return ns_to_ktime((u64)usecs * NSEC_PER_USEC);
}

static inline bool irqmod_can(const struct irqmod_port *port, u32 needs)
{
	return (port->caps & needs) == needs;
}

/* core.c */
int irqmod_set_rx_scheme(struct irqmod_port *port,
			 const struct irqmod_rx_scheme *scheme);
int irqmod_set_tx_scheme(struct irqmod_port *port,
			 const struct irqmod_tx_scheme *scheme);
void irqmod_set_timer_without(struct irqmod_port *port,
			      enum irqmod_timer_without without);
int irqmod_rx_pass(struct irqmod_port *port, int budget);

/* deliver.c: where a scheme delivers its frames */
void irqmod_deliver_backlog(struct irqmod_port *port, struct sk_buff *skb);
void irqmod_deliver_stack(struct irqmod_port *port, struct sk_buff *skb);
void irqmod_deliver_as_napi(struct irqmod_port *port);
void irqmod_deliver_flush(struct irqmod_port *port);

/* heads.c */
void irqmod_heads_free(struct irqmod_heads *heads);

/* tx.c */
void irqmod_tx_irq_reclaim(struct irqmod_port *port);
void irqmod_tx_rx_reclaim(struct irqmod_port *port);
enum hrtimer_restart irqmod_tx_timer(struct hrtimer *timer);

/* rx_de.c, rx_napi.c: shared with hybrid */
void irqmod_de_start(struct irqmod_port *port);
void irqmod_de_stop(struct irqmod_port *port);
void irqmod_de_schedule(struct irqmod_port *port);
void irqmod_napi_schedule(struct irqmod_port *port);
void irqmod_napi_stop(struct irqmod_port *port);
int irqmod_napi_poll(struct napi_struct *napi, int budget);

/* rx_timer.c */
extern const char * const irqmod_timer_measures[];
unsigned int irqmod_rx_usecs(const struct irqmod_port *port);
void irqmod_timer_configure(struct irqmod_port *port);

/* rx_hybrid.c */
int irqmod_hybrid_init(struct irqmod_port *port);
void irqmod_hybrid_free(struct irqmod_port *port);
void irqmod_hybrid_configure(struct irqmod_port *port);
u32 irqmod_hybrid_rate_pps(struct irqmod_port *port);
bool irqmod_hybrid_wants_napi(struct irqmod_port *port);
bool irqmod_hybrid_wants_de(struct irqmod_port *port);

/* rx_adaptive.c */
int irqmod_adaptive_init(struct irqmod_port *port);
void irqmod_adaptive_free(struct irqmod_port *port);

/* sysfs.c, ethtool.c */
extern const struct attribute_group irqmod_group;
int irqmod_check_coalesce(struct irqmod_port *port,
			  const struct ethtool_coalesce *ec,
			  struct netlink_ext_ack *extack);

#endif /* IRQMOD_SCHEME_H */
