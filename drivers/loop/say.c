// SPDX-License-Identifier: GPL-2.0-only
/* irqmod_loop: parameters that make messages, for the test of netconsole. */
#include <linux/module.h>
#include <linux/netdevice.h>

#define LOOP_MESSAGES	1000

/* What the interfaces sent during the last messages of @say. */
static unsigned int said;
module_param(said, uint, 0444);
MODULE_PARM_DESC(said, "Packets that all interfaces sent during the messages of say");

static u64 packets_sent(void)
{
	struct rtnl_link_stats64 stats;
	struct net_device *netdev;
	u64 packets = 0;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, netdev)
		packets += dev_get_stats(netdev, &stats)->tx_packets;
	rcu_read_unlock();
	return packets;
}

/* As a kernel that panics: many messages with interrupts disabled. */
static int loop_say(const char *text, const struct kernel_param *unused)
{
	unsigned int i, messages;
	unsigned long flags;
	u64 before;
	int err;

	err = kstrtouint(text, 0, &messages);
	if (err || messages > LOOP_MESSAGES)
		return -EINVAL;
	local_irq_save(flags);
	before = packets_sent();
	for (i = 0; i < messages; i++)
		pr_info("irqmod_loop: message %u\n", i);
	said = packets_sent() - before;
	local_irq_restore(flags);
	return 0;
}

static const struct kernel_param_ops loop_say_ops = { .set = loop_say };
module_param_cb(say, &loop_say_ops, NULL, 0200);
MODULE_PARM_DESC(say, "Log this many messages, at most 1000, with interrupts disabled");
