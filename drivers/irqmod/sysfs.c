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

#define NAMES_MAX	256	/* of the schemes, or values, of a message */
#define FILES_MAX	32

/* The file of a setting. */
struct setting_file {
	struct device_attribute attr;
	const struct irqmod_scheme *scheme;	/* NULL: rx_weight, of all */
	const struct irqmod_setting *setting;
};

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

/* Lists the schemes of a table that the hardware supports. */
static ssize_t show_schemes(const struct irqmod_port *port,
			    const struct irqmod_scheme * const *table,
			    const struct irqmod_scheme *chosen, char *buf)
{
	ssize_t at = 0;

	for (; *table; table++)
		if (irqmod_can(port, (*table)->needs))
			at += sysfs_emit_at(buf, at, *table == chosen ? "%s[%s]" : "%s%s",
					    at ? " " : "", (*table)->name);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Adds a name to those of a message. */
static void append_name(char names[NAMES_MAX], const char *name)
{
	strlcat(names, " ", NAMES_MAX);
	strlcat(names, name, NAMES_MAX);
}

/* The scheme that is asked for. NULL: there is none, and the log has those that are. */
static const struct irqmod_scheme *find_scheme(const struct irqmod_port *port,
					       const struct irqmod_scheme * const *table,
					       const char *file, const char *buf)
{
	char names[NAMES_MAX] = "";

	for (; *table; table++) {
		if (sysfs_streq(buf, (*table)->name))
			return *table;
		if (irqmod_can(port, (*table)->needs))
			append_name(names, (*table)->name);
	}
	netdev_info(port->netdev, "%s:%s\n", file, names);
	return NULL;
}

static ssize_t rx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	const struct irqmod_port *port = to_port(dev);

	return show_schemes(port, irqmod_rx_schemes, &port->rx->base, buf);
}

static ssize_t tx_scheme_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	const struct irqmod_port *port = to_port(dev);

	return show_schemes(port, irqmod_tx_schemes, &port->tx->base, buf);
}

static ssize_t store_scheme(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count, const struct irqmod_scheme * const *table)
{
	struct irqmod_port *port = to_port(dev);
	const struct irqmod_scheme *scheme;
	int err;

	scheme = find_scheme(port, table, attr->attr.name, buf);
	if (!scheme)
		return -EINVAL;
	err = write_begin(port);
	if (err)
		return err;
	if (table == irqmod_rx_schemes)
		err = irqmod_set_rx_scheme(port, irqmod_rx_of(scheme));
	else
		err = irqmod_set_tx_scheme(port, irqmod_tx_of(scheme));
	rtnl_unlock();
	return err ?: count;
}

static ssize_t rx_scheme_store(struct device *dev, struct device_attribute *attr,
			       const char *buf, size_t count)
{
	return store_scheme(dev, attr, buf, count, irqmod_rx_schemes);
}
static DEVICE_ATTR_RW(rx_scheme);

static ssize_t tx_scheme_store(struct device *dev, struct device_attribute *attr,
			       const char *buf, size_t count)
{
	return store_scheme(dev, attr, buf, count, irqmod_tx_schemes);
}
static DEVICE_ATTR_RW(tx_scheme);

/* In each queue. */
static u32 *value_of(const struct irqmod_queue *queue, const struct setting_file *file)
{
	return file->scheme ? irqmod_state(queue, file->scheme) + file->setting->offset
			    : &queue->port->rx_weight;
}

static ssize_t setting_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct setting_file *file = container_of(attr, struct setting_file, attr);
	const struct irqmod_setting *setting = file->setting;
	const struct irqmod_port *port = to_port(dev);
	const struct irqmod_queue *queue;
	ssize_t at = 0;
	u64 sum = 0;
	u32 i;

	if (setting->get) {
		irqmod_for_each_queue(queue, port)
			sum += setting->get(queue, irqmod_state(queue, file->scheme));
		return sysfs_emit(buf, "%llu\n", sum);
	}
	if (!setting->names)
		return sysfs_emit(buf, "%u\n", file->scheme ? *value_of(port->queues, file)
							    : irqmod_rx_weight(port));
	for (i = 0; setting->names[i]; i++)
		at += sysfs_emit_at(buf, at, i == *value_of(port->queues, file) ? "%s[%s]" : "%s%s",
				    i ? " " : "", setting->names[i]);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Otherwise logs the values that are allowed. */
