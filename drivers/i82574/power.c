// SPDX-License-Identifier: GPL-2.0-only
/* Wake-up (10.2, WUC and WUFC), and an interface that is down, which sleeps. */
#include <linux/pm_runtime.h>

#include "i82574.h"

void i82574_sleep(struct irqmod_port *port)
{
	struct i82574 *nic = i82574_of(port->netdev);
	u32 filter = 0;

	if (port->wol & WAKE_PHY)
		filter |= WUFC_LINK;
	if (port->wol & WAKE_MAGIC)
		filter |= WUFC_MAGIC;
	if (port->wol & WAKE_UCAST)
		filter |= WUFC_UNICAST;
	if (port->wol & WAKE_MCAST)
		filter |= WUFC_MULTICAST;
	if (port->wol & WAKE_BCAST)
		filter |= WUFC_BROADCAST;
	if (filter) {
		i82574_change(nic, CTRL, 0, CTRL_SLU | CTRL_ADVD3WUC);
		i82574_change(nic, CTRL_EXT, CTRL_EXT_PHY_POWER, 0);
		i82574_write(nic, RCTL, RCTL_EN | RCTL_BAM |
			     (port->wol & WAKE_MCAST ? RCTL_MPE : 0));
	}
	i82574_write(nic, WUS, ~0);
	i82574_write(nic, WUFC, filter);
	i82574_write(nic, WUC, filter ? WUC_PME_EN : 0);
}

void i82574_restore(struct irqmod_port *port)
{
	struct i82574 *nic = i82574_of(port->netdev);

	pci_set_master(nic->pdev);
	i82574_write(nic, WUS, ~0);
	i82574_write(nic, WUFC, 0);
	i82574_write(nic, WUC, 0);
	i82574_phy_restore(nic);
}

/* Runtime: only an interface that is down sleeps (i82574_open()). */
static int i82574_runtime_suspend(struct device *dev)
{
	return netif_running(dev_get_drvdata(dev)) ? -EBUSY : 0;
}

/* It has lost what the probe set up: a reset makes it as it was. */
static int i82574_runtime_resume(struct device *dev)
{
	struct i82574 *nic = i82574_of(dev_get_drvdata(dev));
	int err = i82574_hw_reset(nic);

	i82574_phy_restore(nic);
	return err;
}

const struct dev_pm_ops i82574_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(irqmod_pci_suspend, irqmod_pci_resume)
	RUNTIME_PM_OPS(i82574_runtime_suspend, i82574_runtime_resume, NULL)
};
