// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive filtering engine: addresses, VLANs, and the offloads in the same
 * register. The stack requests changes in atomic context, where registers cannot
 * be written. An event therefore computes the complete configuration in process
 * context and writes what differs from the chip's.
 */
#include <linux/crc32.h>

#include "lan78xx.h"

struct lan78xx_filter {
	u32 rfe;
	u32 maf[MAF_COUNT][2];
	u32 tables[DP_VLAN_WORDS + DP_HASH_WORDS];
};

static void lan78xx_add_address(struct lan78xx_filter *f, unsigned int *used,
				const u8 *mac, bool *full)
{
	u32 hash;

	if (*used < MAF_COUNT) {
		f->maf[*used][0] = mac[4] | mac[5] << 8 | MAF_HI_VALID;
		f->maf[*used][1] = mac[0] | mac[1] << 8 | mac[2] << 16 |
				   (u32)mac[3] << 24;
		(*used)++;
		return;
	}
	*full = true;
	hash = ether_crc(ETH_ALEN, mac) >> 23;	/* 9 bits */
	f->tables[DP_VLAN_WORDS + hash / 32] |= BIT(hash % 32);
}

/* Computes the configuration that the stack requests. */
static void lan78xx_compute_filter(struct lan78xx *np, struct lan78xx_filter *f)
{
	struct net_device *netdev = np->netdev;
	netdev_features_t features = READ_ONCE(np->features);
	struct netdev_hw_addr *ha;
	unsigned int used = 0, i;
	bool full = false;

	f->rfe = RFE_BCAST_EN | RFE_DA_PERFECT;
	if (features & NETIF_F_RXCSUM)
		f->rfe |= RFE_TCPUDP_COE | RFE_IP_COE | RFE_ICMP_COE |
			  RFE_IGMP_COE;
	if (features & NETIF_F_HW_VLAN_CTAG_RX)
		f->rfe |= RFE_VLAN_STRIP;

	netif_addr_lock_bh(netdev);
	lan78xx_add_address(f, &used, netdev->dev_addr, &full);
	netdev_for_each_uc_addr(ha, netdev)
		lan78xx_add_address(f, &used, ha->addr, &full);
	if (full)
		f->rfe |= RFE_UCAST_EN;	/* the hash is for multicast only */
	full = false;
	netdev_for_each_mc_addr(ha, netdev)
		lan78xx_add_address(f, &used, ha->addr, &full);
	if (full)
		f->rfe |= RFE_MCAST_HASH;
	if (netdev->flags & IFF_ALLMULTI)
		f->rfe |= RFE_MCAST_EN;
	if (netdev->flags & IFF_PROMISC)
		f->rfe |= RFE_MCAST_EN | RFE_UCAST_EN;
	else if (features & NETIF_F_HW_VLAN_CTAG_FILTER)
		f->rfe |= RFE_VLAN_FILTER;
	netif_addr_unlock_bh(netdev);

	for (i = 0; i < VLAN_N_VID; i++)
		if (test_bit(i, np->vlans))
			f->tables[i / 32] |= BIT(i % 32);
}

static int lan78xx_write_table(struct lan78xx *np, u32 place, u32 value)
{
	int err;

	err = lan78xx_wait(np, DP_SEL, DP_SEL_DPRDY, DP_SEL_DPRDY);
	if (!err)
		err = lan78xx_set(np, { DP_SEL, DP_SEL_RSEL, DP_SEL_RSEL_VLAN_DA },
				  { DP_ADDR, ~0, place }, { DP_DATA, ~0, value },
				  { DP_CMD, ~0, DP_CMD_WRITE });
	if (!err)
		err = lan78xx_wait(np, DP_SEL, DP_SEL_DPRDY, DP_SEL_DPRDY);
	return err;
}

static int lan78xx_write_maf(struct lan78xx *np, unsigned int n,
			     const u32 *words)
{
	/* Invalid while it changes. */
	return lan78xx_set(np, { MAF_HI(n), ~0, 0 }, { MAF_LO(n), ~0, words[1] },
			   { MAF_HI(n), ~0, words[0] });
}

int lan78xx_apply_filter(struct lan78xx *np)
{
	struct lan78xx_filter *f;
	int err = 0;
	u32 i;

	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	mutex_lock(&np->port_lock);
	lan78xx_compute_filter(np, f);
	for (i = 0; !err && i < MAF_COUNT; i++) {
		if (!test_bit(i, np->maf_unsure) &&
		    !memcmp(f->maf[i], np->maf[i], sizeof(f->maf[i])))
			continue;
		set_bit(i, np->maf_unsure);	/* until all of it is written */
		err = lan78xx_write_maf(np, i, f->maf[i]);
		if (!err) {
			memcpy(np->maf[i], f->maf[i], sizeof(f->maf[i]));
			clear_bit(i, np->maf_unsure);
		}
	}
	for (i = 0; !err && i < ARRAY_SIZE(f->tables); i++) {
		if (!test_bit(i, np->tables_unsure) &&
		    f->tables[i] == np->tables[i])
			continue;
		set_bit(i, np->tables_unsure);
		err = lan78xx_write_table(np, i, f->tables[i]);
		if (!err) {
			np->tables[i] = f->tables[i];
			clear_bit(i, np->tables_unsure);
		}
	}
	if (!err)
		err = lan78xx_write(np, RFE_CTL, f->rfe);
	if (!err) {
		WRITE_ONCE(np->rx.strip, f->rfe & RFE_VLAN_STRIP);
		WRITE_ONCE(np->rx.checksums, f->rfe & RFE_TCPUDP_COE);
	}
	mutex_unlock(&np->port_lock);
	kfree(f);
	return err;
}

/* After a chip reset, entries that were not empty may have been cleared. */
void lan78xx_forget_filter(struct lan78xx *np)
{
	u32 i;

	mutex_lock(&np->port_lock);
	for (i = 0; i < MAF_COUNT; i++)
		if (np->maf[i][0])
			set_bit(i, np->maf_unsure);
	for (i = 0; i < ARRAY_SIZE(np->tables); i++)
		if (np->tables[i])
			set_bit(i, np->tables_unsure);
	mutex_unlock(&np->port_lock);
}

/* Initially, another driver may have left entries. */
void lan78xx_filter_init(struct lan78xx *np)
{
	mutex_init(&np->port_lock);
	bitmap_fill(np->maf_unsure, MAF_COUNT);
	bitmap_fill(np->tables_unsure, ARRAY_SIZE(np->tables));
}

/* If the chip is not started, the filter is written when it starts. */
void lan78xx_filter_changed(struct lan78xx *np)
{
	if (READ_ONCE(np->started))
		lan78xx_event(np, EVENT_FILTER);
}

void lan78xx_set_rx_mode(struct net_device *netdev)
{
	lan78xx_filter_changed(netdev_priv(netdev));
}

int lan78xx_vlan_add(struct net_device *netdev, __be16 proto, u16 vid)
{
	struct lan78xx *np = netdev_priv(netdev);

	set_bit(vid, np->vlans);
	lan78xx_filter_changed(np);
	return 0;
}

int lan78xx_vlan_kill(struct net_device *netdev, __be16 proto, u16 vid)
{
	struct lan78xx *np = netdev_priv(netdev);

	clear_bit(vid, np->vlans);
	lan78xx_filter_changed(np);
	return 0;
}
