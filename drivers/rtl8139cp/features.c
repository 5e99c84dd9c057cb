// SPDX-License-Identifier: GPL-2.0-only
/* Offloads, and the packets that they are not for. */
#include <linux/if_vlan.h>

#include "rtl8139cp.h"

void cp_set_cpcr(struct cp *cp, netdev_features_t features)
{
	cp->cpcr &= ~(CP_CPCR_RXCHK | CP_CPCR_RXVLAN);
	if (features & NETIF_F_RXCSUM)
		cp->cpcr |= CP_CPCR_RXCHK;
	if (features & NETIF_F_HW_VLAN_CTAG_RX)
		cp->cpcr |= CP_CPCR_RXVLAN;
}

/* No TSO with an MTU whose MSS the chip has no bits for, or with a ring that does not
 * hold two packets.
 */
netdev_features_t cp_fix_features(struct net_device *netdev,
				  netdev_features_t features)
{
	if (netdev->mtu > CP_TX_MSS_MAX ||
	    cp_of(netdev)->port.tx_ring < CP_TSO_RING_MIN)
		features &= ~NETIF_F_TSO;
	return features;
}

/* Packets whose segments the chip cannot make: it does not look behind a VLAN tag
 * in the data, where the stack puts those that the chip does not insert (802.1ad);
 * and others' packets may have segments of any size.
 */
netdev_features_t cp_features_check(struct sk_buff *skb,
				    struct net_device *netdev,
				    netdev_features_t features)
{
	if (skb_is_gso(skb) &&
	    (skb_shinfo(skb)->gso_size > CP_TX_MSS_MAX ||
	     eth_type_vlan(skb->protocol) ||
	     (skb_vlan_tag_present(skb) &&
	      !vlan_hw_offload_capable(netdev->features, skb->vlan_proto))))
		features &= ~NETIF_F_TSO;
	return vlan_features_check(skb, features);
}

/* With TSO the queue stops earlier. Called before the first such packet. */
static void cp_set_segs(struct cp *cp, netdev_features_t features)
{
	unsigned int segs = features & NETIF_F_TSO ? CP_TSO_SEGS : CP_TX_SEGS;

	WRITE_ONCE(cp->port.tx_reserve, segs);
	/* An interrupt or a softirq may be waking the queue with less: wait for it. */
	synchronize_net();
	__netif_tx_lock_bh(cp->queue.txq);
	cp->tx_segs = segs;
	if (cp->running && cp_tx_room(&cp->queue) < cp->tx_segs)
		irqmod_tx_full(&cp->queue, cp->tx_segs);
	__netif_tx_unlock_bh(cp->queue.txq);
}

int cp_set_features(struct net_device *netdev, netdev_features_t features)
{
	struct cp *cp = cp_of(netdev);

	if ((features ^ netdev->features) & NETIF_F_TSO)
		cp_set_segs(cp, features);
	cp_set_cpcr(cp, features);
	if (cp->running)
		writew(cp->cpcr, cp->regs + CP_CPCR);
	return 0;
}
