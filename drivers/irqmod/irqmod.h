/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqmod: interrupt-handling schemes for Ethernet drivers, exchangeable at run
 * time, per interface, receive and transmit apart.
 *
 * A hardware driver knows registers and rings; it embeds a struct irqmod_port
 * in its private data and hands the engine a struct irqmod_ops. The engine
 * owns *when* each operation is called; it knows no register.
 *
 * Contexts. Receive operations (rx_take, rx_refill) are never called twice at
 * the same time for a port, but from whatever context the scheme runs in: hard
 * IRQ, softirq. Transmit reclaim (tx_reclaim) is called by one context at a
 * time. mask and unmask may be called from any context, at the same time.
 */
#ifndef IRQMOD_H
#define IRQMOD_H

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

struct irqmod_port;
struct irqmod_rx_scheme;
struct irqmod_tx_scheme;

/* Groups of interrupt causes, as the engine tells them apart. A driver puts
 * every receive error and overflow cause into RX: they must be masked together
 * with it, or an overload becomes an interrupt storm.
 */
#define IRQMOD_RX	BIT(0)
#define IRQMOD_TX	BIT(1)

/* The hardware can raise the TX cause for chosen commands only. */
#define IRQMOD_CAP_TX_IRQ_BIT	BIT(0)

/* What a hardware driver does for the engine. */
struct irqmod_ops {
	/* Masks or unmasks groups of causes. After mask() returns, no new
	 * interrupt of that group is raised. After unmask(), a cause that
	 * was raised meanwhile interrupts at once.
	 */
	void (*mask)(struct irqmod_port *port, u32 groups);
	void (*unmask)(struct irqmod_port *port, u32 groups);

	/* Takes up to @budget received frames off the ring and hands each to
	 * irqmod_deliver(). Unless @port->rx_deferred is set, gives the ring
	 * its buffers back at once; else leaves that to rx_refill(). If a
	 * buffer cannot be had, the frame is dropped and counted, and its
	 * buffer stays on the ring. Returns the number of frames taken
	 * (dropped ones included).
	 */
	int (*rx_take)(struct irqmod_port *port, int budget);

	/* Whether the next frame is already there. */
	bool (*rx_pending)(struct irqmod_port *port);

	/* Gives the ring the buffers that deferred takes left out. */
	void (*rx_refill)(struct irqmod_port *port);

	/* Reclaims completed transmit descriptors: unmaps, counts, and frees
	 * each skb with irqmod_tx_free(). Returns how many packets.
	 */
	unsigned int (*tx_reclaim)(struct irqmod_port *port);

	/* Packets on the transmit ring, completed or not. */
	unsigned int (*tx_outstanding)(struct irqmod_port *port);

	/* Free transmit descriptors, for waking the queue. */
	unsigned int (*tx_room)(struct irqmod_port *port);
};

/* Where the skbs of a reclaim may be freed to, set by the scheme around it. */
enum irqmod_context {
	IRQMOD_IN_IRQ,		/* dev_kfree_skb_irq */
	IRQMOD_IN_SOFTIRQ,	/* napi_consume_skb */
};

struct irqmod_rx_stats {
	u64_stats_t interrupts;		/* RX causes seen by the handler */
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t polls;		/* passes over the ring */
	u64_stats_t polls_done;		/* ... that emptied it */
	u64_stats_t no_buffer;		/* frames dropped for want of memory */
	u64_stats_t errors;
	u64_stats_t backlog_drops;	/* netif_rx() refused */
	u64_stats_t switches;		/* hybrid: DE <-> NAPI */
	struct u64_stats_sync syncp;
};

struct irqmod_tx_stats {
	u64_stats_t interrupts;		/* TX causes seen by the handler */
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t errors;
	u64_stats_t reclaims_xmit;	/* packets freed before a transmit */
	u64_stats_t reclaims_rx;	/* ... in the receive path */
	u64_stats_t reclaims_timer;	/* ... by the backstop */
	u64_stats_t reclaims_irq;	/* ... by a TX interrupt */
	struct u64_stats_sync syncp;
};

/* One interface. The fields above "settings" are the driver's to set before
 * irqmod_register(); the rest is the engine's.
 */
