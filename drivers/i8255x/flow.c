// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flow control by pause frames (82558 and later). The chip sends them when its
 * receive FIFO is nearly full, and does not send frames while its partner asks for
 * a pause. Both or neither: descriptions of the bits that enable one alone disagree.
 */
#include <linux/io.h>

#include "i8255x.h"

/* Free space of the receive FIFO below which the chip asks for a pause. */
#define FLOW_1KB	1

static bool i8255x_flow_can(const struct i8255x *np)
{
	return np->chip >= I82558;
}

/* What the PHY advertises at power-on is what the EEPROM's owner wants. */
void i8255x_flow_init(struct i8255x *np)
{
	np->flow_auto = i8255x_flow_can(np);
}

static bool i8255x_flow_negotiated(struct i8255x *np)
{
	struct net_device *netdev = np->netdev;
	int phy = np->mii.phy_id;
	u16 both = i8255x_mdio_read(netdev, phy, MII_ADVERTISE) &
		   i8255x_mdio_read(netdev, phy, MII_LPA);

	return both & ADVERTISE_PAUSE_CAP && !np->mii.force_media &&
	       mii_nway_result(both) & LPA_DUPLEX;
}

/* After a reset the register is 0. */
void i8255x_flow_up(struct i8255x *np)
{
	if (np->flow)
		writeb(FLOW_1KB, np->regs + FLOW_THRESHOLD);
}

static void i8255x_flow_set(struct i8255x *np, bool flow)
{
	if (np->flow == flow)
		return;
	np->flow = flow;
	i8255x_flow_up(np);
	i8255x_apply(np);
}

/* The link may have come up: both sides have advertised. */
void i8255x_flow_link(struct i8255x *np)
{
	if (np->flow_auto && mii_link_ok(&np->mii))
		i8255x_flow_set(np, i8255x_flow_negotiated(np));
}

void i8255x_get_pauseparam(struct net_device *netdev,
			   struct ethtool_pauseparam *pause)
{
	struct i8255x *np = netdev_priv(netdev);

	pause->autoneg = np->flow_auto;
	pause->rx_pause = np->flow;
	if (np->flow_auto)
		pause->rx_pause = !!(i8255x_mdio_read(netdev, np->mii.phy_id,
						      MII_ADVERTISE) &
				     ADVERTISE_PAUSE_CAP);
	pause->tx_pause = pause->rx_pause;
}

int i8255x_set_pauseparam(struct net_device *netdev,
			  struct ethtool_pauseparam *pause)
{
	struct i8255x *np = netdev_priv(netdev);
	int phy = np->mii.phy_id;
	int was, advertise;

	if (!i8255x_flow_can(np))
		return -EOPNOTSUPP;
	if (pause->rx_pause != pause->tx_pause)
		return -EINVAL;
	i8255x_link_pause(np);
	np->flow_auto = pause->autoneg;
	was = i8255x_mdio_read(netdev, phy, MII_ADVERTISE);
	advertise = was & ~ADVERTISE_PAUSE_CAP;
	if (pause->rx_pause)
		advertise |= ADVERTISE_PAUSE_CAP;
	if (!pause->autoneg)
		i8255x_flow_set(np, pause->rx_pause);
	if (advertise == was) {
		i8255x_flow_link(np);
		i8255x_link_resume(np);
		return 0;
	}
	i8255x_mdio_write(netdev, phy, MII_ADVERTISE, advertise);
	irqmod_mii_save(&np->mii, &np->mii_kept);
	if (!np->mii.force_media)
		mii_nway_restart(&np->mii);
	netif_carrier_off(netdev);
	i8255x_link_resume(np);
	return 0;
}
