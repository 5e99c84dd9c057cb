// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stops a chip in operation and starts it again: a transmit timeout,
 * suspend and resume, shutdown, PCI errors and resets.
 */
#include <linux/pm.h>
#include <linux/rtnetlink.h>

#include "rtl8139cp.h"

void cp_reset_work(struct work_struct *work)
{
	struct cp *cp = container_of(work, struct cp, reset_work);
	struct net_device *netdev = cp->port.netdev;

	rtnl_lock();
	if (netif_running(netdev) && netif_device_present(netdev)) {
		cp_down(cp);
		if (cp_up(cp))
			dev_close(netdev);
	}
	rtnl_unlock();
}

void cp_tx_timeout(struct net_device *netdev, unsigned int txqueue)
{
	struct cp *cp = cp_of(netdev);

	netdev_warn(netdev, "transmit timeout, status %04x, mask %04x, ring %u of %u\n",
		    readw(cp->regs + CP_ISR), READ_ONCE(cp->imr),
		    cp->tx.count - cp_tx_room(&cp->queue), cp->tx.count);
	schedule_work(&cp->reset_work);
}

static void cp_detach(struct cp *cp)
{
	rtnl_lock();
	netif_device_detach(cp->port.netdev);
	cp_down(cp);
	rtnl_unlock();
}

static int cp_attach(struct cp *cp)
{
	struct net_device *netdev = cp->port.netdev;
	int err = 0;

	rtnl_lock();
	/* A reset by sysfs may have started it while the PCI core recovers. */
	cp_down(cp);
	cp_mii_restore(cp);
	irqmod_attach(&cp->port);
	if (netif_running(netdev))
		err = cp_up(cp);
	/* Down, so that bringing it up is another attempt. */
	if (err)
		dev_close(netdev);
	rtnl_unlock();
	return err;
}

static int cp_suspend(struct device *dev)
{
	struct cp *cp = cp_of(dev_get_drvdata(dev));

	cp_detach(cp);
	cp_wake_arm(cp);
	return 0;
}

static int cp_resume(struct device *dev)
{
	return cp_attach(cp_of(dev_get_drvdata(dev)));
}

/* kexec: the chip must not write to the next kernel's memory. */
void cp_shutdown(struct pci_dev *pdev)
{
	struct cp *cp = cp_of(pci_get_drvdata(pdev));

	cp_suspend(&pdev->dev);
	if (system_state == SYSTEM_POWER_OFF) {
		pci_wake_from_d3(pdev, cp->wol);
		pci_set_power_state(pdev, PCI_D3hot);
	}
}

/* PCI error recovery (Documentation/PCI/pci-error-recovery.rst) */
static pci_ers_result_t cp_error_detected(struct pci_dev *pdev,
					  pci_channel_state_t state)
{
	cp_detach(cp_of(pci_get_drvdata(pdev)));
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t cp_slot_reset(struct pci_dev *pdev)
{
	/* The device was not disabled: its interrupt is still requested. A
	 * kernel may take the saved state as used after a suspend.
	 */
	pdev->state_saved = true;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void cp_error_resume(struct pci_dev *pdev)
{
	/* cp_up() says what fails. */
	cp_attach(cp_of(pci_get_drvdata(pdev)));
}

/* A reset that somebody asks for in sysfs; the PCI core keeps the configuration. */
static void cp_reset_prepare(struct pci_dev *pdev)
{
	cp_detach(cp_of(pci_get_drvdata(pdev)));
}

const struct pci_error_handlers cp_error_handlers = {
	.error_detected	= cp_error_detected,
	.slot_reset	= cp_slot_reset,
	.resume		= cp_error_resume,
	.reset_prepare	= cp_reset_prepare,
	.reset_done	= cp_error_resume,
};

DEFINE_SIMPLE_DEV_PM_OPS(cp_pm_ops, cp_suspend, cp_resume);
