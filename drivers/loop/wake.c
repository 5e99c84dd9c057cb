// SPDX-License-Identifier: GPL-2.0-only
/* irqmod_loop: a parameter with which a timer wakes another interface's transmit
 * queues, as a reclaim does that has seen room which has been used since.
 */
#include <linux/module.h>
#include <linux/netdevice.h>

#include "loop.h"

#define LOOP_WAKE_NS	(100 * NSEC_PER_USEC)

static struct hrtimer loop_waker;
static struct net_device *loop_woken;

static enum hrtimer_restart loop_wakes(struct hrtimer *timer)
{
	netif_tx_wake_all_queues(loop_woken);
	hrtimer_forward_now(timer, ns_to_ktime(LOOP_WAKE_NS));
	return HRTIMER_RESTART;
}

/* Parameters are written one at a time. */
static int loop_wake(const char *text, const struct kernel_param *unused)
{
	char name[IFNAMSIZ];

	loop_stop_waking();
	if (strscpy(name, text, sizeof(name)) < 0)
		return -EINVAL;
	if (!*strim(name))
		return 0;
	loop_woken = dev_get_by_name(&init_net, strim(name));
	if (!loop_woken)
		return -ENODEV;
	hrtimer_setup(&loop_waker, loop_wakes, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	hrtimer_start(&loop_waker, ns_to_ktime(LOOP_WAKE_NS),
		      HRTIMER_MODE_REL);
	return 0;
}

void loop_stop_waking(void)
{
	if (!loop_woken)
		return;
	hrtimer_cancel(&loop_waker);
	dev_put(loop_woken);
	loop_woken = NULL;
}

static const struct kernel_param_ops loop_wake_ops = { .set = loop_wake };
module_param_cb(wake, &loop_wake_ops, NULL, 0200);
MODULE_PARM_DESC(wake, "Interface whose transmit queues are woken all the time; empty: none");
