// SPDX-License-Identifier: GPL-2.0-only
/* Where frames go from the ring: to the backlog, or straight up the stack. */
#include "scheme.h"

/* From hard IRQ: onto input_pkt_queue, whatever the protocol. */
void irqmod_deliver_backlog(struct irqmod_port *port, struct sk_buff *skb)
{
	if (netif_rx(skb) == NET_RX_DROP) {
		u64_stats_update_begin(&port->rx_stats.syncp);
		u64_stats_inc(&port->rx_stats.backlog_drops);
		u64_stats_update_end(&port->rx_stats.syncp);
	}
}

/* From softirq: collected, and handed up as a list at the end of the pass. A
 * list costs less than its frames one by one: the route of the first serves
 * the others that go the same way (net/ipv4/ip_input.c, ip_list_rcv).
 */
void irqmod_deliver_stack(struct irqmod_port *port, struct sk_buff *skb)
{
	list_add_tail(&skb->list, &port->rx_list);
}

/* The end of a pass. GRO is not used: see "Lists, not GRO" in ../README.md. */
void irqmod_deliver_flush(struct irqmod_port *port)
{
	if (list_empty(&port->rx_list))
		return;
	netif_receive_skb_list(&port->rx_list);
	INIT_LIST_HEAD(&port->rx_list);
}
