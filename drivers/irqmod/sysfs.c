// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/net/<interface>/irqmod/: the schemes, with the active one in
 * brackets, and the settings that ethtool does not have. An invalid value gives
 * EINVAL and a kernel message that lists the valid ones; the old value is kept.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "scheme.h"

#define WEIGHT_MAX	NAPI_POLL_WEIGHT
#define NAMES_MAX	256	/* of the schemes, or values, of a message */

static struct irqmod_port *to_port(struct device *dev)
{
	return irqmod_port(to_net_dev(dev));
}

/* In a network namespace root's files belong to its owner, as those of netdev_store(). */
static int write_begin(const struct irqmod_port *port)
{
	if (!ns_capable(dev_net(port->netdev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return rtnl_trylock() ? 0 : restart_syscall();
}

/* Adds a scheme to the list in @buf, if the hardware supports it; returns its end. */
static ssize_t show_scheme(const struct irqmod_port *port, const char *name,
			   u32 needs, bool chosen, char *buf, ssize_t at)
{
	if (!irqmod_can(port, needs))
		return at;
	return at + sysfs_emit_at(buf, at, chosen ? "%s[%s]" : "%s%s",
				  at ? " " : "", name);
}

/* Adds a name to those of a message. */
static void append_name(char names[NAMES_MAX], const char *name)
{
	strlcat(names, " ", NAMES_MAX);
	strlcat(names, name, NAMES_MAX);
}

static ssize_t rx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	const struct irqmod_port *port = to_port(dev);
	const struct irqmod_rx_scheme *scheme;
	ssize_t at = 0;
	int i;

	for (i = 0; (scheme = irqmod_rx_schemes[i]); i++)
		at = show_scheme(port, scheme->name, scheme->needs,
				 scheme == port->rx, buf, at);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Logs the supported schemes after an invalid name. */
static int refuse_rx_scheme(const struct irqmod_port *port)
{
	const struct irqmod_rx_scheme *scheme;
	char names[NAMES_MAX] = "";
	int i;

	for (i = 0; (scheme = irqmod_rx_schemes[i]); i++)
		if (irqmod_can(port, scheme->needs))
			append_name(names, scheme->name);
	netdev_info(port->netdev, "rx_scheme:%s\n", names);
	return -EINVAL;
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
		return refuse_rx_scheme(port);
	err = write_begin(port);
	if (err)
		return err;
	err = irqmod_set_rx_scheme(port, irqmod_rx_schemes[i]);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(rx_scheme);

static ssize_t tx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	const struct irqmod_port *port = to_port(dev);
	const struct irqmod_tx_scheme *scheme;
	ssize_t at = 0;
	int i;

	for (i = 0; (scheme = irqmod_tx_schemes[i]); i++)
		at = show_scheme(port, scheme->name, scheme->needs,
				 scheme == port->tx, buf, at);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Logs the supported schemes after an invalid name. */
static int refuse_tx_scheme(const struct irqmod_port *port)
{
	const struct irqmod_tx_scheme *scheme;
	char names[NAMES_MAX] = "";
	int i;

	for (i = 0; (scheme = irqmod_tx_schemes[i]); i++)
		if (irqmod_can(port, scheme->needs))
			append_name(names, scheme->name);
	netdev_info(port->netdev, "tx_scheme:%s\n", names);
	return -EINVAL;
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
		return refuse_tx_scheme(port);
	err = write_begin(port);
	if (err)
		return err;
	err = irqmod_set_tx_scheme(port, irqmod_tx_schemes[i]);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(tx_scheme);

/* Logs the values that are allowed. */
static void refuse_value(struct irqmod_port *port,
			 const struct irqmod_setting *setting)
{
	const char *file = setting->attr.attr.name;
	char names[NAMES_MAX] = "";
	int i;

	if (!setting->names) {
		netdev_info(port->netdev, "%s: %u to %u\n", file, setting->low,
			    setting->high);
		return;
	}
	for (i = 0; setting->names[i]; i++)
		append_name(names, setting->names[i]);
	netdev_info(port->netdev, "%s:%s\n", file, names);
}

/* The value of a setting: a member of the private state that @queue has of the
 * scheme.
 */
static u32 *value_of(struct irqmod_queue *queue,
		     const struct irqmod_setting *setting)
{
	return (setting->rx ? irqmod_rx_state(queue, setting->rx) :
		irqmod_tx_state(queue, setting->tx)) + setting->offset;
}

ssize_t irqmod_setting_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	const struct irqmod_setting *setting =
		container_of(attr, struct irqmod_setting, attr);
	u32 value = *value_of(to_port(dev)->queues, setting);
	ssize_t at = 0;
	int i;

	if (!setting->names)
		return sysfs_emit(buf, "%u\n", value);
	for (i = 0; setting->names[i]; i++)
		at += sysfs_emit_at(buf, at, i == value ? "%s[%s]" : "%s%s",
				    i ? " " : "", setting->names[i]);
	return at + sysfs_emit_at(buf, at, "\n");
}

static bool parse_value(const struct irqmod_setting *setting, const char *buf,
			u32 *value)
{
	int i;

	if (!setting->names)
		return !kstrtou32(buf, 0, value) && *value >= setting->low &&
		       *value <= setting->high;
	i = __sysfs_match_string(setting->names, -1, buf);
	*value = i;
	return i >= 0;
}

ssize_t irqmod_setting_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	const struct irqmod_setting *setting =
		container_of(attr, struct irqmod_setting, attr);
	struct irqmod_port *port = to_port(dev);
	bool restart_rx, restart_tx;
	struct irqmod_queue *queue;
	u32 value;
	int err;

	if (!parse_value(setting, buf, &value)) {
		refuse_value(port, setting);
		return -EINVAL;
	}
	err = write_begin(port);
	if (err)
		return err;
	restart_rx = setting->restart && port->rx == setting->rx;
	restart_tx = setting->restart && port->tx == setting->tx;
	if (restart_rx)
		irqmod_rx_pause(port);
	if (restart_tx)
		irqmod_tx_pause(port);
	irqmod_for_each_queue(queue, port) {
		*value_of(queue, setting) = value;
	}
	irqmod_rx_changed(port);
	if (restart_tx)
		irqmod_tx_resume(port);
	if (restart_rx)
		irqmod_rx_resume(port);
	rtnl_unlock();
	return count;
}

static ssize_t rx_weight_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%u\n", irqmod_rx_weight(to_port(dev)));
}

static ssize_t rx_weight_store(struct device *dev,
			       struct device_attribute *attr,
			       const char *buf, size_t count)
{
	struct irqmod_port *port = to_port(dev);
	u32 value;
	int err;

	if (kstrtou32(buf, 0, &value) || !value || value > WEIGHT_MAX) {
		netdev_info(port->netdev, "rx_weight: 1 to %u\n", WEIGHT_MAX);
		return -EINVAL;
	}
	err = write_begin(port);
	if (err)
		return err;
	port->rx_weight = value;
	irqmod_rx_changed(port);
	rtnl_unlock();
	return count;
}
static DEVICE_ATTR_RW(rx_weight);

/* The files, and what the hardware must have for each. */
#define FILES_MAX	32
static struct attribute *files[FILES_MAX + 1] = {
	&dev_attr_rx_scheme.attr,
	&dev_attr_tx_scheme.attr,
	&dev_attr_rx_weight.attr,
};

static u32 files_need[FILES_MAX];

/* Hides the settings of schemes that the hardware does not support. */
static umode_t irqmod_is_visible(struct kobject *kobj, struct attribute *attr,
				 int i)
{
	return irqmod_can(to_port(kobj_to_dev(kobj)), files_need[i]) ?
	       attr->mode : 0;
}

const struct attribute_group irqmod_group = {
	.name = "irqmod",
	.attrs = files,
	.is_visible = irqmod_is_visible,
};

/* Adds the files of a scheme: settings, which then know it, and others. */
static void __init add_files(struct attribute **more, u32 needs,
			     const struct irqmod_rx_scheme *rx,
			     const struct irqmod_tx_scheme *tx)
{
	struct device_attribute *attr;
	struct irqmod_setting *setting;
	int at = 0;

	while (files[at])
		at++;
	for (; more && *more && !WARN_ON(at == FILES_MAX); more++, at++) {
		files[at] = *more;
		files_need[at] = needs;
		attr = container_of(*more, struct device_attribute, attr);
		if (attr->show != irqmod_setting_show)
			continue;
		setting = container_of(attr, struct irqmod_setting, attr);
		setting->rx = rx;
		setting->tx = tx;
	}
}

static int __init irqmod_init(void)
{
	int i;

	for (i = 0; irqmod_rx_schemes[i]; i++)
		add_files(irqmod_rx_schemes[i]->settings,
			  irqmod_rx_schemes[i]->needs, irqmod_rx_schemes[i], NULL);
	for (i = 0; irqmod_tx_schemes[i]; i++)
		add_files(irqmod_tx_schemes[i]->settings,
			  irqmod_tx_schemes[i]->needs, NULL, irqmod_tx_schemes[i]);
	return 0;
}

/* There is nothing to undo, but a module without this cannot be unloaded. */
static void __exit irqmod_exit(void)
{
}

module_init(irqmod_init);
module_exit(irqmod_exit);
