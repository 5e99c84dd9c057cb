// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device without hardware, with several queues, to test the engine: what is sent
 * on a queue is received on the same one. A timer per queue is the hardware: it
 * sends, receives and interrupts, each queue on a CPU of its own. A thread per
 * queue sends frames and counts those that come back (ethtool -S: sent, received,
 * and cleared, those that were under way when the interface went down). It waits
 * while LOOP_WINDOW of its frames are under way, which the receive ring holds, but
 * not the transmit ring. So no frame should be lost.
 *
 * The parameter say makes messages for the test of netconsole.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "../irqmod/irqmod.h"
#include "../compat.h"

#define LOOP_QUEUES	8
#define LOOP_RX_RING	64
#define LOOP_TX_RING	32
#define LOOP_WINDOW	48
#define LOOP_STEP	32	/* packets sent in a step of the hardware */
#define LOOP_STEP_US	1000
#define LOOP_STEP_NS	(LOOP_STEP_US * NSEC_PER_USEC)
#define LOOP_ALL	(IRQMOD_RX | IRQMOD_TX)
#define LOOP_MESSAGES	1000

static unsigned int queues = 2;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "Number of queues, 1 to 8 (default 2)");

static bool irq_bit = true;
module_param(irq_bit, bool, 0444);
MODULE_PARM_DESC(irq_bit, "The TX cause can be requested per packet (default Y)");

static bool paused;
module_param(paused, bool, 0644);
MODULE_PARM_DESC(paused, "Send nothing (default N)");

/* What the interfaces sent during the last messages of @say. */
static unsigned int said;
module_param(said, uint, 0444);
MODULE_PARM_DESC(said, "Packets that all interfaces sent during the messages of say");

static u64 packets_sent(void)
{
	struct rtnl_link_stats64 stats;
	struct net_device *netdev;
	u64 packets = 0;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, netdev)
		packets += dev_get_stats(netdev, &stats)->tx_packets;
	rcu_read_unlock();
	return packets;
}

/* As a kernel that panics: many messages with interrupts disabled. */
static int loop_say(const char *text, const struct kernel_param *unused)
{
	unsigned int i, messages;
	unsigned long flags;
	u64 before;
	int err;

	err = kstrtouint(text, 0, &messages);
	if (err || messages > LOOP_MESSAGES)
		return -EINVAL;
	local_irq_save(flags);
	before = packets_sent();
	for (i = 0; i < messages; i++)
		pr_info("irqmod_loop: message %u\n", i);
	said = packets_sent() - before;
	local_irq_restore(flags);
	return 0;
}

static const struct kernel_param_ops loop_say_ops = { .set = loop_say };
module_param_cb(say, &loop_say_ops, NULL, 0200);
MODULE_PARM_DESC(say, "Log this many messages, at most 1000, with interrupts disabled");

static const char loop_stats[][ETH_GSTRING_LEN] = {
	"sent", "received", "cleared"
};

#define LOOP_STATS	ARRAY_SIZE(loop_stats)

struct loop_frame {
	struct ethhdr eth;
	__be16 queue;
	u8 rest[ETH_ZLEN - ETH_HLEN - 2];
} __packed;

struct loop_queue {
	struct irqmod_queue queue;
	unsigned int cpu;
	struct task_struct *sender;
	u32 sent;			/* by the sender, running totals */
	atomic_t received;		/* also on other CPUs (backlog) */
	u32 cleared;

	/* The hardware. */
	struct hrtimer step;
	spinlock_t lock;		/* @masked and @causes */
	u32 masked;
	u32 causes;

	/* Rings: running totals. */
	struct sk_buff *tx[LOOP_TX_RING];
	bool tx_irq[LOOP_TX_RING];
	u32 tx_filled;
	u32 tx_sent;			/* written by the hardware */
	u32 tx_done;
	struct loop_frame rx[LOOP_RX_RING];
	u32 rx_filled;			/* written by the hardware */
	u32 rx_taken;
	u32 rx_returned;
};

struct loop {
	struct irqmod_port port;	/* first: see irqmod.h */
	struct packet_type packets;
	bool stopped;			/* no scheme may touch the rings */
	struct loop_queue queue[LOOP_QUEUES];
};

static struct net_device *loop_netdev;

static struct loop_queue *to_loop(struct irqmod_queue *queue)
{
	return container_of(queue, struct loop_queue, queue);
}

/* Every operation on the rings checks that it is allowed now. */
static struct loop_queue *running(struct irqmod_queue *queue)
{
	const struct loop *loop = netdev_priv(queue->netdev);

	WARN_ON_ONCE(READ_ONCE(loop->stopped));
	return to_loop(queue);
}

