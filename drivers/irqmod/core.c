// SPDX-License-Identifier: GPL-2.0-only
/* irqmod: interrupts, start and stop, and changes of the scheme. */
#include <linux/cpu.h>
#include <linux/irq.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>

#include "scheme.h"

/* One pass over the ring; delivers the frames taken. */
int irqmod_rx_pass_unchecked(struct irqmod_queue *queue, int budget)
{
	int taken;

	taken = queue->ops->rx_take(queue, budget);
	queue->rx_frames += taken;
	u64_stats_update_begin(&queue->rx_stats.syncp);
	u64_stats_inc(&queue->rx_stats.polls);
	if (taken < budget)
		u64_stats_inc(&queue->rx_stats.polls_done);
	u64_stats_update_end(&queue->rx_stats.syncp);
	if (queue->rx_in_softirq)
		irqmod_deliver_flush(queue);
	return taken;
}

static void count_interrupt(struct irqmod_irq_stats *stats)
{
	u64_stats_update_begin(&stats->syncp);
	u64_stats_inc(&stats->causes);
	u64_stats_update_end(&stats->syncp);
}

/**
 * irqmod_interrupt() - an interrupt of the queue
 * @queue: the queue
 * @groups: IRQMOD_RX, IRQMOD_TX or both: which groups of causes have been raised
 *
 * Called by the hard interrupt handler after it has acknowledged the causes, or by
 * the completion of a transfer, in the bus driver's context. Starts what the
 * schemes do then. While the queue is stopped it masks @groups.
 *
 * Context: hard IRQ, or that of a completion with IRQMOD_CAP_TRANSFERS. Must not run
 * on two CPUs at a time for one group of a queue.
 */
void irqmod_interrupt(struct irqmod_queue *queue, u32 groups)
{
	u32 with_rx = READ_ONCE(queue->tx_with_rx);

	if (unlikely(!READ_ONCE(queue->up))) {
		queue->ops->mask(queue, groups);
		return;
	}
	if (groups & IRQMOD_RX)
		count_interrupt(&queue->rx_irq_stats);
	if (groups & IRQMOD_TX)
		count_interrupt(&queue->tx_irq_stats);
	if (unlikely(!queue->irq))
		WRITE_ONCE(queue->cpu, smp_processor_id());
	if ((groups & (IRQMOD_RX | with_rx)) &&
	    /* Pairs with rx_start_queue(). */
	    !smp_load_acquire(&queue->rx_stopping))
		queue->rx->irq(queue);
	if (groups & IRQMOD_TX & ~with_rx)
		queue->tx->irq(queue);
}
EXPORT_SYMBOL_GPL(irqmod_interrupt);

/**
 * irqmod_rx_missed() - frames have arrived while RX was masked
 * @queue: the queue
 *
 * For unmask() of drivers whose hardware does not raise the cause again.
 *
 * Context: any in which RX is unmasked, with BH disabled.
 */
void irqmod_rx_missed(struct irqmod_queue *queue)
{
	/* Acquire: pairs with rx_start_queue(). */
	if (READ_ONCE(queue->up) && !smp_load_acquire(&queue->rx_stopping))
		queue->rx->irq(queue);
}
EXPORT_SYMBOL_GPL(irqmod_rx_missed);

/* Waits for handlers, and for softirqs and polls on other CPUs, for which RCU waits:
 * the transmit timer (tx_with_rx) and the completions of a bus driver start the receive
 * scheme, too. One that had seen rx_stopping clear might otherwise do so after
 * the scheme has stopped.
 */
static void irqmod_synchronize(const struct irqmod_port *port)
{
	const struct irqmod_queue *queue;

	irqmod_for_each_queue(queue, port) {
		if (queue->irq)
			synchronize_irq(queue->irq);
		if (queue->tx_irq)
			synchronize_irq(queue->tx_irq);
	}
	synchronize_net();
}

