// SPDX-License-Identifier: GPL-2.0-only
/* What the chip does to packets: checksums and segments (7.2.11, 7.3). */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip6_checksum.h>

#include "i82574.h"

/* The longest headers that a context has a place for. */
#define TX_HEADER_MAX	255

/* The chip computes checksums and lengths of each segment from those without length
 * (7.2.11.1, 7.3).
 */
static int tx_segments(struct sk_buff *skb, struct i82574_packet *packet)
{
	unsigned int header = skb_tcp_all_headers(skb);
	int err = skb_cow_head(skb, 0);

	if (err)
		return err;
	packet->command |= TXD_TSE;
	packet->context_command |= TXD_TSE | TXD_CONTEXT_TCP | (skb->len - header);
	packet->context_options = skb_shinfo(skb)->gso_size << TXD_MSS_SHIFT |
				  header << TXD_HEADER_SHIFT;
	if (skb_is_gso_v6(skb)) {
		tcp_v6_gso_csum_prep(skb);
		return 0;
	}
	ip_hdr(skb)->tot_len = 0;
	ip_hdr(skb)->check = 0;
	tcp_hdr(skb)->check = ~csum_tcpudp_magic(ip_hdr(skb)->saddr,
						 ip_hdr(skb)->daddr, 0,
						 IPPROTO_TCP, 0);
	packet->options |= TXD_IXSM;
	packet->context_command |= TXD_CONTEXT_IPV4;
	/* IPCSS, IPCSO, IPCSE */
	packet->context |= skb_network_offset(skb) |
			   (skb_network_offset(skb) +
			    offsetof(struct iphdr, check)) << 8 |
			   (u64)(skb_transport_offset(skb) - 1) << 16;
	return 0;
}

/* Asks the chip for the checksum, and for segments. */
int i82574_tx_offload(struct sk_buff *skb, struct i82574_packet *packet)
{
	u64 start = skb_checksum_start_offset(skb);

	packet->options |= TXD_TXSM;
	packet->context_command = TXD_DEXT;
	/* TUCSS, TUCSO; TUCSE 0: to the end */
	packet->context = start << 32 | (start + skb->csum_offset) << 40;
	return skb_is_gso(skb) ? tx_segments(skb, packet) : 0;
}

/* Whether the chip can segment a packet. GRO also merges what PPPoE carries, which it
 * cannot. Not inline: it needs a frame on the stack.
 */
static noinline bool tx_can_segment(const struct sk_buff *skb)
{
	__be16 protocol = vlan_get_protocol(skb);

	return (protocol == htons(ETH_P_IP) || protocol == htons(ETH_P_IPV6)) &&
	       skb_tcp_all_headers(skb) <= TX_HEADER_MAX &&
	       skb_shinfo(skb)->gso_size >= 64;
}

netdev_features_t i82574_features_check(struct sk_buff *skb,
					struct net_device *netdev,
					netdev_features_t features)
{
	if (skb_is_gso(skb) && !tx_can_segment(skb))
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}
