/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the engine and a scheme. A scheme is one file, rx_NAME.c
 * with an IRQMOD_RX_SCHEME(NAME), or tx_NAME.c with an IRQMOD_TX_SCHEME(NAME). It is
 * declared below, and listed in schemes.c and Kbuild.
 */
#ifndef IRQMOD_SCHEME_H
#define IRQMOD_SCHEME_H

#include <linux/device.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#include "irqmod.h"
#include "../compat.h"

/**
 * struct irqmod_setting - a setting of a scheme, a file in sysfs
 * @name: of the file
 * @offset: of the value, an u32, in the scheme's private state, of which each queue
 *	has one; all have the same value
 * @low: the least value
 * @high: the greatest value
 * @names: the names of the values 0, 1, ..., NULL-terminated; or NULL: numbers
 * @restart: stop the scheme for the change, and start it again
 */
struct irqmod_setting {
	const char *name;
	size_t offset;
	u32 low;
	u32 high;
	const char * const *names;
	bool restart;
	/** @get: for a file that is only read, which has the sum over all queues. */
	u64 (*get)(const struct irqmod_queue *queue, const void *state);
};

/* The first two of a setting that is @member of struct @state. */
#define IRQMOD_SETTING(state, member)				\
	.name = #member, .offset = offsetof(struct state, member)

/**
 * struct irqmod_scheme - what receive and transmit schemes have alike
 * @name: its name in sysfs
 * @needs: IRQMOD_CAP_ that the hardware must have; else EOPNOTSUPP
 * @preference: the supported scheme with the highest is the default; of transmit
 *	schemes those that go together with the receive scheme
 * @state_size: bytes of private state per queue, zeroed when the port is registered;
 *	while the scheme is active, @rx_state or @tx_state of the queue points to it
 * @settings: files in sysfs; the last has no name
 */
struct irqmod_scheme {
	const char *name;
	u32 needs;
	int preference;
	size_t state_size;
	const struct irqmod_setting *settings;

	/** @init: sets the private state's defaults, timers and tasklets. Optional. */
	void (*init)(struct irqmod_queue *queue, void *state);
};

/**
 * struct irqmod_rx_scheme - a receive scheme
 * @base: what it has in common with others
 * @masks: the scheme masks RX (irqmod_rx_mask()) while it takes frames, so that
 *	transmit completions can be taken with them
 * @pauses: the scheme, one with @masks, keeps RX masked between passes. If the
 *	transmit ring is full meanwhile, TX is unmasked, and @irq called for it
 * @tasklet: frames are taken in a tasklet, or may be. netpoll cannot run it, and
 *	takes completions itself (irqmod_netpoll()); so passes need the queue's lock
 * @adaptive: ethtool -C adaptive-rx chooses it
 * @period: rx-usecs is its period; others show 0
 *
 * All functions are for one queue, and work for different queues may run at the
 * same time, each with its own private state.
 *
 * The context that runs while RX is masked owns the ring. A scheme masks RX, and
 * passes the ring from one context to another, so that there is never more than
 * one. Debug builds check it: the function that calls irqmod_rx_pass() owns the
 * ring from then on, until irqmod_rx_unmask() or irqmod_rx_give().
 */
struct irqmod_rx_scheme {
	struct irqmod_scheme base;
	bool masks;
	bool pauses;
	bool tasklet;
	bool adaptive;
	bool period;

	/**
	 * @changed: a setting changed, or rx-usecs or the ring did. Under RTNL,
	 * active or not. Optional.
	 */
	void (*changed)(struct irqmod_queue *queue, void *state);
	/**
	 * @start: called under RTNL, with RX masked and no receive work in
	 * progress. The engine then calls @irq once, as if a frame had arrived:
	 * the scheme takes what is on the ring and unmasks RX as usual. True: it
	 * never masks RX in its present settings, and the engine unmasks it.
	 */
	bool (*start)(struct irqmod_queue *queue);
	/**
	 * @stop: called with rx_stopping set and RX masked. Returns when nothing
	 * of the scheme runs any more.
	 */
	void (*stop)(struct irqmod_queue *queue);
	/**
	 * @irq: called in hard IRQ for an RX cause; by the engine, after @start,
	 * with only BH disabled. Under PREEMPT_RT interrupts are never disabled.
	 *
	 * With @masks it may be called at any time between @start and @stop,
	 * also while the ring has an owner, and on two CPUs at a time: with
	 * tx_with_rx the transmit timer calls it, and a TX cause does, which is
	 * unmasked when that is set, and with @pauses when the ring is full.
	 * It then only schedules a pass, which takes completions. Without
	 * @masks, RX is masked or this is its handler. But a bus driver may call it on
	 * two CPUs at a time: from a transfer's completion and from unmask().
	 */
	void (*irq)(struct irqmod_queue *queue);
	/**
	 * @poll: the queue's NAPI polls; irqmod_napi_pass() is its pass. netpoll
	 * polls with a budget of 0.
	 */
	int (*poll)(struct irqmod_queue *queue, int budget);
};