static bool parse_value(struct irqmod_port *port, const struct irqmod_setting *setting,
			const char *buf, u32 *value)
{
	char names[NAMES_MAX] = "";
	int i;

	if (!setting->names) {
		if (!kstrtou32(buf, 0, value) && *value >= setting->low && *value <= setting->high)
			return true;
		netdev_info(port->netdev, "%s: %u to %u\n", setting->name, setting->low,
			    setting->high);
		return false;
	}
	for (i = 0; setting->names[i]; i++) {
		*value = i;
		if (sysfs_streq(buf, setting->names[i]))
			return true;
		append_name(names, setting->names[i]);
	}
	netdev_info(port->netdev, "%s:%s\n", setting->name, names);
	return false;
}

static ssize_t setting_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	const struct setting_file *file = container_of(attr, struct setting_file, attr);
	struct irqmod_port *port = to_port(dev);
	bool restart_rx, restart_tx;
	struct irqmod_queue *queue;
	u32 value;
	int err;

	if (!parse_value(port, file->setting, buf, &value))
		return -EINVAL;
	err = write_begin(port);
	if (err)
		return err;
	restart_rx = file->setting->restart && &port->rx->base == file->scheme;
	restart_tx = file->setting->restart && &port->tx->base == file->scheme;
	if (restart_rx)
		irqmod_rx_pause(port);
	if (restart_tx)
		irqmod_tx_pause(port);
	irqmod_for_each_queue(queue, port) {
		*value_of(queue, file) = value;
	}
	irqmod_rx_changed(port);
	if (restart_tx)
		irqmod_tx_resume(port);
	if (restart_rx)
		irqmod_rx_resume(port);
	rtnl_unlock();
	return count;
}

static struct setting_file files[FILES_MAX];
static struct attribute *attrs[FILES_MAX + 3] = {
	&dev_attr_rx_scheme.attr,
	&dev_attr_tx_scheme.attr,
};

/* Hides the settings of schemes that the hardware does not support. */
static umode_t is_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	const struct device_attribute *of = container_of(attr, struct device_attribute, attr);
	const struct irqmod_port *port = to_port(kobj_to_dev(kobj));

	const struct irqmod_scheme *scheme = NULL;

	if (of->show == setting_show)
		scheme = container_of(of, struct setting_file, attr)->scheme;
	return !scheme || irqmod_can(port, scheme->needs) ? attr->mode : 0;
}

const struct attribute_group irqmod_group = {
	.name = "irqmod",
	.attrs = attrs,
	.is_visible = is_visible,
};

static unsigned int __init add_file(const struct irqmod_scheme *scheme,
				    const struct irqmod_setting *setting, unsigned int at)
{
	struct setting_file *file = &files[at];

	if (WARN_ON(at == FILES_MAX))
		return at;
	file->scheme = scheme;
	file->setting = setting;
	sysfs_attr_init(&file->attr.attr);
	file->attr.attr.name = setting->name;
	file->attr.attr.mode = setting->get ? 0444 : 0644;
	file->attr.show = setting_show;
	file->attr.store = setting_store;
	attrs[at + 2] = &file->attr.attr;
	return at + 1;
}

static unsigned int __init add_files(const struct irqmod_scheme * const *table, unsigned int at)
{
	const struct irqmod_setting *setting;

	for (; *table; table++)
		for (setting = (*table)->settings; setting && setting->name; setting++)
			at = add_file(*table, setting, at);
	return at;
}

static int __init irqmod_init(void)
{
	static const struct irqmod_setting weight = { .name = "rx_weight", .low = 1,
						      .high = NAPI_POLL_WEIGHT };

	add_files(irqmod_tx_schemes, add_files(irqmod_rx_schemes, add_file(NULL, &weight, 0)));
	return 0;
}

/* There is nothing to undo, but a module without this cannot be unloaded. */
static void __exit irqmod_exit(void)
{
}

module_init(irqmod_init);
module_exit(irqmod_exit);
