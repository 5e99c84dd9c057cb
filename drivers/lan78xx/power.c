// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and resume. An interface that is up keeps its device awake, so runtime
 * suspend only happens while the interface is down and nothing is running.
 * System suspend stops the interface; resume, with or without a reset,
 * reinitializes the chip completely.
 *
 * Only system suspend takes RTNL: opening an interface waits for a runtime
 * resume while holding it.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "lan78xx.h"

/* Prepares the chip for suspend; @wol (WAKE_...) are the wake-up sources. */
static int lan78xx_sleep_mode(struct lan78xx *np, u32 wol)
{
	u32 wake = 0, mode = PMT_RES_CLR_WKP_STS | PMT_SUS_MODE_3;
	int err;

	if (wol & WAKE_MAGIC)
		wake |= WUCSR_MPEN;
	if (wol & WAKE_UCAST)
		wake |= WUCSR_PFDA_EN;
	if (wol & WAKE_BCAST)
		wake |= WUCSR_BCST_EN;
	if (wake)
		mode |= PMT_WOL_EN;
	if (wol & WAKE_PHY)
		mode |= PMT_WOL_EN | PMT_PHY_WAKE_EN;
	/* Mode 3 only detects magic packets; all else needs mode 0. */
	if (wol & ~WAKE_MAGIC)
		mode &= ~PMT_SUS_MODE_MASK;

	err = lan78xx_set(np, { WUCSR, ~0, 0 }, { WUCSR2, ~0, 0 },
			  { WK_SRC, ~0, WK_SRC_ALL }, { WUCSR, ~0, wake },
			  { PMT_CTL, PMT_RES_CLR_WKP_STS | PMT_RES_CLR_WKP_EN |
			    PMT_SUS_MODE_MASK | PMT_WOL_EN | PMT_PHY_WAKE_EN | PMT_WUPS,
			    mode | PMT_WUPS });
	if (!err && wol & WAKE_PHY)
		err = lan78xx_phy_unmask(np);
	/* Wake-up by frames needs the receiver. */
	if (!err && wake)
		err = lan78xx_hw_start(np);
	return err;
}

int lan78xx_suspend(struct usb_interface *intf, pm_message_t message)
{
	struct lan78xx *np = usb_get_intfdata(intf);
	struct net_device *netdev = np->netdev;
	int err;

	if (PMSG_IS_AUTO(message)) {
		err = lan78xx_sleep_mode(np, 0);
		return err == -ENODEV ? 0 : err;
	}
	rtnl_lock();
	netif_device_detach(netdev);
	np->suspended = true;
	np->asleep = np->started;
	lan78xx_halt(np);
	rtnl_unlock();
	cancel_work_sync(&np->port.reset_work);
	/* A device that does not respond must not prevent system suspend. */
	lan78xx_sleep_mode(np, np->asleep ? np->port.wol : 0);
	return 0;
}

int lan78xx_resume(struct usb_interface *intf)
{
	struct lan78xx *np = usb_get_intfdata(intf);
	int err = 0;

	if (!np->suspended)
		return 0;	/* runtime resume: open does the rest */
	rtnl_lock();
	np->phy_lost = true;
	np->suspended = false;
	if (np->asleep) {
		np->asleep = false;
		err = lan78xx_start(np);
	}
	/* Down, so that bringing it up is another attempt. */
	if (err)
		dev_close(np->netdev);
	netif_device_attach(np->netdev);
	rtnl_unlock();
	return err;
}

/* The device has been reset, and may have been without power. If it was suspended
 * at runtime before the system was, lan78xx_suspend() has not been called.
 */
int lan78xx_reset_resume(struct usb_interface *intf)
{
	struct lan78xx *np = usb_get_intfdata(intf);

	np->phy_lost = true;	/* the interface cannot be opened meanwhile */
	return lan78xx_resume(intf);
}
