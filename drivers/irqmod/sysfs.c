// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/net/<interface>/irqmod/: the schemes, with the active one in
 * brackets, and the settings that ethtool does not have. An invalid value gives
 * EINVAL and a kernel message that lists the valid ones; the old value is kept.
 */
#include <linux/device.h>
#include <linux/rtnetlink.h>

#include "scheme.h"

#define WEIGHT_MAX	NAPI_POLL_WEIGHT
#define CLIFF_MAX	100000000u
#define EPSILON_MAX	999
#define WINDOW_MAX	1000

static struct irqmod_port *to_port(struct device *dev)
{
	return irqmod_port(to_net_dev(dev));
}

/* Shows the schemes that the hardware supports. */
#define show_schemes(list, port, chosen, buf)				\
({									\
	ssize_t at = 0;							\
	int i;								\
									\
	for (i = 0; (list)[i]; i++)					\
		if (irqmod_can(port, (list)[i]->needs))			\
			at += sysfs_emit_at(buf, at,			\
					    (list)[i] == (chosen) ?	\
					    "%s[%s]" : "%s%s",		\
					    at ? " " : "", (list)[i]->name); \
	at + sysfs_emit_at(buf, at, "\n");				\
})

/* Logs the supported schemes after an invalid name. */
#define refuse_scheme(list, port, file)					\
({									\
	char names[80] = "";						\
	int i;								\
									\
	for (i = 0; (list)[i]; i++)					\
		if (irqmod_can(port, (list)[i]->needs)) {		\
			strlcat(names, " ", sizeof(names));		\
			strlcat(names, (list)[i]->name, sizeof(names));	\
		}							\
	netdev_info((port)->netdev, file ":%s\n", names);		\
	-EINVAL;							\
})

static ssize_t rx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	return show_schemes(irqmod_rx_schemes, to_port(dev), to_port(dev)->rx,
			    buf);
}

static ssize_t rx_scheme_store(struct device *dev,
			       struct device_attribute *attr,
			       const char *buf, size_t count)
{
	struct irqmod_port *port = to_port(dev);
	int i, err;

	for (i = 0; irqmod_rx_schemes[i]; i++)
		if (sysfs_streq(buf, irqmod_rx_schemes[i]->name))
			break;
	if (!irqmod_rx_schemes[i])
		return refuse_scheme(irqmod_rx_schemes, port, "rx_scheme");
	if (!rtnl_trylock())
		return restart_syscall();
	err = irqmod_set_rx_scheme(port, irqmod_rx_schemes[i]);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(rx_scheme);

static ssize_t tx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	return show_schemes(irqmod_tx_schemes, to_port(dev), to_port(dev)->tx,
			    buf);
}

static ssize_t tx_scheme_store(struct device *dev,
			       struct device_attribute *attr,
			       const char *buf, size_t count)
{
	struct irqmod_port *port = to_port(dev);
	int i, err;

	for (i = 0; irqmod_tx_schemes[i]; i++)
		if (sysfs_streq(buf, irqmod_tx_schemes[i]->name))
			break;
	if (!irqmod_tx_schemes[i])
		return refuse_scheme(irqmod_tx_schemes, port, "tx_scheme");
	if (!rtnl_trylock())
		return restart_syscall();
	err = irqmod_set_tx_scheme(port, irqmod_tx_schemes[i]);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(tx_scheme);

/* Stores a number from 1 (or @low) to @high into *@setting. */
static ssize_t store_number(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count, u32 *setting,
			    u32 low, u32 high)
{
	struct irqmod_port *port = to_port(dev);
	u32 value;

	if (kstrtou32(buf, 0, &value) || value < low || value > high) {
		netdev_info(port->netdev, "%s: %u to %u\n", attr->attr.name,
			    low, high);
		return -EINVAL;
	}
	if (!rtnl_trylock())
		return restart_syscall();
	*setting = value;
	port->napi.weight = port->rx_weight;
	irqmod_hybrid_configure(port);
	rtnl_unlock();
	return count;
}

#define NUMBER(setting, low, high)					\
static ssize_t setting##_show(struct device *dev,			\
			      struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%u\n", to_port(dev)->setting);		\
}									\
static ssize_t setting##_store(struct device *dev,			\
			       struct device_attribute *attr,		\
			       const char *buf, size_t count)		\
{									\
	return store_number(dev, attr, buf, count,			\
			    &to_port(dev)->setting, low, high);		\
}									\
static DEVICE_ATTR_RW(setting)

NUMBER(rx_weight, 1, WEIGHT_MAX);
NUMBER(rx_cliff_pps, 1, CLIFF_MAX);
NUMBER(rx_epsilon_permille, 0, EPSILON_MAX);
NUMBER(rx_rate_window_ms, 1, WINDOW_MAX);

static ssize_t rx_timer_without_show(struct device *dev,
				     struct device_attribute *attr, char *buf)
{
	ssize_t at = 0;
	int i;

	for (i = 0; irqmod_timer_measures[i]; i++)
		at += sysfs_emit_at(buf, at, i == to_port(dev)->rx_without ?
				    "%s[%s]" : "%s%s", i ? " " : "",
				    irqmod_timer_measures[i]);
	return at + sysfs_emit_at(buf, at, "\n");
}

static ssize_t rx_timer_without_store(struct device *dev,
				      struct device_attribute *attr,
				      const char *buf, size_t count)
{
	int i = __sysfs_match_string(irqmod_timer_measures, -1, buf);

	if (i < 0) {
		netdev_info(to_port(dev)->netdev,
			    "rx_timer_without: nothing, irq_off, top_half, backlog or refill\n");
		return -EINVAL;
	}
	if (!rtnl_trylock())
		return restart_syscall();
	irqmod_set_timer_without(to_port(dev), i);
	rtnl_unlock();
	return count;
}
static DEVICE_ATTR_RW(rx_timer_without);

static ssize_t rx_rate_pps_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", irqmod_hybrid_rate_pps(to_port(dev)));
}
static DEVICE_ATTR_RO(rx_rate_pps);

static ssize_t rx_switches_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n",
			  u64_stats_read(&to_port(dev)->irq_stats.switches));
}
static DEVICE_ATTR_RO(rx_switches);

static struct attribute *irqmod_attributes[] = {
	&dev_attr_rx_scheme.attr,
	&dev_attr_tx_scheme.attr,
	&dev_attr_rx_weight.attr,
	&dev_attr_rx_cliff_pps.attr,
	&dev_attr_rx_epsilon_permille.attr,
	&dev_attr_rx_rate_window_ms.attr,
	&dev_attr_rx_timer_without.attr,
	&dev_attr_rx_rate_pps.attr,
	&dev_attr_rx_switches.attr,
	NULL
};

const struct attribute_group irqmod_group = {
	.name = "irqmod",
	.attrs = irqmod_attributes,
};
