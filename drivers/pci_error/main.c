// SPDX-License-Identifier: GPL-2.0-only
/* PCI errors for a machine whose bus reports none.
 *
 * Puts a function into the state in which a PCI error leaves it, and takes its
 * driver through the steps of Documentation/PCI/pci-error-recovery.rst. Each step is
 * a parameter, to which the function's name is written (0000:00:03.0):
 *
 *	freeze	a fatal error: the function answers no access and reaches no
 *		memory; error_detected() with pci_channel_io_frozen
 *	recover	the function is reset and has lost its configuration;
 *		slot_reset(), then resume()
 *	fail	the function is lost; error_detected() with
 *		pci_channel_io_perm_failure
 *
 * A step fails with EIO if the driver's answer does not allow the next one.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/string.h>

static int freeze(struct pci_dev *pdev, const struct pci_error_handlers *driver)
{
	pci_write_config_word(pdev, PCI_COMMAND, PCI_COMMAND_INTX_DISABLE);
	pdev->error_state = pci_channel_io_frozen;
	return driver->error_detected(pdev, pci_channel_io_frozen) ==
		       PCI_ERS_RESULT_NEED_RESET ? 0 : -EIO;
}

static int recover(struct pci_dev *pdev,
		   const struct pci_error_handlers *driver)
{
	int bar, err;

	if (pdev->error_state != pci_channel_io_frozen)
		return -EINVAL;
	err = __pci_reset_function_locked(pdev);
	if (err)
		return err;
	pci_write_config_word(pdev, PCI_COMMAND, 0);
	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		pci_write_config_dword(pdev, PCI_BASE_ADDRESS_0 + 4 * bar, 0);
	pdev->error_state = pci_channel_io_normal;
	if (driver->slot_reset(pdev) != PCI_ERS_RESULT_RECOVERED)
		return -EIO;
	driver->resume(pdev);
	return 0;
}

static int fail(struct pci_dev *pdev, const struct pci_error_handlers *driver)
{
	pci_write_config_word(pdev, PCI_COMMAND, PCI_COMMAND_INTX_DISABLE);
	pdev->error_state = pci_channel_io_perm_failure;
	return driver->error_detected(pdev, pci_channel_io_perm_failure) ==
		       PCI_ERS_RESULT_DISCONNECT ? 0 : -EIO;
}

static int on_function(const char *name, const struct kernel_param *param)
{
	int (*step)(struct pci_dev *pdev,
		    const struct pci_error_handlers *driver) = param->arg;
	unsigned int domain, bus, slot, function;
	const struct pci_error_handlers *driver;
	struct pci_dev *pdev;
	int err = -EOPNOTSUPP;

	if (sscanf(name, "%x:%x:%x.%u", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus,
					   PCI_DEVFN(slot, function));
	if (!pdev)
		return -ENODEV;
	device_lock(&pdev->dev);
	driver = pdev->driver ? pdev->driver->err_handler : NULL;
	if (driver && driver->error_detected && driver->slot_reset &&
	    driver->resume)
		err = step(pdev, driver);
	device_unlock(&pdev->dev);
	pci_dev_put(pdev);
	return err;
}

static const struct kernel_param_ops step_ops = { .set = on_function };

module_param_cb(freeze, &step_ops, freeze, 0200);
MODULE_PARM_DESC(freeze, "Function that has a fatal error");
module_param_cb(recover, &step_ops, recover, 0200);
MODULE_PARM_DESC(recover, "Function that is reset after a fatal error");
module_param_cb(fail, &step_ops, fail, 0200);
MODULE_PARM_DESC(fail, "Function that is lost");

MODULE_DESCRIPTION("PCI errors for a machine whose bus reports none");
MODULE_LICENSE("GPL");