/**
 * struct irqmod_tx_scheme - a transmit scheme
 * @base: what it has in common with others
 * @needs_masks: needs a receive scheme that masks RX
 * @in_irq: reclaims in hard IRQ under tx_lock; otherwise under the queue's lock
 * @limits: completions are taken in each pass over the receive ring, so that byte
 *	queue limits suit it. Passes follow an interrupt at once. With @pauses only the
 *	next one does when the limit has stopped the queue
 */
struct irqmod_tx_scheme {
	struct irqmod_scheme base;
	bool needs_masks;
	bool in_irq;
	bool limits;

	/** @start: sets the queue's tx_ fields. The queue is locked. */
	void (*start)(struct irqmod_queue *queue);
	/**
	 * @stop: called with tx_switching set, TX masked and no handler running.
	 * Returns when nothing of the scheme runs any more. Optional.
	 */
	void (*stop)(struct irqmod_queue *queue);
	/** @changed: tx-usecs or tx-frames changed. The queue is locked. Optional. */
	void (*changed)(struct irqmod_queue *queue);
	/**
	 * @irq: called in hard IRQ for a TX cause; before @stop also when the
	 * queue's tx_ fields have been reset. Then it need not do anything.
	 */
	void (*irq)(struct irqmod_queue *queue);
	/**
	 * @full: the queue has been stopped, because the ring is full or by a
	 * byte queue limit: unmasks TX, unless it is unmasked anyway, or will be
	 * soon. The queue is locked. Optional.
	 */
	void (*full)(struct irqmod_queue *queue);
};

/* How a file defines its scheme. */
#define IRQMOD_RX_SCHEME(scheme)	const struct irqmod_rx_scheme irqmod_rx_##scheme
#define IRQMOD_TX_SCHEME(scheme)	const struct irqmod_tx_scheme irqmod_tx_##scheme

extern const struct irqmod_rx_scheme irqmod_rx_adaptive, irqmod_rx_aim, irqmod_rx_de,
	irqmod_rx_dim, irqmod_rx_howto, irqmod_rx_hybrid, irqmod_rx_ifpoll,
	irqmod_rx_interrupt, irqmod_rx_itr, irqmod_rx_napi, irqmod_rx_polling, irqmod_rx_shrink,
	irqmod_rx_standard, irqmod_rx_timer;
extern const struct irqmod_tx_scheme irqmod_tx_coalesce, irqmod_tx_interrupt,
	irqmod_tx_off, irqmod_tx_poll, irqmod_tx_rate;

/* schemes.c: of each direction, NULL-terminated */
extern const struct irqmod_scheme * const irqmod_rx_schemes[];
extern const struct irqmod_scheme * const irqmod_tx_schemes[];
const struct irqmod_rx_scheme *irqmod_rx_preferred(const struct irqmod_port *port,
						   bool adaptive);
const struct irqmod_rx_scheme *irqmod_rx_default(const struct irqmod_port *port);
const struct irqmod_tx_scheme *irqmod_tx_default(const struct irqmod_port *port,
						 const struct irqmod_rx_scheme *rx);
void *irqmod_state(const struct irqmod_queue *queue, const struct irqmod_scheme *scheme);
int irqmod_states_alloc(struct irqmod_queue *queue);
void irqmod_states_free(struct irqmod_queue *queue);

static inline const struct irqmod_rx_scheme *irqmod_rx_of(const struct irqmod_scheme *scheme)
{
	return container_of(scheme, struct irqmod_rx_scheme, base);
}

static inline const struct irqmod_tx_scheme *irqmod_tx_of(const struct irqmod_scheme *scheme)
{
	return container_of(scheme, struct irqmod_tx_scheme, base);
}

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

/* Masks RX, and TX as well if completions are taken with the frames. */
static inline void irqmod_rx_mask(struct irqmod_queue *queue)
{
	queue->ops->mask(queue, IRQMOD_RX | READ_ONCE(queue->tx_with_rx));
}

/* The owner of the ring leaves it to another context without unmasking RX. */
static inline void irqmod_rx_give(struct irqmod_queue *queue)
{
#ifdef IRQMOD_DEBUG
	WRITE_ONCE(queue->rx_owner, NULL);
#endif
}

static inline void irqmod_rx_unmask(struct irqmod_queue *queue)
{
	irqmod_rx_give(queue);
	queue->ops->unmask(queue, IRQMOD_RX | READ_ONCE(queue->tx_with_rx));
}

/* Whether the CPU is wanted by a task: a softirq or an interrupt asks whether it
 * interrupts a process that has work to do. In ksoftirqd it interrupts nothing;
 * then it is whether another task is runnable.
 */
static inline bool irqmod_cpu_wanted(void)
{
	if (is_idle_task(current))
		return false;
	if (current->flags & PF_KTHREAD)
		return !single_task_running();
	return current->policy != SCHED_IDLE;
}

