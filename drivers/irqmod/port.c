// SPDX-License-Identifier: GPL-2.0-only
/* irqmod: a port and its queues are made, registered and unregistered. */
#include <linux/module.h>

#include "scheme.h"
#include "../compat.h"

#define DEFAULT_TX_USECS	1000
#define DEFAULT_TX_FRAMES	128	/* Spanos et al. 2008 */

/**
 * irqmod_add_queue() - adds a queue to a port
 * @port: the port, not yet registered, its netdev set
 * @queue: the queue, zeroed but for its interrupt; it lives as long as the port
 *
 * The n-th queue belongs to the netdev's n-th transmit and n-th receive queue.
 *
 * Context: process.
 */
void irqmod_add_queue(struct irqmod_port *port, struct irqmod_queue *queue)
{
	struct irqmod_queue **end = &port->queues;

	while (*end)
		end = &(*end)->next;
	*end = queue;
	queue->port = port;
	queue->index = port->queue_count++;
	port->queues_used = port->queue_count;
}
EXPORT_SYMBOL_GPL(irqmod_add_queue);

/**
 * irqmod_use_queues() - sets how many queues are used
 * @port: the port, stopped
 * @count: the first so many
 *
 * Context: process, under RTNL.
 * Return: 0, or what netif_set_real_num_queues() says.
 */
int irqmod_use_queues(struct irqmod_port *port, unsigned int count)
{
	int err = netif_set_real_num_queues(port->netdev, count, count);

	if (!err)
		port->queues_used = count;
	return err;
}
EXPORT_SYMBOL_GPL(irqmod_use_queues);

static int init_queue(struct irqmod_queue *queue)
{
	struct irqmod_port *port = queue->port;

	queue->netdev = port->netdev;
	queue->ops = port->ops;
	queue->txq = netdev_get_tx_queue(port->netdev, queue->index);
	queue->rx = port->rx;
	queue->tx = port->tx;
	queue->rx_ring = port->rx_ring;
	queue->rx_stopping = true;	/* until irqmod_start() */
	/* Until irqmod_start(): netconsole sends on an interface being opened. */
	netif_tx_stop_queue(queue->txq);
	queue->tx_switching = true;	/* until irqmod_start() */
	queue->rx_limit = UINT_MAX;
	queue->cpu = nr_cpu_ids;
	queue->heads.chunks = port->wire_mbps > 100 ? IRQMOD_CHUNKS
						    : IRQMOD_CHUNKS_FAST;
	spin_lock_init(&queue->tx_lock);
	INIT_LIST_HEAD(&queue->rx_list);
	u64_stats_init(&queue->rx_irq_stats.syncp);
	u64_stats_init(&queue->tx_irq_stats.syncp);
	u64_stats_init(&queue->rx_stats.syncp);
	u64_stats_init(&queue->tx_stats.syncp);
	hrtimer_setup(&queue->tx_timer, irqmod_tx_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	return irqmod_states_alloc(queue);
}

/* A queue has the same NAPI as long as it exists, with its ID, settings and thread. */
static void add_napi(struct irqmod_queue *queue)
{
	struct net_device *netdev = queue->netdev;

	netif_napi_add_config(netdev, &queue->napi, irqmod_poll, queue->index);
	if (queue->irq)
		netif_napi_set_irq(&queue->napi, queue->irq);
	netif_queue_set_napi(netdev, queue->index, NETDEV_QUEUE_TYPE_RX,
			     &queue->napi);
	netif_queue_set_napi(netdev, queue->index, NETDEV_QUEUE_TYPE_TX,
			     &queue->napi);
	napi_enable(&queue->napi);
}

/**
 * irqmod_set_rings() - sets the sizes of the rings
 * @port: the port, stopped
 * @rx_ring: descriptors of the receive ring
 * @tx_ring: packets that the transmit ring holds
 *
 * Context: process, under RTNL once the port is registered.
 */
void irqmod_set_rings(struct irqmod_port *port, unsigned int rx_ring,
		      unsigned int tx_ring)
{
	port->rx_ring = rx_ring;
	port->tx_ring = tx_ring;
}
EXPORT_SYMBOL_GPL(irqmod_set_rings);

/**
 * irqmod_register() - makes a port of the engine
 * @port: the first member of netdev_priv(); the driver has set the fields up to
 *        wire_mbps, and added one queue or more
 *
 * To be called before register_netdev(). Chooses the default schemes and adds the
 * files in sysfs.
 *
 * Context: process.
 * Return: 0, -EINVAL if @port is not where it belongs, has no speed, no queue or
 * more queues than the netdev has in either direction, -ENOMEM.
 */
int irqmod_register(struct irqmod_port *port)
{
	struct irqmod_queue *queue;
	int err;

	if (WARN_ON(netdev_priv(port->netdev) != port || !port->wire_mbps ||
		    !port->queues ||
		    port->queue_count > port->netdev->num_tx_queues ||
		    port->queue_count > port->netdev->num_rx_queues))
		return -EINVAL;

	irqmod_device_init(port);
	port->rx = irqmod_rx_default(port);
	port->tx = irqmod_tx_default(port, port->rx);
	irqmod_for_each_queue(queue, port) {
		queue->tx_usecs = queue->tx_usecs ?: DEFAULT_TX_USECS;
		queue->tx_frames = queue->tx_frames ?: DEFAULT_TX_FRAMES;
	}
	irqmod_set_rings(port, port->rx_ring, port->tx_ring);

	irqmod_for_each_queue(queue, port) {
		err = init_queue(queue);
		if (err)
			goto free_states;
	}
	irqmod_for_each_queue(queue, port)
		add_napi(queue);
	irqmod_set_stat_ops(port->netdev, &irqmod_stat_ops);
	port->netdev->sysfs_groups[0] = &irqmod_group;
	return 0;

free_states:
	irqmod_for_each_queue(queue, port)
		irqmod_states_free(queue);
	return err;
}
EXPORT_SYMBOL_GPL(irqmod_register);

/**
 * irqmod_unregister() - the opposite of irqmod_register()
 * @port: the port
 *
 * To be called after unregister_netdev().
 *
 * Context: process. Sleeps.
 */
void irqmod_unregister(struct irqmod_port *port)
{
	struct irqmod_queue *queue;

	cancel_work_sync(&port->reset_work);
	irqmod_for_each_queue(queue, port) {
		napi_disable(&queue->napi);
		netif_napi_del(&queue->napi);
		irqmod_states_free(queue);
	}
}
EXPORT_SYMBOL_GPL(irqmod_unregister);

MODULE_DESCRIPTION("Interrupt-handling schemes for Ethernet drivers, exchangeable at run time");
MODULE_LICENSE("GPL");
