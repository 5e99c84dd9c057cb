/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The drivers are written for the newest kernel that they support. This header
 * gives them what older ones lack; no other file asks for the kernel's version.
 * Debian's older ones are 6.1 and 6.12: each entry says which kernel made the change,
 * and with the support of which of the two it is to be removed ("goes with").
 *
 * To be included after the kernel's own headers.
 */
#ifndef IRQMOD_COMPAT_H
#define IRQMOD_COMPAT_H

#include <linux/version.h>

/* 6.3: IPv4 has a size of its own, gso_ipv4_max_size. Goes with 6.1. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define irqmod_gso_sizes(netdev)				\
	{ &(netdev)->gso_max_size, &(netdev)->gso_ipv4_max_size }
#else
#define irqmod_gso_sizes(netdev)	{ &(netdev)->gso_max_size }
#endif

/* 6.9: netdev_max_backlog became net_hotdata.max_backlog. Goes with 6.1, and
 * leaves the #include to the file that needs it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#include <net/hotdata.h>
#define irqmod_max_backlog()	READ_ONCE(net_hotdata.max_backlog)
#else
#define irqmod_max_backlog()	READ_ONCE(netdev_max_backlog)
#endif

/* 6.6 and 6.9: receive queues and struct rps_map have headers of their own. Goes with
 * 6.1, and leaves the #includes to the file that needs them.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#include <net/netdev_rx_queue.h>
#include <net/rps.h>
#endif

/* 6.8: the NAPI and the interrupt of a queue are known. Goes with 6.1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define netif_queue_set_napi(netdev, index, type, napi)	((void)(napi))
#define netif_napi_set_irq(napi, irq)			((void)(napi))
#endif

/* 6.10: a netdev tells the statistics of each queue. Goes with 6.1. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#include <net/netdev_queues.h>
#define irqmod_set_stat_ops(netdev, ops)	((netdev)->stat_ops = (ops))
#else
struct netdev_queue_stats_rx {
	u64 bytes, packets, alloc_fail;
};

struct netdev_queue_stats_tx {
	u64 bytes, packets;
};

struct netdev_stat_ops {
	void (*get_queue_stats_rx)(struct net_device *netdev, int index,
				   struct netdev_queue_stats_rx *stats);
	void (*get_queue_stats_tx)(struct net_device *netdev, int index,
				   struct netdev_queue_stats_tx *stats);
	void (*get_base_stats)(struct net_device *netdev,
			       struct netdev_queue_stats_rx *rx,
			       struct netdev_queue_stats_tx *tx);
};

#define irqmod_set_stat_ops(netdev, ops)	((void)(ops))
#endif

/* 6.13: settings of a NAPI are kept by its index. Goes with 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define netif_napi_add_config(netdev, napi, poll, index)	\
	netif_napi_add(netdev, napi, poll)
#endif

/* 6.13: hrtimer_setup(), for which 6.15 dropped hrtimer_init(). Goes with 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, callback, clock, mode)		\
do {								\
	struct hrtimer *compat_timer = (timer);			\
								\
	hrtimer_init(compat_timer, clock, mode);		\
	compat_timer->function = (callback);			\
} while (0)
#endif

/* 6.13: net_dim() takes a pointer to the sample. Goes with 6.12. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define irqmod_net_dim(dim, sample)	net_dim(dim, &(sample))
#else
#define irqmod_net_dim(dim, sample)	net_dim(dim, sample)
#endif

/* 6.16: DECLARE_TRACE() adds _tp to the name, DECLARE_TRACE_EVENT() does not.
 * fixed_phy_register() lost the interrupt number, which had to be PHY_POLL.
 * Both go with 6.12.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define DECLARE_TRACE_EVENT	DECLARE_TRACE
#define fixed_phy_register(status, node)			\
	fixed_phy_register(PHY_POLL, status, node)
#endif

/* 6.17: system_wq is called system_percpu_wq; 7.x warns about the old name. Goes
 * with 6.12.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define system_percpu_wq	system_wq
#endif

/* 6.3: the netdev says what it can do for XDP. Goes with 6.1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define xdp_set_features_flag(netdev, flags)	((void)(netdev))
#endif

/* 6.6: the page pool has several headers. Goes with 6.1. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

/* 6.8: the parameters of RSS are a struct, and there is an extack; 6.18: the number of
 * rings has an operation of its own, as what is hashed (6.17, 6.12.100). An operation
 * of today, given to a macro here, is one of the old ones' as well, made by IRQMOD_RSS().
 * Goes with 6.12, its first part with 6.1.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
struct ethtool_rxfh_param {
	u8 hfunc;
	u32 *indir;
	u8 *key;
};

struct ethtool_rxfh_fields {
	u32 data;
	u32 flow_type;
};

#define IRQMOD_RXFH(get, set)						\
static int get##_old(struct net_device *netdev, u32 *indir, u8 *key, u8 *hfunc) \
{									\
	struct ethtool_rxfh_param rxfh = { .indir = indir, .key = key };	\
	int err = get(netdev, &rxfh);					\
									\
	if (hfunc)							\
		*hfunc = rxfh.hfunc;					\
	return err;							\
}									\
									\
static int set##_old(struct net_device *netdev, const u32 *indir,	\
		     const u8 *key, const u8 hfunc)			\
{									\
	struct ethtool_rxfh_param rxfh = {				\
		.hfunc = hfunc, .indir = (u32 *)indir, .key = (u8 *)key,	\
	};								\
									\
	return set(netdev, &rxfh, NULL);				\
}

#define IRQMOD_RXFH_OPS(get, set)	.get_rxfh = get##_old, .set_rxfh = set##_old
#else
#define IRQMOD_RXFH(get, set)
#define IRQMOD_RXFH_OPS(get, set)	.get_rxfh = get, .set_rxfh = set
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define irqmod_old_fields(get, netdev, info)				\
({									\
	struct ethtool_rxfh_fields compat_fields = {			\
		.flow_type = (info)->flow_type,				\
	};								\
	int compat_err = get(netdev, &compat_fields);			\
									\
	(info)->data = compat_fields.data;				\
	compat_err;							\
})
#define IRQMOD_FIELDS_OP(get)
#else
#define irqmod_old_fields(get, netdev, info)	(-EOPNOTSUPP)
#define IRQMOD_FIELDS_OP(get)		.get_rxfh_fields = get,
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define IRQMOD_RXNFC(rings, fields)					\
static int rings##_old(struct net_device *netdev,			\
		       struct ethtool_rxnfc *info, u32 *rules)		\
{									\
	if (info->cmd == ETHTOOL_GRXFH)					\
		return irqmod_old_fields(fields, netdev, info);		\
	if (info->cmd != ETHTOOL_GRXRINGS)				\
		return -EOPNOTSUPP;					\
	info->data = rings(netdev);					\
	return 0;							\
}

#define IRQMOD_RXNFC_OPS(rings, fields)	.get_rxnfc = rings##_old, IRQMOD_FIELDS_OP(fields)
#else
#define IRQMOD_RXNFC(rings, fields)
#define IRQMOD_RXNFC_OPS(rings, fields)	.get_rx_ring_count = rings, IRQMOD_FIELDS_OP(fields)
#endif

#endif /* IRQMOD_COMPAT_H */
