// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device without hardware, with several queues, to test the engine: what is sent
 * on a queue is received on the same one. A timer per queue is the hardware: it
 * sends, receives and interrupts, each queue on a CPU of its own. A thread per
 * queue sends frames and counts those that come back (ethtool -S: sent, received,
 * and cleared, those that were under way when the interface went down).
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "loop.h"

unsigned int loop_queues = 2;
module_param_named(queues, loop_queues, uint, 0444);
MODULE_PARM_DESC(queues, "Number of queues, 1 to 8 (default 2)");

static bool irq_bit = true;
module_param(irq_bit, bool, 0444);
MODULE_PARM_DESC(irq_bit, "The TX cause can be requested per packet (default Y)");

bool loop_paused;
module_param_named(paused, loop_paused, bool, 0644);
MODULE_PARM_DESC(paused, "Send nothing (default N)");

static const char loop_stats[][ETH_GSTRING_LEN] = {
	"sent", "received", "cleared"
};

#define LOOP_STATS	ARRAY_SIZE(loop_stats)

static struct net_device *loop_netdev;

static int loop_open(struct net_device *netdev)
{
	struct loop *loop = netdev_priv(netdev);
	unsigned int i;

	WRITE_ONCE(loop->stopped, false);
	for (i = 0; i < loop_queues; i++)
		WRITE_ONCE(loop->queue[i].off, false);
	irqmod_start(&loop->port);
	for (i = 0; i < loop_queues; i++) {
		struct loop_queue *q = &loop->queue[i];

		WRITE_ONCE(q->cleared, READ_ONCE(q->sent) -
				       atomic_read(&q->received));
		loop_hardware_start(q);
	}
	return 0;
}

/* The hardware runs for a while after the schemes have been stopped. */
static int loop_stop(struct net_device *netdev)
{
	struct loop *loop = netdev_priv(netdev);
	unsigned int i;

	irqmod_stop(&loop->port);
	WRITE_ONCE(loop->stopped, true);
	usleep_range(2 * LOOP_STEP_US, 4 * LOOP_STEP_US);
	for (i = 0; i < loop_queues; i++)
		loop_hardware_stop(&loop->queue[i]);
	return 0;
}

/* Queues stop and start one by one: "N" stops one, "-1" starts those that are stopped. */
static int loop_stop_one(const char *text, const struct kernel_param *unused)
{
	struct loop *loop = netdev_priv(loop_netdev);
	int err, i, chosen;

	err = kstrtoint(text, 0, &chosen);
	if (err || chosen < -1 || chosen >= (int)loop_queues)
		return -EINVAL;
	rtnl_lock();
	for (i = 0; i < loop_queues && loop->port.up; i++) {
		struct loop_queue *q = &loop->queue[i];

		if (i == chosen && !q->off) {
			irqmod_stop_queue(&q->queue);
			WRITE_ONCE(q->off, true);
			/* The hardware runs for a while. What is on the rings
			 * then does not come back; what waits in the qdisc does.
			 */
			usleep_range(2 * LOOP_STEP_US, 4 * LOOP_STEP_US);
			WRITE_ONCE(q->cleared, q->cleared + loop_hardware_stop(q));
		} else if (chosen < 0 && q->off) {
			WRITE_ONCE(q->off, false);
			irqmod_start_queue(&q->queue);
			loop_hardware_start(q);
		}
	}
	rtnl_unlock();
	return 0;
}

static const struct kernel_param_ops loop_stop_ops = { .set = loop_stop_one };
module_param_cb(stop_queue, &loop_stop_ops, NULL, 0200);
MODULE_PARM_DESC(stop_queue, "Stop this queue; -1: start those that are stopped");

static u16 loop_select_queue(struct net_device *netdev, struct sk_buff *skb,
			     struct net_device *above)
{
	return skb_get_queue_mapping(skb) % netdev->real_num_tx_queues;
}

static const struct net_device_ops loop_netdev_ops = {
	.ndo_open = loop_open,
	.ndo_stop = loop_stop,
	.ndo_start_xmit = loop_xmit,
	.ndo_select_queue = loop_select_queue,
	.ndo_get_stats64 = irqmod_get_stats64,
	.ndo_validate_addr = eth_validate_addr,
};

