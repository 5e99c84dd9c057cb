// SPDX-License-Identifier: GPL-2.0-only
/* Delivery of received frames: to the backlog, or directly to the stack. */
#include <linux/if_pppox.h>
#include <linux/module.h>
#include <linux/ppp_defs.h>
#include <net/busy_poll.h>

#include "scheme.h"

IRQMOD_PARAMETER(single_frames, bool, 0644,
		 "For comparison: each frame is delivered on its own, not in a list at the end of a pass; takes effect when the interface comes up (default N)");

/**
 * irqmod_is_pppoe_flow() - the same as irqmod_is_flow() for what PPPoE carries
 * @skb: the frame
 *
 * Linux 7.3 merges it.
 *
 * Return: true for an IP packet that is not UDP.
 */
bool irqmod_is_pppoe_flow(const struct sk_buff *skb)
{
	if (skb_headlen(skb) < PPPOE_SES_HLEN)
		return false;
	switch (be16_to_cpup((const void *)(skb->data + PPPOE_SES_HLEN - 2))) {
	case PPP_IP:
		return irqmod_is_ip_flow(skb, PPPOE_SES_HLEN);
	case PPP_IPV6:
		return irqmod_is_ip6_flow(skb, PPPOE_SES_HLEN);
	default:
		return false;
	}
}
EXPORT_SYMBOL_GPL(irqmod_is_pppoe_flow);

/* Hard IRQ: queue the frame on input_pkt_queue. */
void irqmod_deliver_backlog(struct irqmod_queue *queue, struct sk_buff *skb)
{
	if (netif_rx(skb) == NET_RX_DROP) {
		u64_stats_update_begin(&queue->rx_stats.syncp);
		u64_stats_inc(&queue->rx_stats.backlog_drops);
		u64_stats_update_end(&queue->rx_stats.syncp);
	}
}

/* Softirq: collect frames and deliver them as a list at the end of the pass.
 * A list costs less than single frames: the stack reuses the route of the first
 * frame for following ones with the same destination (net/ipv4/ip_input.c,
 * ip_list_rcv).
 */
void irqmod_deliver_stack(struct irqmod_queue *queue, struct sk_buff *skb)
{
	list_add_tail(&skb->list, &queue->rx_list);
}

/* The same with the NAPI's ID, which sockets need to poll the device (busy
 * polling, IRQ suspension). Only for frames of a ring that nothing but the poll
 * takes frames from: a socket may call the poll at any time.
 */
static void deliver_napi(struct irqmod_queue *queue, struct sk_buff *skb)
{
	skb_mark_napi_id(skb, &queue->napi);
	list_add_tail(&skb->list, &queue->rx_list);
}

/* The same, each frame at once, without and with the NAPI's ID. */
static void deliver_single(struct irqmod_queue *queue, struct sk_buff *skb)
{
	netif_receive_skb(skb);
}

static void deliver_single_napi(struct irqmod_queue *queue, struct sk_buff *skb)
{
	skb_mark_napi_id(skb, &queue->napi);
	netif_receive_skb(skb);
}

/* From now on frames are delivered with the NAPI's ID. */
void irqmod_deliver_as_napi(struct irqmod_queue *queue)
{
	queue->deliver = deliver_napi;
}

/* The scheme has chosen; the instrument changes its choice. */
void irqmod_deliver_chosen(struct irqmod_queue *queue)
{
	if (!irqmod_instrument(single_frames, false))
		return;
	if (queue->deliver == irqmod_deliver_stack)
		queue->deliver = deliver_single;
	else if (queue->deliver == deliver_napi)
		queue->deliver = deliver_single_napi;
}

/* End of a pass. */
void irqmod_deliver_flush(struct irqmod_queue *queue)
{
	if (list_empty(&queue->rx_list))
		return;
	netif_receive_skb_list(&queue->rx_list);
	INIT_LIST_HEAD(&queue->rx_list);
}