static void loop_mask(struct irqmod_queue *queue, u32 groups)
{
	struct loop_queue *q = to_loop(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->masked |= groups;
	spin_unlock_irqrestore(&q->lock, flags);
}

/* What was raised while masked interrupts at the next step. */
static void loop_unmask(struct irqmod_queue *queue, u32 groups)
{
	struct loop_queue *q = running(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->masked &= ~groups;
	spin_unlock_irqrestore(&q->lock, flags);
}

static void loop_rx_ack(struct irqmod_queue *queue)
{
	struct loop_queue *q = running(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->causes &= ~IRQMOD_RX;
	spin_unlock_irqrestore(&q->lock, flags);
}

static bool loop_rx_pending(struct irqmod_queue *queue)
{
	struct loop_queue *q = running(queue);

	/* Pairs with hardware_send(). */
	return smp_load_acquire(&q->rx_filled) != q->rx_taken;
}

static void loop_rx_refill(struct irqmod_queue *queue)
{
	struct loop_queue *q = running(queue);
	u32 limit = min_t(u32, READ_ONCE(queue->rx_limit), LOOP_RX_RING);
	/* Pairs with loop_rx_take(), for schemes that refill later. */
	u32 missing = smp_load_acquire(&q->rx_taken) - q->rx_returned;
	u32 spare = LOOP_RX_RING - limit;

	if (missing > spare)
		/* Pairs with hardware_send(). */
		smp_store_release(&q->rx_returned,
				  q->rx_returned + missing - spare);
}

static int loop_rx_take(struct irqmod_queue *queue, int budget)
{
	struct loop_queue *q = running(queue);
	/* Pairs with hardware_send(). */
	u32 left = smp_load_acquire(&q->rx_filled) - q->rx_taken;
	unsigned int packets = 0, no_buffer = 0;
	struct sk_buff *skb;
	u32 i, taken = min_t(u32, left, budget);

	for (i = q->rx_taken; i != q->rx_taken + taken; i++) {
		skb = irqmod_rx_alloc(queue, ETH_ZLEN);
		if (!skb) {
			no_buffer++;
			continue;
		}
		packets++;
		skb_put_data(skb, &q->rx[i % LOOP_RX_RING], ETH_ZLEN);
		skb->protocol = eth_type_trans(skb, queue->netdev);
		skb_record_rx_queue(skb, queue->index);
		irqmod_deliver(queue, skb);
	}
	/* Pairs with loop_rx_refill(). */
	smp_store_release(&q->rx_taken, i);
	if (!queue->rx_deferred)
		loop_rx_refill(queue);

	u64_stats_update_begin(&queue->rx_stats.syncp);
	u64_stats_add(&queue->rx_stats.packets, packets);
	u64_stats_add(&queue->rx_stats.bytes, packets * ETH_ZLEN);
	u64_stats_add(&queue->rx_stats.no_buffer, no_buffer);
	u64_stats_update_end(&queue->rx_stats.syncp);
	return taken;
}

static unsigned int loop_tx_outstanding(struct irqmod_queue *queue)
{
	struct loop_queue *q = to_loop(queue);

	/* Pairs with loop_tx_reclaim(). */
	return READ_ONCE(q->tx_filled) - smp_load_acquire(&q->tx_done);
}

static unsigned int loop_tx_room(struct irqmod_queue *queue)
{
	return LOOP_TX_RING - loop_tx_outstanding(queue);
}

static unsigned int loop_tx_bytes(struct irqmod_queue *queue)
{
	struct loop_queue *q = running(queue);
	unsigned int bytes = 0;
	u32 i;

	for (i = q->tx_done; i != q->tx_filled; i++)
		bytes += q->tx[i % LOOP_TX_RING]->len;
	return bytes;
}

static unsigned int loop_tx_reclaim(struct irqmod_queue *queue)
{
	struct loop_queue *q = running(queue);
	/* Pairs with hardware_send(). */
	u32 i, sent = smp_load_acquire(&q->tx_sent);
	unsigned int bytes = 0, packets = sent - q->tx_done;

	for (i = q->tx_done; i != sent; i++) {
		bytes += q->tx[i % LOOP_TX_RING]->len;
		irqmod_tx_free(queue, q->tx[i % LOOP_TX_RING]);
	}
	if (!packets)
		return 0;
	/* Pairs with loop_tx_outstanding(). */
	smp_store_release(&q->tx_done, sent);
	irqmod_tx_completed(queue, packets, bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, packets);
	u64_stats_add(&queue->tx_stats.bytes, bytes);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets;
}

static const struct irqmod_ops loop_irqmod_ops = {
	.mask = loop_mask,
	.unmask = loop_unmask,
	.rx_ack = loop_rx_ack,
	.rx_take = loop_rx_take,
	.rx_pending = loop_rx_pending,
	.rx_refill = loop_rx_refill,
	.tx_reclaim = loop_tx_reclaim,
	.tx_outstanding = loop_tx_outstanding,
	.tx_bytes = loop_tx_bytes,
	.tx_room = loop_tx_room,
};

static netdev_tx_t loop_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct loop *loop = netdev_priv(netdev);
	struct loop_queue *q = &loop->queue[skb_get_queue_mapping(skb)];
	unsigned int i = q->tx_filled % LOOP_TX_RING;

	running(&q->queue);
	irqmod_tx_begin(&q->queue);
	q->tx[i] = skb;
	q->tx_irq[i] = !irq_bit || irqmod_tx_wants_irq(&q->queue);
	irqmod_tx_sent(&q->queue, skb->len);
	/* Pairs with hardware_send(). */
	smp_store_release(&q->tx_filled, q->tx_filled + 1);
	irqmod_tx_queued(&q->queue, loop_tx_room(&q->queue), 1);
	return NETDEV_TX_OK;
}

/* Sends packets, and receives those of the sender, if there is room for them.
 * Returns the causes.
 */
static u32 hardware_send(struct loop_queue *q)
{
	/* Pairs with loop_xmit(). */
	u32 end = smp_load_acquire(&q->tx_filled);
	u32 sent, causes = 0;

	end = min(end - q->tx_sent, (u32)LOOP_STEP) + q->tx_sent;
	for (sent = q->tx_sent; sent != end; sent++) {
		struct sk_buff *skb = q->tx[sent % LOOP_TX_RING];
		/* Pairs with loop_rx_refill(). */
		u32 waiting = q->rx_filled - smp_load_acquire(&q->rx_returned);
		bool loops = skb->protocol == htons(ETH_P_802_EX1) &&
			     skb->len == ETH_ZLEN;

		/* No frame is lost: it waits on the transmit ring. */
		if (loops && waiting == LOOP_RX_RING)
			break;
		if (q->tx_irq[sent % LOOP_TX_RING])
			causes |= IRQMOD_TX;
		if (!loops)
			continue;
		memcpy(&q->rx[q->rx_filled % LOOP_RX_RING], skb->data, ETH_ZLEN);
		/* Pairs with loop_rx_take() and loop_rx_pending(). */
		smp_store_release(&q->rx_filled, q->rx_filled + 1);
		causes |= IRQMOD_RX;
	}
	/* Pairs with loop_tx_reclaim(). */
	smp_store_release(&q->tx_sent, sent);
	return causes;
}

static enum hrtimer_restart hardware_step(struct hrtimer *timer)
{
	struct loop_queue *q = container_of(timer, struct loop_queue, step);
	u32 raised, causes = hardware_send(q);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->causes |= causes;
	raised = q->causes & ~q->masked;
	q->causes &= q->masked;
	spin_unlock_irqrestore(&q->lock, flags);
	if (raised)
		irqmod_interrupt(&q->queue, raised);
	hrtimer_forward_now(timer, ns_to_ktime(LOOP_STEP_NS));
	return HRTIMER_RESTART;
}

static void hardware_start(void *data)
{
	struct loop_queue *q = data;

	hrtimer_start(&q->step, ns_to_ktime(LOOP_STEP_NS),
		      HRTIMER_MODE_REL_PINNED);
}

static int loop_open(struct net_device *netdev)
{
	struct loop *loop = netdev_priv(netdev);
	unsigned int i;

	WRITE_ONCE(loop->stopped, false);
	irqmod_start(&loop->port);
	for (i = 0; i < queues; i++) {
		struct loop_queue *q = &loop->queue[i];

		WRITE_ONCE(q->cleared, READ_ONCE(q->sent) -
				       atomic_read(&q->received));
		smp_call_function_single(q->cpu, hardware_start, q, true);
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
	for (i = 0; i < queues; i++) {
		struct loop_queue *q = &loop->queue[i];

		hrtimer_cancel(&q->step);
		WARN_ON_ONCE(q->masked != LOOP_ALL);
		WARN_ON_ONCE(!netif_tx_queue_stopped(q->queue.txq));
		for (; q->tx_done != q->tx_filled; q->tx_done++)
			kfree_skb(q->tx[q->tx_done % LOOP_TX_RING]);
		q->tx_sent = q->tx_filled;
		q->rx_taken = q->rx_filled;
		q->rx_returned = q->rx_filled;
		q->causes = 0;
	}
	return 0;
}

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

/* A frame has come back. */
static int loop_received(struct sk_buff *skb, struct net_device *netdev,
			 struct packet_type *packets,
			 struct net_device *original)
{
	struct loop *loop = netdev_priv(netdev);
	const struct loop_frame *frame = (void *)skb_mac_header(skb);
	u16 i = be16_to_cpu(frame->queue);

	if (!WARN_ON_ONCE(i >= queues || skb_get_rx_queue(skb) != i))
		atomic_inc(&loop->queue[i].received);
	kfree_skb(skb);
	return NET_RX_SUCCESS;
}

static bool send_one(struct loop_queue *q)
{
	struct net_device *netdev = q->queue.netdev;
	struct loop_frame *frame;
	struct sk_buff *skb;

	skb = netdev_alloc_skb(netdev, ETH_ZLEN);
	if (!skb)
		return false;
	frame = skb_put_zero(skb, ETH_ZLEN);
	ether_addr_copy(frame->eth.h_dest, netdev->dev_addr);
	ether_addr_copy(frame->eth.h_source, netdev->dev_addr);
	frame->eth.h_proto = htons(ETH_P_802_EX1);
	frame->queue = cpu_to_be16(q->queue.index);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_802_EX1);
	skb_set_queue_mapping(skb, q->queue.index);
	WRITE_ONCE(q->sent, q->sent + 1);
	if (dev_queue_xmit(skb) == NET_XMIT_SUCCESS)
		return true;
	WRITE_ONCE(q->sent, q->sent - 1);
	return false;
}

static int under_way(const struct loop_queue *q)
{
	return q->sent - atomic_read(&q->received) - READ_ONCE(q->cleared);
}

static int loop_sender(void *data)
{
	struct loop_queue *q = data;

	while (!kthread_should_stop()) {
		while (!READ_ONCE(paused) && under_way(q) < LOOP_WINDOW &&
		       send_one(q))
			;
		usleep_range(LOOP_STEP_US, 2 * LOOP_STEP_US);
	}
	return 0;
}

static int loop_get_sset_count(struct net_device *netdev, int sset)
{
	int count = irqmod_get_sset_count(netdev, sset);

	return count < 0 ? count : count + queues * LOOP_STATS;
}

static void loop_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	unsigned int i, j;

	irqmod_get_strings(netdev, sset, data);
	data += irqmod_get_sset_count(netdev, sset) * ETH_GSTRING_LEN;
	for (i = 0; i < queues; i++)
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
	for (i = 0; i < queues; i++) {
		*data++ = READ_ONCE(loop->queue[i].sent);
		*data++ = atomic_read(&loop->queue[i].received);
		*data++ = READ_ONCE(loop->queue[i].cleared);
	}
}

static const struct ethtool_ops loop_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_coalesce = irqmod_get_coalesce,
	.set_coalesce = irqmod_set_coalesce,
	.get_sset_count = loop_get_sset_count,
	.get_strings = loop_get_strings,
	.get_ethtool_stats = loop_get_ethtool_stats,
};

