// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints while a frame is sent: with the transmit queue locked, as a warning in a driver's ndo_start_xmit does. Only for frames of one
 * size, so that netconsole's own are not among them: the second, which a driver may put off like the first, and each EVERYth after it.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/tracepoint.h>

#define BYTES 508 /* without FCS */
#define EVERY 50

static struct tracepoint *start_xmit;
static atomic_t frames;

static void sent(void *data, const struct sk_buff *skb, const struct net_device *dev)
{
	if (skb->len == BYTES && atomic_inc_return(&frames) % EVERY == 2)
		pr_info("prints: %s sends\n", dev->name);
}

static void find(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "net_dev_start_xmit"))
		start_xmit = tracepoint;
}

static int __init prints_init(void)
{
	for_each_kernel_tracepoint(find, NULL);
	return start_xmit ? tracepoint_probe_register(start_xmit, sent, NULL) : -ENOENT;
}

module_init(prints_init);
MODULE_DESCRIPTION("Prints while frames are sent");
MODULE_LICENSE("GPL");