struct irqmod_port {
	struct net_device *netdev;
	const struct irqmod_ops *ops;
	u32 caps;
	int irq;			/* for synchronize_irq() */
	unsigned int tx_ring;		/* descriptors; the driver updates it */
	unsigned int rx_ring;

	/* Hot: read for every packet. */
	const struct irqmod_rx_scheme *rx;
	const struct irqmod_tx_scheme *tx;
	void (*deliver)(struct irqmod_port *port, struct sk_buff *skb);
	struct napi_struct napi;
	bool rx_deferred;		/* refill later (timer) */
	bool rx_napi_alloc;		/* napi_alloc_skb() is allowed */
	bool up;
	enum irqmod_context tx_context;
	unsigned int tx_since_irq;	/* coalesce: packets since the last marked one */

	/* Settings (ethtool, sysfs). */
	unsigned int tx_frames;		/* coalesce: N */
	unsigned int tx_usecs;		/* coalesce: bound; off: backstop */
	unsigned int rx_usecs;		/* timer: period */
	unsigned int rx_weight;		/* napi: budget of a poll */
	u32 rx_cliff_pps;
	u32 rx_epsilon_permille;
	u32 rx_rate_window_ms;

	/* Scheme state. */
	struct hrtimer rx_timer;
	struct hrtimer tx_timer;
	struct tasklet_struct rx_tasklet;
	spinlock_t tx_lock;		/* reclaim by IRQ and by timer */
	unsigned long rx_deadline;	/* de: when to rest */
	struct irqmod_hybrid *hybrid;
	struct list_head rx_list;	/* delivered by a poll, not yet up the stack */

	struct irqmod_rx_stats rx_stats;
	struct irqmod_tx_stats tx_stats;
};

/* Registration: before register_netdev() / after unregister_netdev(). */
int irqmod_register(struct irqmod_port *port);
void irqmod_unregister(struct irqmod_port *port);

/* ndo_open, after the hardware is ready and before its interrupts matter;
 * ndo_stop, before the hardware is taken down. Both under RTNL. Between stop
 * and start the driver may do as it likes with its rings.
 */
void irqmod_start(struct irqmod_port *port);
void irqmod_stop(struct irqmod_port *port);

/* The hard interrupt handler, after the causes have been acknowledged. */
void irqmod_interrupt(struct irqmod_port *port, u32 groups);

/* ndo_start_xmit, in this order: _begin() first, then fill the descriptor
 * with the interrupt bit if _wants_irq(), then _queued(). True from _queued():
 * ring the doorbell now; the queue has been stopped if it had to be. The
 * queue must stop while @reserve descriptors are still free.
 */
static inline void irqmod_tx_begin(struct irqmod_port *port);
static inline bool irqmod_tx_wants_irq(struct irqmod_port *port);
bool irqmod_tx_queued(struct irqmod_port *port, struct netdev_queue *txq,
		      unsigned int bytes, unsigned int reserve);

/* For rx_take() */
static inline void irqmod_deliver(struct irqmod_port *port, struct sk_buff *skb)
{
	port->deliver(port, skb);
}

/* A buffer of @len bytes for a received frame; NULL if there is none. */
static inline struct sk_buff *irqmod_rx_alloc(struct irqmod_port *port,
					      unsigned int len)
{
	if (port->rx_napi_alloc)
		return napi_alloc_skb(&port->napi, len);
	return netdev_alloc_skb_ip_align(port->netdev, len);
}

/* For tx_reclaim() */
static inline void irqmod_tx_free(struct irqmod_port *port, struct sk_buff *skb)
{
	if (port->tx_context == IRQMOD_IN_SOFTIRQ)
		napi_consume_skb(skb, 1);
	else
		dev_consume_skb_irq(skb);
}

/* ethtool and netdev operations that are the same for every driver */
int irqmod_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
int irqmod_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
#define IRQMOD_COALESCE_PARAMS	(ETHTOOL_COALESCE_RX_USECS | \
				 ETHTOOL_COALESCE_TX_USECS | \
				 ETHTOOL_COALESCE_TX_MAX_FRAMES)
int irqmod_get_sset_count(struct net_device *netdev, int sset);
void irqmod_get_strings(struct net_device *netdev, u32 sset, u8 *data);
void irqmod_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data);
void irqmod_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats);

#endif /* IRQMOD_H */
