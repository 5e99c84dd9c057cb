// SPDX-License-Identifier: GPL-2.0-only
#include <linux/rtnetlink.h>

#include "i8255x.h"

static void i8255x_get_drvinfo(struct net_device *netdev,
			       struct ethtool_drvinfo *info)
{
	struct i8255x *np = netdev_priv(netdev);

	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(np->pdev), sizeof(info->bus_info));
}

static void i8255x_get_ringparam(struct net_device *netdev,
				 struct ethtool_ringparam *ring,
				 struct kernel_ethtool_ringparam *kring,
				 struct netlink_ext_ack *extack)
{
	struct i8255x *np = netdev_priv(netdev);

	ring->rx_max_pending = RING_MAX;
	ring->tx_max_pending = RING_MAX;
	ring->rx_pending = np->rings.rx_count;
	ring->tx_pending = np->rings.tx_count;
}

/* Allocates the new rings first; if that fails, the old ones stay in use. */
static int i8255x_resize(struct i8255x *np, unsigned int rx, unsigned int tx)
{
	struct i8255x_rings old = np->rings;
	struct i8255x_rings new = { .rx_count = rx, .tx_count = tx };
	int err;

	err = i8255x_rx_alloc(np, &new);
	if (err)
		return err;
	err = i8255x_tx_alloc(np, &new);
	if (err) {
		i8255x_rx_free(np, &new);
		return err;
	}

	i8255x_down(np);
	np->rings = new;
	i8255x_rx_free(np, &old);
	i8255x_tx_free(np, &old);
	err = i8255x_up(np);
	netif_wake_queue(np->netdev);
	return err;
}

static int i8255x_set_ringparam(struct net_device *netdev,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kring,
				struct netlink_ext_ack *extack)
{
	struct i8255x *np = netdev_priv(netdev);

	if (ring->rx_pending < RING_MIN || ring->rx_pending > RING_MAX ||
	    ring->tx_pending < RING_MIN || ring->tx_pending > RING_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "rx and tx: 16 to 1024");
		return -EINVAL;
	}
	if (np->port.tx_frames > ring->tx_pending / 2) {
		NL_SET_ERR_MSG_MOD(extack, "tx: at least twice tx-frames (ethtool -C)");
		return -EINVAL;
	}
	if (netif_running(netdev))
		return i8255x_resize(np, ring->rx_pending, ring->tx_pending);
	np->rings.rx_count = ring->rx_pending;
	np->rings.tx_count = ring->tx_pending;
	np->port.rx_ring = np->rings.rx_count;
	np->port.tx_ring = np->rings.tx_count;
	return 0;
}

static int i8255x_get_link_ksettings(struct net_device *netdev,
				     struct ethtool_link_ksettings *settings)
{
	struct i8255x *np = netdev_priv(netdev);

	mii_ethtool_get_link_ksettings(&np->mii, settings);
	return 0;
}

static int i8255x_set_link_ksettings(struct net_device *netdev,
				     const struct ethtool_link_ksettings *settings)
{
	struct i8255x *np = netdev_priv(netdev);

	return mii_ethtool_set_link_ksettings(&np->mii, settings);
}

static int i8255x_nway_reset(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);

	return mii_nway_restart(&np->mii);
}

const struct ethtool_ops i8255x_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_drvinfo = i8255x_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.nway_reset = i8255x_nway_reset,
	.get_link_ksettings = i8255x_get_link_ksettings,
	.set_link_ksettings = i8255x_set_link_ksettings,
	.get_ringparam = i8255x_get_ringparam,
	.set_ringparam = i8255x_set_ringparam,
	.get_coalesce = irqmod_get_coalesce,
	.set_coalesce = irqmod_set_coalesce,
	.get_sset_count = irqmod_get_sset_count,
	.get_strings = irqmod_get_strings,
	.get_ethtool_stats = irqmod_get_ethtool_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};
