// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: wake-up by link, magic packet, and frames to us, to all and to groups.
 * The chip's bits are set all the time; PME# is enabled by the PCI core, if the
 * device may wake the machine, while that sleeps (device_set_wakeup_enable()).
 */
#include "rtl8139cp.h"

#define CP_WAKE		(WAKE_PHY | WAKE_UCAST | WAKE_MCAST | WAKE_BCAST | \
			 WAKE_MAGIC)

/* RTNL */
void cp_wake_write(struct cp *cp)
{
	u8 config3, config5;

	config3 = readb(cp->regs + CP_CONFIG3) &
		  ~(CP_CONFIG3_MAGIC | CP_CONFIG3_LINKUP);
	if (cp->wol & WAKE_MAGIC)
		config3 |= CP_CONFIG3_MAGIC;
	if (cp->wol & WAKE_PHY)
		config3 |= CP_CONFIG3_LINKUP;

	config5 = readb(cp->regs + CP_CONFIG5) &
		  ~(CP_CONFIG5_BWF | CP_CONFIG5_MWF | CP_CONFIG5_UWF);
	if (cp->wol & WAKE_BCAST)
		config5 |= CP_CONFIG5_BWF;
	if (cp->wol & WAKE_MCAST)
		config5 |= CP_CONFIG5_MWF;
	if (cp->wol & WAKE_UCAST)
		config5 |= CP_CONFIG5_UWF;

	cp_hw_unlock(cp);
	writeb(config3, cp->regs + CP_CONFIG3);
	writeb(config5, cp->regs + CP_CONFIG5);
	cp_hw_lock(cp);
}

/* Called before the machine sleeps, with the interface stopped: a reset makes the
 * chip forget what it receives.
 */
void cp_wake_arm(struct cp *cp)
{
	if (!cp->wol)
		return;
	cp_hw_accept(cp);
	cp_wake_write(cp);
}

void cp_get_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	const struct cp *cp = cp_of(netdev);

	wol->supported = device_can_wakeup(cp->dev) ? CP_WAKE : 0;
	wol->wolopts = cp->wol;
}

int cp_set_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	struct cp *cp = cp_of(netdev);

	if (wol->wolopts &&
	    (wol->wolopts & ~CP_WAKE || !device_can_wakeup(cp->dev)))
		return -EOPNOTSUPP;
	cp->wol = wol->wolopts;
	cp_wake_write(cp);
	device_set_wakeup_enable(cp->dev, cp->wol);
	return 0;
}
