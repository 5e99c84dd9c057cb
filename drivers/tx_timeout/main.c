// SPDX-License-Identifier: GPL-2.0-only
/* Tells a driver that its transmit queue hangs, as the kernel's watchdog does
 * (dev_watchdog() in net/sched/sch_generic.c), whether it hangs or not.
 *
 * The interface's name is written to the parameter `interface`.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/net_namespace.h>

static int on_interface(const char *text, const struct kernel_param *param)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	int err = 0;

	strscpy(name, text, sizeof(name));
	dev = dev_get_by_name(&init_net, strim(name));
	if (!dev)
		return -ENODEV;
	netif_tx_lock_bh(dev);
	if (!dev->netdev_ops->ndo_tx_timeout)
		err = -EOPNOTSUPP;
	else if (!netif_device_present(dev) || !netif_running(dev) ||
		 !netif_carrier_ok(dev))
		err = -ENETDOWN;
	else
		dev->netdev_ops->ndo_tx_timeout(dev, 0);
	netif_tx_unlock_bh(dev);
	dev_put(dev);
	return err;
}

static const struct kernel_param_ops interface_ops = { .set = on_interface };

module_param_cb(interface, &interface_ops, NULL, 0200);
MODULE_PARM_DESC(interface, "Interface whose driver is told that it hangs");

MODULE_DESCRIPTION("Tells a driver that its transmit queue hangs");
MODULE_LICENSE("GPL");