/* The poll of a queue's NAPI. The NAPI is enabled as long as it exists: to disable it for
 * a change, or while the interface is down, would hang a write to threaded, with the
 * lock that enabling needs (Linux 6.17 and later). So while the scheme is stopped, or has
 * no poll, a poll does nothing: sockets and netpoll may call it at any time. rx_stop()
 * waits for one that has seen rx_stopping clear: polls run with BH disabled, for which
 * RCU waits, also for what they do after napi_complete_done().
 */
int irqmod_poll(struct napi_struct *napi, int budget)
{
	struct irqmod_queue *queue = container_of(napi, struct irqmod_queue,
						  napi);

	/* Acquire: pairs with rx_start_queue(). */
	if (likely(!smp_load_acquire(&queue->rx_stopping) && queue->rx->poll))
		return irqmod_rx_poll(queue, budget);
	if (budget)
		napi_complete_done(napi, 0);
	return 0;
}

static long rx_start_queue(void *data)
{
	struct irqmod_queue *queue = data;
	bool open;

	irqmod_rx_quiet(queue, false);
	queue->rx = queue->port->rx;
	queue->rx_state = irqmod_state(queue, &queue->rx->base);
	queue->rx_merges = false;
	queue->napi.weight = irqmod_rx_weight(queue->port);
	open = queue->rx->start(queue);
	irqmod_deliver_chosen(queue);
	irqmod_heads_chosen(&queue->heads);
	/* Pairs with the acquires of irqmod_interrupt(), irqmod_rx_missed(),
	 * irqmod_poll(), irqmod_netpoll(), tx_timer_reclaim() and a transmit scheme's
	 * full(): who sees it clear sees the scheme and its state.
	 */
	smp_store_release(&queue->rx_stopping, false);
	/* Act as if a frame had arrived: the previous scheme may have consumed
	 * the interrupt of frames still on the ring, or its last ack may still
	 * be on its way to the device. RX is masked, so the handler does not run
	 * concurrently. Interrupts stay enabled: under PREEMPT_RT the locks of
	 * mask() and unmask() sleep.
	 */
	local_bh_disable();
	queue->ops->rx_ack(queue);
	queue->rx->irq(queue);
	if (open)
		queue->ops->unmask(queue, IRQMOD_RX);
	local_bh_enable();
	return 0;
}

/* The next queue from @queue on that is running; with @only, no other than that. */
static struct irqmod_queue *next_running(struct irqmod_queue *queue,
					 const struct irqmod_queue *only)
{
	while (queue && (!queue->running || (only && queue != only)))
		queue = queue->next;
	return queue;
}

#define for_each_running(queue, port, only)				\
	for ((queue) = next_running((port)->queues, only); (queue);	\
	     (queue) = next_running((queue)->next, only))

/* The processor that takes the queue's interrupts; nr_cpu_ids or more: not known. */
static unsigned int rx_cpu(const struct irqmod_queue *queue)
{
	const struct cpumask *mask;

	if (!queue->irq)
		return READ_ONCE(queue->cpu);
	mask = irq_get_effective_affinity_mask(queue->irq);
	return mask ? cpumask_any_and(mask, cpu_online_mask) : nr_cpu_ids;
}

/* Each queue is started where its interrupts are taken: that is where the timers of its
 * scheme, which are pinned, run from then on, whatever processor asked for the start.
 */
static void rx_start(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;
	unsigned int cpu;

	cpus_read_lock();
	for_each_running(queue, port, only) {
		cpu = rx_cpu(queue);
		if (num_online_cpus() > 1 && cpu < nr_cpu_ids && cpu_online(cpu))
			work_on_cpu(cpu, rx_start_queue, queue);
		else
			rx_start_queue(queue);
	}
	cpus_read_unlock();
}

static void rx_stop(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	for_each_running(queue, port, only) {
		WRITE_ONCE(queue->rx_stopping, true);
		irqmod_rx_mask(queue);
	}
	irqmod_synchronize(port);
	for_each_running(queue, port, only) {
		queue->rx->stop(queue);
		irqmod_rx_check_idle(queue);
		/* The last poll may have unmasked RX. */
		irqmod_rx_mask(queue);
	}
	irqmod_synchronize(port);
	for_each_running(queue, port, only)
		irqmod_rx_quiet(queue, true);
}