static int loop_get_sset_count(struct net_device *netdev, int sset)
{
	int count = irqmod_get_sset_count(netdev, sset);

	return count < 0 ? count : count + loop_queues * LOOP_STATS;
}

static void loop_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	unsigned int i, j;

	irqmod_get_strings(netdev, sset, data);
	data += irqmod_get_sset_count(netdev, sset) * ETH_GSTRING_LEN;
	for (i = 0; i < loop_queues; i++)
		for (j = 0; j < LOOP_STATS; j++)
			ethtool_sprintf(&data, "queue%u_%s", i, loop_stats[j]);
}

static void loop_get_ethtool_stats(struct net_device *netdev,
				   struct ethtool_stats *stats, u64 *data)
{
	struct loop *loop = netdev_priv(netdev);
	unsigned int i;

	irqmod_get_ethtool_stats(netdev, stats, data);
	data += irqmod_get_sset_count(netdev, ETH_SS_STATS);
	for (i = 0; i < loop_queues; i++) {
		*data++ = READ_ONCE(loop->queue[i].sent);
		*data++ = atomic_read(&loop->queue[i].received);
		*data++ = READ_ONCE(loop->queue[i].cleared);
	}
}

static const struct ethtool_ops loop_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_coalesce = irqmod_get_coalesce,
	.set_coalesce = irqmod_set_coalesce,
	.get_per_queue_coalesce = irqmod_get_per_queue_coalesce,
	.set_per_queue_coalesce = irqmod_set_per_queue_coalesce,
	.get_sset_count = loop_get_sset_count,
	.get_strings = loop_get_strings,
	.get_ethtool_stats = loop_get_ethtool_stats,
};

static void loop_add_queue(struct loop *loop, unsigned int i)
{
	struct loop_queue *q = &loop->queue[i];

	q->cpu = cpumask_nth(i % num_online_cpus(), cpu_online_mask);
	loop_hardware_init(q);
	irqmod_add_queue(&loop->port, &q->queue);
}

static int __init loop_init(void)
{
	struct net_device *netdev;
	struct loop *loop;
	unsigned int i;
	int err;

	loop_queues = clamp(loop_queues, 1u, (unsigned int)LOOP_QUEUES);
	netdev = alloc_etherdev_mqs(sizeof(*loop), loop_queues, loop_queues);
	if (!netdev)
		return -ENOMEM;
	loop = netdev_priv(netdev);
	loop->stopped = true;
	loop->port.netdev = netdev;
	loop->port.ops = &loop_irqmod_ops;
	loop->port.caps = IRQMOD_CAP_MASK | (irq_bit ? IRQMOD_CAP_TX_IRQ_BIT : 0);
	loop->port.rx_ring = LOOP_RX_RING;
	loop->port.tx_ring = LOOP_TX_RING;
	loop->port.tx_reserve = 1;
	loop->port.wire_mbps = SPEED_100;
	for (i = 0; i < loop_queues; i++)
		loop_add_queue(loop, i);
	strscpy(netdev->name, "irqloop%d", sizeof(netdev->name));
	eth_hw_addr_random(netdev);
	netdev->netdev_ops = &loop_netdev_ops;
	netdev->ethtool_ops = &loop_ethtool_ops;

	err = irqmod_register(&loop->port);
	if (err)
		goto free;
	err = register_netdev(netdev);
	if (err)
		goto unregister_port;
	err = loop_start_senders(loop);
	if (err)
		goto unregister;
	loop_netdev = netdev;
	return 0;

unregister:
	unregister_netdev(netdev);
unregister_port:
	irqmod_unregister(&loop->port);
free:
	free_netdev(netdev);
	return err;
}

static void __exit loop_exit(void)
{
	struct loop *loop = netdev_priv(loop_netdev);

	loop_stop_waking();
	loop_stop_senders(loop);
	unregister_netdev(loop_netdev);
	irqmod_unregister(&loop->port);
	free_netdev(loop_netdev);
}

module_init(loop_init);
module_exit(loop_exit);

MODULE_DESCRIPTION("Device without hardware, with several queues, to test irqmod");
MODULE_LICENSE("GPL");
