// SPDX-License-Identifier: GPL-2.0-only
/* Modules that misbehave, for the tests: each .ko is built with its own WHAT. */
#include <linux/module.h>
#include <linux/pci.h>

#define REFUSES 1
#define PANICS 2
#define WARNS 3
#define DOES_NOTHING 4

/* So that the lab puts it on a NIC: the RTL8139C+. Nothing is bound. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REALTEK, PCI_DEVICE_ID_REALTEK_8139) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ids);

static int __init bad_init(void)
{
#if WHAT == REFUSES
	pr_info("bad: this hardware is not to my taste\n");
	return -ENODEV;
#elif WHAT == PANICS
	panic("bad: on purpose");
#elif WHAT == WARNS
	WARN(1, "bad: on purpose");
#endif
	return 0;
}

static void __exit bad_exit(void)
{
}

module_init(bad_init);
module_exit(bad_exit);
MODULE_DESCRIPTION("A module that misbehaves on purpose");
MODULE_LICENSE("GPL");
