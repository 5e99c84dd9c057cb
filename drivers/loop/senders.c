// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqmod_loop: a thread per queue sends frames and counts those that come back. It
 * waits while LOOP_WINDOW of its frames are under way, which the receive ring holds,
 * but not the transmit ring. So no frame should be lost.
 */
#include <linux/kthread.h>

#include "loop.h"

/* A frame has come back. */
static int loop_received(struct sk_buff *skb, struct net_device *netdev,
			 struct packet_type *packets,
			 struct net_device *original)
{
	struct loop *loop = netdev_priv(netdev);
	const struct loop_frame *frame = (void *)skb_mac_header(skb);
	u16 i = be16_to_cpu(frame->queue);

	if (!WARN_ON_ONCE(i >= loop_queues || skb_get_rx_queue(skb) != i))
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
		while (!READ_ONCE(loop_paused) && under_way(q) < LOOP_WINDOW &&
		       send_one(q))
			;
		usleep_range(LOOP_STEP_US, 2 * LOOP_STEP_US);
	}
	return 0;
}

void loop_stop_senders(struct loop *loop)
{
	unsigned int i;

	for (i = 0; i < loop_queues; i++)
		if (loop->queue[i].sender)
			kthread_stop(loop->queue[i].sender);
	dev_remove_pack(&loop->packets);
}

int loop_start_senders(struct loop *loop)
{
	unsigned int i;

	loop->packets.type = htons(ETH_P_802_EX1);
	loop->packets.dev = loop->port.netdev;
	loop->packets.func = loop_received;
	dev_add_pack(&loop->packets);
	for (i = 0; i < loop_queues; i++) {
		struct loop_queue *q = &loop->queue[i];
		struct task_struct *sender;

		sender = kthread_create(loop_sender, q, "irqmod_loop/%u", i);
		if (IS_ERR(sender)) {
			loop_stop_senders(loop);
			return PTR_ERR(sender);
		}
		q->sender = sender;
		kthread_bind(sender, q->cpu);
		wake_up_process(sender);
	}
	return 0;
}
