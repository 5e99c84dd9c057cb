// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/net/<interface>/irqmod_usb/: switches for the changes of the series
 * "lan78xx NAPI Performance Improvements". Changing one while the interface is
 * up stops and restarts its transfers.
 */
#include <linux/device.h>
#include <linux/rtnetlink.h>

#include "lan78xx.h"

/* Without gro, as before the series: hard_header_len includes the command
 * words. GRO compares that many bytes, so it never finds two packets of a flow.
 */
static void lan78xx_set_header(struct lan78xx *np)
{
	np->netdev->hard_header_len = np->measures.gro ?
				      ETH_HLEN : ETH_HLEN + TX_CMD_BYTES;
}

static ssize_t lan78xx_store_measure(struct device *dev,
				     struct device_attribute *attr,
				     const char *buf, size_t count,
				     bool *measure)
{
	struct net_device *netdev = to_net_dev(dev);
	struct lan78xx *np = netdev_priv(netdev);
	bool running;
	int err = 0;
	u32 value;

	if (kstrtou32(buf, 0, &value) || value > 1) {
		netdev_info(netdev, "%s: 0 or 1\n", attr->attr.name);
		return -EINVAL;
	}
	if (!ns_capable(dev_net(netdev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!rtnl_trylock())
		return restart_syscall();
	if (*measure == value)
		goto unlock;
	running = np->started;
	/* The stack builds packets with the current header length. */
	if (running && measure == &np->measures.gro) {
		netdev_info(netdev, "%s: not while the interface is up\n",
			    attr->attr.name);
		err = -EBUSY;
		goto unlock;
	}
	if (running)
		lan78xx_down(np);
	*measure = value;
	lan78xx_set_header(np);
	lan78xx_set_sizes(np);
	if (running && measure == &np->measures.adaptive_burst)
		lan78xx_event(np, EVENT_BURST);
	/* No transfer may be larger than its URB. */
	if (running && measure == &np->measures.rx_pool)
		err = lan78xx_set_burst(np);
	if (running) {
		err = lan78xx_up(np) ?: err;
		if (err)
			irqmod_reset(&np->port);
	}
unlock:
	rtnl_unlock();
	return err ?: count;
}

#define MEASURE(name)							\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	const struct lan78xx *np = netdev_priv(to_net_dev(dev));	\
									\
	return sysfs_emit(buf, "%d\n", np->measures.name);		\
}									\
static ssize_t name##_store(struct device *dev,				\
			    struct device_attribute *attr,		\
			    const char *buf, size_t count)		\
{									\
	struct lan78xx *np = netdev_priv(to_net_dev(dev));		\
									\
	return lan78xx_store_measure(dev, attr, buf, count,		\
				     &np->measures.name);		\
}									\
static DEVICE_ATTR_RW(name)

MEASURE(tx_pool);
MEASURE(rx_pool);
MEASURE(tx_packing);
MEASURE(poll_resubmit);
MEASURE(overflow_queue);
MEASURE(gro);
MEASURE(adaptive_burst);
MEASURE(tx_queue);

static struct attribute *lan78xx_measures_attributes[] = {
	&dev_attr_tx_pool.attr,
	&dev_attr_rx_pool.attr,
	&dev_attr_tx_packing.attr,
	&dev_attr_poll_resubmit.attr,
	&dev_attr_overflow_queue.attr,
	&dev_attr_gro.attr,
	&dev_attr_adaptive_burst.attr,
	&dev_attr_tx_queue.attr,
	NULL
};

const struct attribute_group lan78xx_measures_group = {
	.name = "irqmod_usb",
	.attrs = lan78xx_measures_attributes,
};