/* Starts byte queue limits with the packets now on the ring, or ends them. A queue
 * that they had stopped runs again. The queue is locked, and nothing reclaims.
 */
static void tx_limit(struct irqmod_queue *queue, bool limited)
{
	unsigned int bytes;

	if (!limited && !queue->tx_limited)
		return;
	netdev_tx_reset_queue(queue->txq);
#ifdef CONFIG_BQL
	/* The reset leaves adj_limit, which would allow as many bytes as have
	 * ever been completed. A completion of none sets it: to the limit, as for
	 * a queue that has not been used.
	 */
	dql_completed(&queue->txq->dql, 0);
#endif
	queue->tx_limited = limited;
	bytes = limited ? queue->ops->tx_bytes(queue) : 0;
	if (bytes)
		netdev_tx_sent_queue(queue->txq, bytes);
	netif_schedule_queue(queue->txq);
}

/* The queue is locked. */
static void tx_start_queue(struct irqmod_queue *queue)
{
	bool enough;

	irqmod_tx_quiet(queue, false);
	queue->tx = queue->port->tx;
	queue->tx_state = irqmod_state(queue, &queue->tx->base);
	WRITE_ONCE(queue->tx_switching, false);
	queue->tx_since_irq = 0;
	tx_limit(queue, queue->ops->tx_bytes &&
		 (queue->tx->limits ||
		  irqmod_can(queue->port, IRQMOD_CAP_TRANSFERS)));
	/* What has been sent since the previous scheme was stopped. */
	enough = irqmod_tx_start_reclaim(queue);
	queue->tx->start(queue);
	/* Packets queued under the previous scheme may never interrupt. A scheme
	 * without a timer may reclaim them before the next transmit; there is none
	 * while the queue is stopped.
	 */
	if (queue->ops->tx_outstanding(queue) &&
	    (queue->tx_timed || !queue->tx_early ||
	     netif_tx_queue_stopped(queue->txq)))
		irqmod_tx_arm(queue);
	if (!enough && netif_tx_queue_stopped(queue->txq) && queue->tx->full)
		queue->tx->full(queue);
}

/* Each queue's own lock: netif_tx_lock() stops senders, but not those who try a
 * queue's lock (reclaim.c).
 */
static void tx_start(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	for_each_running(queue, port, only) {
		__netif_tx_lock_bh(queue->txq);
		tx_start_queue(queue);
		__netif_tx_unlock_bh(queue->txq);
		irqmod_tx_wake(queue);
	}
}

/* The queue is locked. */
static void tx_stop_queue(struct irqmod_queue *queue)
{
	WRITE_ONCE(queue->tx_switching, true);	/* a full ring must not arm the timer */
	queue->tx_irq_every = 0;
	WRITE_ONCE(queue->tx_early, 0);
	queue->tx_timed = false;
	queue->tx_queued = NULL;
	queue->tx_in_softirq = false;
	WRITE_ONCE(queue->tx_in_rx, false);
	WRITE_ONCE(queue->tx_with_rx, 0);
}

static void tx_mask(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	for_each_running(queue, port, only)
		queue->ops->mask(queue, IRQMOD_TX);
	irqmod_synchronize(port);
}

static void tx_stop(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	/* Senders and timers, which unmask TX with the queue locked, see tx_switching
	 * from here on, and do not. The scheme's handler still runs (@irq in scheme.h).
	 */
	for_each_running(queue, port, only) {
		__netif_tx_lock_bh(queue->txq);
		tx_stop_queue(queue);
		__netif_tx_unlock_bh(queue->txq);
	}
	/* A handler, or a pass over the receive ring, may unmask TX once more, and
	 * the pass may be reclaiming without a lock. The first tx_mask() waits for
	 * both. After the second, TX stays masked and no handler runs.
	 */
	tx_mask(port, only);
	tx_mask(port, only);
	/* Neither a handler nor a sender starts the timer or the scheme's work any more. */
	for_each_running(queue, port, only) {
		hrtimer_cancel(&queue->tx_timer);
		if (queue->tx->stop)
			queue->tx->stop(queue);
		irqmod_tx_quiet(queue, true);
		queue->tx_armed = false;
		__netif_tx_lock_bh(queue->txq);
		tx_limit(queue, false);
		__netif_tx_unlock_bh(queue->txq);
	}
}

