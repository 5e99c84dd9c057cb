// SPDX-License-Identifier: GPL-2.0-only
/* Which queue a frame goes to (7.1.2): RSS, by a Toeplitz hash and a table. */
#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

#define RETA_QUEUE	7		/* the bit of an entry that chooses the queue */

/* The frames spread over all queues in use. */
void i82574_rss_spread(struct i82574 *nic)
{
	unsigned int i;

	for (i = 0; i < RETA_ENTRIES; i++)
		nic->rss_table[i] = ethtool_rxfh_indir_default(i, nic->port.queues_used);
}

void i82574_rss_init(struct i82574 *nic)
{
	netdev_rss_key_fill(nic->rss_key, RSS_KEY_BYTES);
	i82574_rss_spread(nic);
}

void i82574_rss_write(struct i82574 *nic)
{
	unsigned int i, j;
	u32 word;

	for (i = 0; i < RSS_KEY_BYTES; i += 4)
		i82574_write(nic, RSSRK(i / 4), get_unaligned_le32(&nic->rss_key[i]));
	for (i = 0; i < RETA_ENTRIES; i += 4) {
		for (j = 0, word = 0; j < 4; j++)
			word |= (u32)nic->rss_table[i + j] << (8 * j + RETA_QUEUE);
		i82574_write(nic, RETA(i / 4), word);
	}
	i82574_write(nic, MRQC, MRQC_TWO_QUEUES | MRQC_TCP_IPV4 | MRQC_IPV4 |
		     MRQC_TCP_IPV6 | MRQC_IPV6);
}

u32 i82574_get_rxfh_key_size(struct net_device *netdev)
{
	return RSS_KEY_BYTES;
}

u32 i82574_get_rxfh_indir_size(struct net_device *netdev)
{
	return RETA_ENTRIES;
}

int i82574_get_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh)
{
	const struct i82574 *nic = i82574_of(netdev);
	unsigned int i;

	rxfh->hfunc = ETH_RSS_HASH_TOP;
	if (rxfh->key)
		memcpy(rxfh->key, nic->rss_key, RSS_KEY_BYTES);
	for (i = 0; rxfh->indir && i < RETA_ENTRIES; i++)
		rxfh->indir[i] = nic->rss_table[i];
	return 0;
}

int i82574_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		    struct netlink_ext_ack *extack)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int i;

	if (rxfh->hfunc != ETH_RSS_HASH_NO_CHANGE &&
	    rxfh->hfunc != ETH_RSS_HASH_TOP) {
		NL_SET_ERR_MSG_MOD(extack, "hfunc: toeplitz");
		return -EOPNOTSUPP;
	}
	if (rxfh->key)
		memcpy(nic->rss_key, rxfh->key, RSS_KEY_BYTES);
	/* The ethtool core has checked that there are such queues. */
	for (i = 0; rxfh->indir && i < RETA_ENTRIES; i++)
		nic->rss_table[i] = rxfh->indir[i];
	if (nic->running)
		i82574_rss_write(nic);
	return 0;
}

/* What is hashed: of TCP, the ports, too. */
int i82574_get_rxfh_fields(struct net_device *netdev,
			   struct ethtool_rxfh_fields *fields)
{
	switch (fields->flow_type) {
	case TCP_V4_FLOW:
	case TCP_V6_FLOW:
		fields->data = RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 |
			       RXH_L4_B_2_3;
		return 0;
	case UDP_V4_FLOW:
	case UDP_V6_FLOW:
	case SCTP_V4_FLOW:
	case SCTP_V6_FLOW:
	case AH_ESP_V4_FLOW:
	case AH_ESP_V6_FLOW:
	case IPV4_FLOW:
	case IPV6_FLOW:
		fields->data = RXH_IP_SRC | RXH_IP_DST;
		return 0;
	}
	return -EINVAL;
}

void i82574_get_channels(struct net_device *netdev,
			 struct ethtool_channels *channels)
{
	const struct i82574 *nic = i82574_of(netdev);

	channels->max_combined = nic->msix ? QUEUES : 1;
	channels->combined_count = nic->port.queues_used;
}

int i82574_set_channels(struct net_device *netdev,
			struct ethtool_channels *channels)
{
	struct i82574 *nic = i82574_of(netdev);
	bool running = nic->running;
	int err;

	/* The ethtool core has checked the maxima, and the table if a user set it. */
	if (channels->combined_count == nic->port.queues_used)
		return 0;
	if (running)
		i82574_down(&nic->port);
	err = irqmod_use_queues(&nic->port, channels->combined_count);
	if (!err && !netif_is_rxfh_configured(netdev))
		i82574_rss_spread(nic);
	if (running && i82574_up(&nic->port))
		irqmod_reset(&nic->port);
	return err;
}
