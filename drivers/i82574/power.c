// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stops a chip in operation and starts it again: a transmit timeout, suspend and
 * resume, shutdown, PCI errors and resets; and wake-up (10.2, WUC and WUFC).
 */
#include <linux/pm_runtime.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

#define WAKE_ALL	(WAKE_PHY | WAKE_UCAST | WAKE_MCAST | WAKE_BCAST | WAKE_MAGIC)

void i82574_reset(struct work_struct *work)
{
	struct i82574 *nic = container_of(work, struct i82574, reset_work);
	struct net_device *netdev = nic->port.netdev;

	rtnl_lock();
	if (netif_running(netdev) && netif_device_present(netdev)) {
		i82574_down(nic);
		if (i82574_up(nic)) {
			netdev_err(netdev, "the NIC does not restart\n");
			dev_close(netdev);
		}
	}
	rtnl_unlock();
}

void i82574_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct i82574 *nic = i82574_of(netdev);
	const struct i82574_tx_ring *ring = &nic->queue[queue].tx;

	netdev_warn(netdev, "transmit timeout, queue %u: next %u, dirty %u, head %u\n",
		    queue, ring->next, ring->dirty,
		    i82574_read(nic, TDH(queue)));
	schedule_work(&nic->reset_work);
}

static void detach(struct i82574 *nic)
{
	rtnl_lock();
	netif_device_detach(nic->port.netdev);
	i82574_down(nic);
	rtnl_unlock();
}

static int attach(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	int err = 0;

	rtnl_lock();
	/* A reset by sysfs may have started it while the PCI core recovers. */
	i82574_down(nic);
	i82574_phy_restore(nic);
	irqmod_attach(&nic->port);
	if (netif_running(netdev))
		err = i82574_up(nic);
	/* Down, so that bringing it up is another attempt. */
	if (err)
		dev_close(netdev);
	rtnl_unlock();
	return err;
}

/* Before the machine sleeps, with the chip reset. */
static void wake_arm(struct i82574 *nic)
{
	u32 filter = 0;

	if (nic->wol & WAKE_PHY)
		filter |= WUFC_LINK;
	if (nic->wol & WAKE_MAGIC)
		filter |= WUFC_MAGIC;
	if (nic->wol & WAKE_UCAST)
		filter |= WUFC_UNICAST;
	if (nic->wol & WAKE_MCAST)
		filter |= WUFC_MULTICAST;
	if (nic->wol & WAKE_BCAST)
		filter |= WUFC_BROADCAST;
	if (filter) {
		i82574_change(nic, CTRL, 0, CTRL_SLU | CTRL_ADVD3WUC);
		i82574_change(nic, CTRL_EXT, CTRL_EXT_PHY_POWER, 0);
		i82574_write(nic, RCTL, RCTL_EN | RCTL_BAM |
			     (nic->wol & WAKE_MCAST ? RCTL_MPE : 0));
	}
	i82574_write(nic, WUS, ~0);
	i82574_write(nic, WUFC, filter);
	i82574_write(nic, WUC, filter ? WUC_PME_EN : 0);
}

static void wake_disarm(struct i82574 *nic)
{
	i82574_write(nic, WUS, ~0);
	i82574_write(nic, WUFC, 0);
	i82574_write(nic, WUC, 0);
}

void i82574_get_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	const struct i82574 *nic = i82574_of(netdev);

	wol->supported = device_can_wakeup(&nic->pdev->dev) ? WAKE_ALL : 0;
	wol->wolopts = nic->wol;
}

int i82574_set_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	struct i82574 *nic = i82574_of(netdev);

	if (wol->wolopts && (wol->wolopts & ~WAKE_ALL ||
			     !device_can_wakeup(&nic->pdev->dev)))
		return -EOPNOTSUPP;
	nic->wol = wol->wolopts;
	device_set_wakeup_enable(&nic->pdev->dev, nic->wol);
	return 0;
}

static int i82574_suspend(struct device *dev)
{
	struct i82574 *nic = i82574_of(dev_get_drvdata(dev));

	detach(nic);
	wake_arm(nic);
	return 0;
}

static int i82574_resume(struct device *dev)
{
	struct i82574 *nic = i82574_of(dev_get_drvdata(dev));

	wake_disarm(nic);
	return attach(nic);
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
	SYSTEM_SLEEP_PM_OPS(i82574_suspend, i82574_resume)
	RUNTIME_PM_OPS(i82574_runtime_suspend, i82574_runtime_resume, NULL)
};

void i82574_shutdown(struct pci_dev *pdev)
{
	struct i82574 *nic = i82574_of(pci_get_drvdata(pdev));

	i82574_suspend(&pdev->dev);
	if (system_state == SYSTEM_POWER_OFF) {
		pci_wake_from_d3(pdev, nic->wol);
		pci_set_power_state(pdev, PCI_D3hot);
	}
}

/* PCI error recovery (Documentation/PCI/pci-error-recovery.rst) */
static pci_ers_result_t error_detected(struct pci_dev *pdev,
				       pci_channel_state_t state)
{
	detach(i82574_of(pci_get_drvdata(pdev)));
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	/* The device was not disabled: its interrupts are still requested. A
	 * kernel may take the saved state as used after a suspend.
	 */
	pdev->state_saved = true;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void error_resume(struct pci_dev *pdev)
{
	if (attach(i82574_of(pci_get_drvdata(pdev))))
		pci_err(pdev, "the NIC does not restart after an error or a reset\n");
}

/* A reset that somebody asks for in sysfs; the PCI core keeps the configuration. */
static void reset_prepare(struct pci_dev *pdev)
{
	detach(i82574_of(pci_get_drvdata(pdev)));
}

const struct pci_error_handlers i82574_error_handlers = {
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = error_resume,
	.reset_prepare = reset_prepare,
	.reset_done = error_resume,
};