/* core.c */
int irqmod_set_rx_scheme(struct irqmod_port *port,
			 const struct irqmod_rx_scheme *scheme);
int irqmod_set_tx_scheme(struct irqmod_port *port,
			 const struct irqmod_tx_scheme *scheme);
void irqmod_rx_changed(struct irqmod_port *port);
void irqmod_rx_pause(struct irqmod_port *port);
void irqmod_rx_resume(struct irqmod_port *port);
void irqmod_tx_pause(struct irqmod_port *port);
void irqmod_tx_resume(struct irqmod_port *port);
int irqmod_poll(struct napi_struct *napi, int budget);
int irqmod_rx_pass_unchecked(struct irqmod_queue *queue, int budget);

/* debug.c */
#ifdef IRQMOD_DEBUG
int irqmod_rx_pass_checked(struct irqmod_queue *queue, int budget,
			   const char *owner);
#define irqmod_rx_pass(queue, budget)				\
	irqmod_rx_pass_checked(queue, budget, __func__)
unsigned int irqmod_tx_reclaim_checked(struct irqmod_queue *queue,
				       const char *holder);
#define irqmod_tx_reclaim(queue)	irqmod_tx_reclaim_checked(queue, __func__)
int irqmod_rx_poll(struct irqmod_queue *queue, int budget);
void irqmod_rx_check_idle(const struct irqmod_queue *queue);
void irqmod_rx_quiet(struct irqmod_queue *queue, bool quiet);
void irqmod_tx_quiet(struct irqmod_queue *queue, bool quiet);
void irqmod_tx_close(struct irqmod_queue *queue, bool closed);
#else
static inline int irqmod_rx_pass(struct irqmod_queue *queue, int budget)
{
	return irqmod_rx_pass_unchecked(queue, budget);
}

static inline unsigned int irqmod_tx_reclaim(struct irqmod_queue *queue)
{
	return queue->ops->tx_reclaim(queue);
}

static inline int irqmod_rx_poll(struct irqmod_queue *queue, int budget)
{
	return queue->rx->poll(queue, budget);
}

static inline void irqmod_rx_check_idle(const struct irqmod_queue *queue) { }
static inline void irqmod_rx_quiet(struct irqmod_queue *queue, bool quiet) { }
static inline void irqmod_tx_quiet(struct irqmod_queue *queue, bool quiet) { }
static inline void irqmod_tx_close(struct irqmod_queue *queue, bool closed) { }
#endif

/* deliver.c: where a scheme delivers its frames */
void irqmod_deliver_backlog(struct irqmod_queue *queue, struct sk_buff *skb);
void irqmod_deliver_stack(struct irqmod_queue *queue, struct sk_buff *skb);
void irqmod_deliver_as_napi(struct irqmod_queue *queue);
void irqmod_deliver_chosen(struct irqmod_queue *queue);
void irqmod_deliver_flush(struct irqmod_queue *queue);

/* device.c */
void irqmod_device_init(struct irqmod_port *port);

/* heads.c */
void irqmod_heads_chosen(struct irqmod_heads *heads);
void irqmod_heads_free(struct irqmod_heads *heads);

/* instruments/rx_timer.c */
bool irqmod_timer_refill(struct irqmod_queue *queue);

/* reclaim.c */
void irqmod_tx_irq_reclaim(struct irqmod_queue *queue);
bool irqmod_tx_locked_reclaim(struct irqmod_queue *queue);
bool irqmod_tx_start_reclaim(struct irqmod_queue *queue);
void irqmod_tx_wake(struct irqmod_queue *queue);
void irqmod_tx_mask_unless_full(struct irqmod_queue *queue);
void irqmod_tx_rx_reclaim(struct irqmod_queue *queue);
enum hrtimer_restart irqmod_tx_timer(struct hrtimer *timer);

/* ethtool.c */
unsigned int irqmod_rx_usecs(const struct irqmod_queue *queue);
void irqmod_moderate(struct irqmod_queue *queue, unsigned int rx_usecs,
		     unsigned int tx_usecs);
extern const struct netdev_stat_ops irqmod_stat_ops;

/* Packets per TX interrupt: the user's setting, or what the ring allows. */
static inline unsigned int irqmod_tx_frames(const struct irqmod_queue *queue)
{
	return min(queue->tx_frames, queue->port->tx_ring / 2);
}

/* The budget of a poll: the user's setting, or half the ring. If a poll took the whole
 * ring, the chip would have filled it in the meantime, and dropped frames until the next.
 */
static inline unsigned int irqmod_rx_weight(const struct irqmod_port *port)
{
	return port->rx_weight ?: clamp(port->rx_ring / 2, 1u,
					(unsigned int)NAPI_POLL_WEIGHT);
}

/* sysfs.c */
extern const struct attribute_group irqmod_group;

#endif /* IRQMOD_SCHEME_H */