static void start_queues(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	ASSERT_RTNL();
	irqmod_for_each_queue(queue, port)
		queue->running = queue->running || queue == only ||
				 (!only && queue->index < port->queues_used);
	for_each_running(queue, port, only) {
		queue->ops->mask(queue, IRQMOD_RX | IRQMOD_TX);
		queue->rx_ring = port->rx_ring;
	}
	irqmod_rx_changed(port);
	for_each_running(queue, port, only) {
		WRITE_ONCE(queue->up, true);
		irqmod_tx_close(queue, false);
	}
	tx_start(port, only);
	rx_start(port, only);
}

static void stop_queues(struct irqmod_port *port, struct irqmod_queue *only)
{
	struct irqmod_queue *queue;

	ASSERT_RTNL();
	for_each_running(queue, port, only)
		WRITE_ONCE(queue->up, false);
	rx_stop(port, only);
	tx_stop(port, only);
	/* After tx_stop(): a reclaim on another CPU that had seen up set might have
	 * woken a queue.
	 */
	for_each_running(queue, port, only) {
		__netif_tx_lock_bh(queue->txq);
		netif_tx_stop_queue(queue->txq);
		__netif_tx_unlock_bh(queue->txq);
		irqmod_tx_close(queue, true);
		irqmod_heads_free(&queue->heads);
		queue->running = false;
	}
}

/* While the port is up, queues that are not used are not stopped, either: nobody sends
 * on them, but dev_watchdog() looks at them, too.
 */
static void stop_unused(struct irqmod_port *port, bool stop)
{
	struct irqmod_queue *queue;

	irqmod_for_each_queue(queue, port) {
		if (queue->index < port->queues_used)
			continue;
		__netif_tx_lock_bh(queue->txq);
		if (stop)
			netif_tx_stop_queue(queue->txq);
		else
			netif_tx_start_queue(queue->txq);
		__netif_tx_unlock_bh(queue->txq);
	}
}

/**
 * irqmod_start() - starts the schemes of all queues that are used
 * @port: the port, with its hardware ready and its rings filled
 *
 * Called in ndo_open, and after a change of the rings. Wakes the transmit queues.
 *
 * Context: process, under RTNL.
 */
void irqmod_start(struct irqmod_port *port)
{
	port->up = true;
	start_queues(port, NULL);
	stop_unused(port, false);
}
EXPORT_SYMBOL_GPL(irqmod_start);

/**
 * irqmod_start_queue() - starts the schemes of one queue
 * @queue: the queue, with its hardware ready and its rings filled; its port is up
 *
 * Context: process, under RTNL.
 */
void irqmod_start_queue(struct irqmod_queue *queue)
{
	start_queues(queue->port, queue);
}
EXPORT_SYMBOL_GPL(irqmod_start_queue);

/**
 * irqmod_stop() - stops the schemes of all queues
 * @port: the port, its hardware still running; stopped before: nothing is done
 *
 * Called in ndo_stop before the hardware is shut down. When it returns, RX and TX
 * are masked, the transmit queues are stopped, and neither schemes nor timers
 * access the rings until irqmod_start(): the driver may change them.
 *
 * Context: process, under RTNL. Sleeps.
 */
void irqmod_stop(struct irqmod_port *port)
{
	if (!port->up)
		return;
	port->up = false;
	stop_unused(port, true);
	stop_queues(port, NULL);
}
EXPORT_SYMBOL_GPL(irqmod_stop);

