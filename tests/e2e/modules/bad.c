// SPDX-License-Identifier: GPL-2.0-only
/* Modules that misbehave, for the tests: each .ko is built with its own WHAT. */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/tracepoint.h>

#define REFUSES 1
#define PANICS 2
#define WARNS 3
#define DOES_NOTHING 4
#define COMPLAINS 5
#define COMPLAINS_LATER 6 /* 8139cp drives the NIC meanwhile */

/* So that the lab puts it on a NIC: the RTL8139C+. Nothing is bound. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REALTEK, PCI_DEVICE_ID_REALTEK_8139) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ids);

#if WHAT == COMPLAINS_LATER
#define FRAMES 2000 /* more than while it is set up */

static struct tracepoint *start_xmit;
static atomic_t frames;

static void sent(void *data, const struct sk_buff *skb, const struct net_device *dev)
{
	if (atomic_inc_return(&frames) == FRAMES)
		netdev_warn(dev, "Runtime PM usage is odd\n");
}

static void find(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "net_dev_start_xmit"))
		start_xmit = tracepoint;
}

MODULE_SOFTDEP("pre: 8139cp");
#endif

static int __init bad_init(void)
{
#if WHAT == REFUSES
	pr_info("bad: this hardware is not to my taste\n");
	return -ENODEV;
#elif WHAT == PANICS
	panic("bad: on purpose");
#elif WHAT == WARNS
	WARN(1, "bad: on purpose");
#elif WHAT == COMPLAINS
	pr_notice("bad: a fuse is blown\n");
#elif WHAT == COMPLAINS_LATER
	for_each_kernel_tracepoint(find, NULL);
	return start_xmit ? tracepoint_probe_register(start_xmit, sent, NULL) : -ENOENT;
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
