// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stops a chip in operation and starts it again: a transmit timeout,
 * suspend and resume, shutdown, PCI errors and resets.
 */
#include <linux/io.h>
#include <linux/pm.h>
#include <linux/rtnetlink.h>

#include "i8255x.h"

void i8255x_reset(struct work_struct *work)
{
	struct i8255x *np = container_of(work, struct i8255x, reset_work);

	rtnl_lock();
	if (netif_running(np->netdev) && netif_device_present(np->netdev)) {
		i8255x_pause(np);
		if (i8255x_restart(np)) {
			netdev_err(np->netdev, "the NIC does not restart\n");
			dev_close(np->netdev);
		}
	}
	rtnl_unlock();
}

void i8255x_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct i8255x *np = netdev_priv(netdev);

	schedule_work(&np->reset_work);
}

static void i8255x_detach(struct i8255x *np)
{
	rtnl_lock();
	netif_device_detach(np->netdev);
	i8255x_pause(np);
	rtnl_unlock();
}

static int i8255x_attach(struct i8255x *np)
{
	int err;

	rtnl_lock();
	/* A reset by sysfs may have started it while the PCI core recovers. */
	i8255x_pause(np);
	/* It may have lost power, or been reset, which unmasks all causes: an
	 * interface that is down has no handler.
	 */
	writeb(np->mask, np->regs + SCB_MASK);
	i8255x_init_phy(np, np->mii.phy_id);
	i8255x_phy_restore(np);
	irqmod_attach(&np->port);
	err = i8255x_restart(np);
	/* Down, so that bringing it up is another attempt. */
	if (err)
		dev_close(np->netdev);
	rtnl_unlock();
	return err;
}

static int i8255x_suspend(struct device *dev)
{
	struct i8255x *np = netdev_priv(dev_get_drvdata(dev));

	i8255x_detach(np);
	i8255x_wake_arm(np);
	return 0;
}

static int i8255x_resume(struct device *dev)
{
	return i8255x_attach(netdev_priv(dev_get_drvdata(dev)));
}

DEFINE_SIMPLE_DEV_PM_OPS(i8255x_pm_ops, i8255x_suspend, i8255x_resume);

void i8255x_shutdown(struct pci_dev *pdev)
{
	struct i8255x *np = netdev_priv(pci_get_drvdata(pdev));

	i8255x_suspend(&pdev->dev);
	if (system_state == SYSTEM_POWER_OFF) {
		pci_wake_from_d3(pdev, np->wake);
		pci_set_power_state(pdev, PCI_D3hot);
	}
}

/* PCI error recovery (Documentation/PCI/pci-error-recovery.rst) */
static pci_ers_result_t i8255x_error_detected(struct pci_dev *pdev,
					      pci_channel_state_t state)
{
	i8255x_detach(netdev_priv(pci_get_drvdata(pdev)));
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t i8255x_slot_reset(struct pci_dev *pdev)
{
	/* The device was not disabled: its interrupt is still requested. A
	 * kernel may take the saved state as used after a suspend.
	 */
	pdev->state_saved = true;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void i8255x_error_resume(struct pci_dev *pdev)
{
	struct i8255x *np = netdev_priv(pci_get_drvdata(pdev));

	if (i8255x_attach(np))
		netdev_err(np->netdev, "the NIC does not restart after a PCI error\n");
}

/* A reset that somebody asks for in sysfs; the PCI core keeps the configuration. */
static void i8255x_reset_prepare(struct pci_dev *pdev)
{
	i8255x_detach(netdev_priv(pci_get_drvdata(pdev)));
}

static void i8255x_reset_done(struct pci_dev *pdev)
{
	struct i8255x *np = netdev_priv(pci_get_drvdata(pdev));

	if (i8255x_attach(np))
		netdev_err(np->netdev, "the NIC does not restart after a reset\n");
}

const struct pci_error_handlers i8255x_error_handlers = {
	.error_detected = i8255x_error_detected,
	.slot_reset = i8255x_slot_reset,
	.resume = i8255x_error_resume,
	.reset_prepare = i8255x_reset_prepare,
	.reset_done = i8255x_reset_done,
};