static void loop_add_queue(struct loop *loop, unsigned int i)
{
	struct loop_queue *q = &loop->queue[i];

	q->cpu = cpumask_nth(i % num_online_cpus(), cpu_online_mask);
	q->masked = LOOP_ALL;
	spin_lock_init(&q->lock);
	hrtimer_setup(&q->step, hardware_step, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	irqmod_add_queue(&loop->port, &q->queue);
}

static void stop_senders(struct loop *loop)
{
	unsigned int i;

	for (i = 0; i < queues; i++)
		if (loop->queue[i].sender)
			kthread_stop(loop->queue[i].sender);
	dev_remove_pack(&loop->packets);
}

static int start_senders(struct loop *loop)
{
	unsigned int i;

	loop->packets.type = htons(ETH_P_802_EX1);
	loop->packets.dev = loop->port.netdev;
	loop->packets.func = loop_received;
	dev_add_pack(&loop->packets);
	for (i = 0; i < queues; i++) {
		struct loop_queue *q = &loop->queue[i];
		struct task_struct *sender;

		sender = kthread_create(loop_sender, q, "irqmod_loop/%u", i);
		if (IS_ERR(sender)) {
			stop_senders(loop);
			return PTR_ERR(sender);
		}
		q->sender = sender;
		kthread_bind(sender, q->cpu);
		wake_up_process(sender);
	}
	return 0;
}

static int __init loop_init(void)
{
	struct net_device *netdev;
	struct loop *loop;
	unsigned int i;
	int err;

	queues = clamp(queues, 1u, (unsigned int)LOOP_QUEUES);
	netdev = alloc_etherdev_mqs(sizeof(*loop), queues, queues);
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
	for (i = 0; i < queues; i++)
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
	err = start_senders(loop);
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

	stop_senders(loop);
	unregister_netdev(loop_netdev);
	irqmod_unregister(&loop->port);
	free_netdev(loop_netdev);
}

module_init(loop_init);
module_exit(loop_exit);

MODULE_DESCRIPTION("Device without hardware, with several queues, to test irqmod");
MODULE_LICENSE("GPL");
