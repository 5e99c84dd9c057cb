// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wake-up by magic packet, 82558 and later. The chip looks for the packet while it
 * is in a low-power state; the PCI core enables PME# if the device may wake the
 * machine (device_set_wakeup_enable()).
 */
#include "i8255x.h"

static bool i8255x_wake_supported(const struct i8255x *np)
{
	return np->chip >= I82558 && device_can_wakeup(&np->pdev->dev);
}

/* At the probe: as the EEPROM says. */
void i8255x_wake_init(struct i8255x *np)
{
	np->wake = i8255x_wake_supported(np) &&
		   irqmod_microwire_read(&np->eeprom, EEPROM_ID) &
			EEPROM_ID_WAKE;
	device_set_wakeup_enable(&np->pdev->dev, np->wake);
	pci_pme_active(np->pdev, false);
}

/* Called before the machine sleeps, with the interface stopped. A reset makes the
 * chip forget address and configuration.
 */
void i8255x_wake_arm(struct i8255x *np)
{
	struct i8255x_cb *cb = &np->shared->block.cb;
	int err;

	if (!np->wake)
		return;
	err = i8255x_hw_reset(np);
	if (!err) {
		memcpy(cb->address, np->netdev->dev_addr, ETH_ALEN);
		err = i8255x_execute(np, CB_IA_SETUP);
	}
	if (!err) {
		i8255x_config(np, cb->config);
		cb->config[19] &= ~CONFIG19_NO_MAGIC;
		err = i8255x_execute(np, CB_CONFIGURE);
	}
	if (err)
		netdev_warn(np->netdev, "will not wake the machine: %pe\n",
			    ERR_PTR(err));
}

void i8255x_get_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	const struct i8255x *np = netdev_priv(netdev);

	wol->supported = i8255x_wake_supported(np) ? WAKE_MAGIC : 0;
	wol->wolopts = np->wake ? WAKE_MAGIC : 0;
}

int i8255x_set_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	struct i8255x *np = netdev_priv(netdev);

	if (wol->wolopts &&
	    (wol->wolopts != WAKE_MAGIC || !i8255x_wake_supported(np)))
		return -EOPNOTSUPP;
	np->wake = wol->wolopts;
	device_set_wakeup_enable(&np->pdev->dev, np->wake);
	return 0;
}