/**
 * irqmod_stop_queue() - stops the schemes of one queue
 * @queue: the queue; stopped before: nothing is done
 *
 * The others go on. While it is stopped, schemes and settings of the port may change.
 * The driver sees to it that no packet is sent on it, and no frame arrives there.
 *
 * Context: process, under RTNL. Sleeps.
 */
void irqmod_stop_queue(struct irqmod_queue *queue)
{
	stop_queues(queue->port, queue);
}
EXPORT_SYMBOL_GPL(irqmod_stop_queue);

static void rx_changed(struct irqmod_queue *queue)
{
	const struct irqmod_rx_scheme *scheme;
	int i;

	queue->napi.weight = irqmod_rx_weight(queue->port);
	for (i = 0; irqmod_rx_schemes[i]; i++) {
		scheme = irqmod_rx_of(irqmod_rx_schemes[i]);
		if (scheme->changed && irqmod_can(queue->port, scheme->base.needs))
			scheme->changed(queue, irqmod_state(queue, &scheme->base));
	}
}

/* rx-usecs, the weight or the ring changed. */
void irqmod_rx_changed(struct irqmod_port *port)
{
	struct irqmod_queue *queue;

	ASSERT_RTNL();
	irqmod_for_each_queue(queue, port)
		rx_changed(queue);
}

/* Stops the receive scheme while the port is up, and starts it again. */
void irqmod_rx_pause(struct irqmod_port *port)
{
	ASSERT_RTNL();
	if (port->up)
		rx_stop(port, NULL);
}

void irqmod_rx_resume(struct irqmod_port *port)
{
	if (port->up)
		rx_start(port, NULL);
}

/* The same for the transmit scheme. */
void irqmod_tx_pause(struct irqmod_port *port)
{
	ASSERT_RTNL();
	if (port->up)
		tx_stop(port, NULL);
}

void irqmod_tx_resume(struct irqmod_port *port)
{
	if (port->up)
		tx_start(port, NULL);
}

/* Logs why a scheme is refused: sysfs has no extack. */
static int log_unsupported(const struct irqmod_port *port, const char *name)
{
	netdev_info(port->netdev, "this hardware does not support %s\n", name);
	return -EOPNOTSUPP;
}

static int log_no_pair(const struct irqmod_port *port, const char *rx,
		       const char *tx)
{
	netdev_info(port->netdev, "rx_scheme %s does not mask RX, which tx_scheme %s needs\n",
		    rx, tx);
	return -EOPNOTSUPP;
}

/* The transmit scheme, unless somebody has chosen it, is the default for this one. */
int irqmod_set_rx_scheme(struct irqmod_port *port,
			 const struct irqmod_rx_scheme *scheme)
{
	const struct irqmod_tx_scheme *tx = port->tx;

	ASSERT_RTNL();
	if (port->rx == scheme)
		return 0;
	if (!irqmod_can(port, scheme->base.needs))
		return log_unsupported(port, scheme->base.name);
	if (!port->tx_chosen)
		tx = irqmod_tx_default(port, scheme);
	if (tx->needs_masks && !scheme->masks)
		return log_no_pair(port, scheme->base.name, tx->base.name);
	irqmod_rx_pause(port);
	if (tx != port->tx) {
		irqmod_tx_pause(port);
		port->tx = tx;
		irqmod_tx_resume(port);
	}
	port->rx = scheme;
	irqmod_rx_resume(port);
	return 0;
}

int irqmod_set_tx_scheme(struct irqmod_port *port,
			 const struct irqmod_tx_scheme *scheme)
{
	ASSERT_RTNL();
	if (!irqmod_can(port, scheme->base.needs))
		return log_unsupported(port, scheme->base.name);
	if (scheme->needs_masks && !port->rx->masks)
		return log_no_pair(port, port->rx->base.name, scheme->base.name);
	port->tx_chosen = true;
	if (port->tx == scheme)
		return 0;
	irqmod_tx_pause(port);
	port->tx = scheme;
	irqmod_tx_resume(port);
	return 0;
}
