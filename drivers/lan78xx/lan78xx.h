/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LAN78XX_H
#define LAN78XX_H

#include <linux/bitmap.h>
#include <linux/if_vlan.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/phy.h>
#include <linux/skbuff.h>
#include <linux/usb.h>
#include <linux/workqueue.h>

#include "device.h"
#include "irqmod.h"
#include "regs.h"

#define MTU_MAX		9000

/* Smallest burst cap, in bytes (rx.c). */
#define BURST_MIN	2048

/* The longest frame with a VLAN tag, as delivered to the stack. */
#define FRAME_MAX	(MTU_MAX + ETH_HLEN + VLAN_HLEN)

/* Numbers of URBs, and sizes of their transfers. */
struct lan78xx_sizes {
	unsigned int rx_bytes;		/* per receive URB */
	unsigned int tx_bytes;
	unsigned int rx_urbs;
	unsigned int tx_urbs;
};

/* At a bus speed: with the pools, and as the driver of Linux 5.16 had them. */
struct lan78xx_speed {
	struct lan78xx_sizes pool;
	struct lan78xx_sizes no_pool;
	unsigned int pause_on;		/* bytes in the receive FIFO, at which */
	unsigned int pause_off;		/* pausing starts and ends */
};

/* Work that needs process context. Bits are set in any context and cleared
 * before the work is done (events.c).
 */
enum lan78xx_event {
	EVENT_RX_HALT,		/* bulk IN stalled */
	EVENT_TX_HALT,		/* bulk OUT stalled */
	EVENT_INT_HALT,		/* interrupt IN stalled */
	EVENT_TX_FLUSH,		/* packets were sent with interrupts disabled */
	EVENT_RX_FILL,		/* submitting receive URBs failed */
	EVENT_INT_SUBMIT,	/* submitting the interrupt URB failed */
	EVENT_PHY,		/* PHY interrupt */
	EVENT_BURST,		/* the mean frame size changed */
	EVENT_FILTER,		/* addresses, VLANs, mode or features changed */
};

/* The changes of "lan78xx NAPI Performance Improvements" (2021) by its patches,
 * each with a switch. NAPI instead of the tasklet, in patch 6, is the receive
 * scheme. Patches 1 and 4 change nothing that can be switched.
 */
struct lan78xx_measures {
	bool tx_pool;		/* 2: more, larger URBs, allocated once */
	bool rx_pool;		/* 3: the same, and frames are copied */
	bool gro;		/* 5: standard hard_header_len */
	bool poll_resubmit;	/* 6: resubmit in the poll, not on completion */
	bool overflow_queue;	/* 6: queue frames beyond the budget */
	bool tx_packing;	/* several packets per URB, before and after */
	bool adaptive_burst;	/* ours: limit transfers by frames, not bytes */
	bool tx_queue;		/* 2 and 6: packets are queued, the poll sends; not ours */
};

/* Whether a change is in force: without instruments, all but tx_queue are. */
#define lan78xx_has(np, measure)	\
	irqmod_instrument((np)->measures.measure, true)

struct lan78xx;

struct lan78xx_rx_urb {
	struct list_head list;
	struct lan78xx *np;
	struct urb *urb;
	u8 *data;
	struct sk_buff *skb;	/* without rx_pool: frames are its clones */
	unsigned int len;	/* bytes received */
	unsigned int at;	/* offset of the next frame */
};

struct lan78xx_rx {
	spinlock_t lock;	/* lists, flying */
	struct list_head free;	/* to be submitted */
	struct list_head done;	/* completed */
	unsigned int flying;	/* URBs submitted */
	bool halted;		/* endpoint halted: submit nothing */
	bool masked;		/* hold completions back */
	unsigned int burst;	/* burst cap, in packets of the bus */
	unsigned int seen_frames;	/* since the last update of burst */
	unsigned int seen_bytes;
	bool strip;		/* the chip strips tags */
	bool checksums;		/* ... and verifies checksums */
	struct lan78xx_rx_urb *current_urb;	/* partly processed */
	struct sk_buff_head overflow;
	struct lan78xx_rx_urb *urbs;
	unsigned int count;
};

struct lan78xx_tx_urb {
	struct list_head list;
	struct lan78xx *np;
	struct urb *urb;
	u8 *data;
	struct sk_buff *skb;	/* sent without a copy */
	unsigned int len;
	unsigned int packets;
	unsigned int bytes;
	bool failed;
};

struct lan78xx_tx {
	spinlock_t lock;	/* lists, room */
	struct list_head free;
	struct list_head done;	/* completed, to be reclaimed */
	unsigned int room;	/* URBs on the free list */
	atomic_t flying;	/* URBs submitted */
	struct lan78xx_tx_urb *open;	/* being filled; transmit queue locked */
	bool flush;		/* poll scheduled to submit it */
	struct sk_buff_head pending;	/* tx_queue: not yet in a URB; queue locked */
	unsigned int pending_bytes;	/* ... that they take up in URBs */
	u32 bytes_sent;		/* to byte queue limits, running totals */
	u32 bytes_done;
	struct napi_struct napi;
	struct lan78xx_tx_urb *urbs;
	unsigned int count;
};

/* Counters of the chip (stats.c) */
#define LAN78XX_COUNTERS	47

struct lan78xx {
	struct irqmod_port port;	/* first: see irqmod.h */
	struct irqmod_queue queue;
	struct net_device *netdev;
	struct usb_device *udev;
	struct usb_interface *intf;
	const struct lan78xx_speed *speed;
	struct lan78xx_sizes sizes;	/* in force */
	unsigned int maxpacket;
	u32 chip;			/* CHIP_LAN7800, ... */
	struct lan78xx_measures measures;

	struct lan78xx_rx rx;
	struct lan78xx_tx tx;

	unsigned long events;
	struct delayed_work event_work;
	struct urb *int_urb;
	__le32 *int_status;

	struct mutex port_lock;		/* data port */
	struct mutex nvram_lock;	/* EEPROM */
	u32 maf[MAF_COUNT][2];		/* shadow of the chip's filters */
	u32 tables[DP_VLAN_WORDS + DP_HASH_WORDS];
	DECLARE_BITMAP(maf_unsure, MAF_COUNT);	/* shadow may be wrong */
	DECLARE_BITMAP(tables_unsure, DP_VLAN_WORDS + DP_HASH_WORDS);
	DECLARE_BITMAP(vlans, VLAN_N_VID);
	netdev_features_t features;	/* requested */

	struct mii_bus *mdio;
	struct mutex mii_lock;		/* one access of mdio at a time */
	phy_interface_t interface;
	bool phy_interrupts;		/* PHY interrupt is available */
	bool phy_fixed;
	bool phy_lost;			/* its registers, in suspend */
	u32 led_mask;			/* of HW_CFG, if the device tree says */
	u32 leds;			/* which LEDs there are */

	struct mutex stats_lock;	/* one reading at a time */
	struct delayed_work stats_work;
	u32 raw[LAN78XX_COUNTERS];	/* last values read */
	u64_stats_t counters[LAN78XX_COUNTERS];
	struct u64_stats_sync counters_sync;

	/* Under RTNL. */
	bool started;			/* chip and link are up */
	bool flowing;			/* transfers are running */
	bool suspended;			/* system suspend */
	bool asleep;			/* ... and was started before */
};

static inline struct lan78xx *to_lan78xx(struct irqmod_queue *queue)
{
	return container_of(queue, struct lan78xx, queue);
}

/* usb.c: may sleep; return 0 or an error. A short read is an error. */
int lan78xx_read(struct lan78xx *np, u32 reg, u32 *value);
int lan78xx_write(struct lan78xx *np, u32 reg, u32 value);
int lan78xx_update(struct lan78xx *np, u32 reg, u32 mask, u32 value);
struct lan78xx_setting {
	u32 reg;
	u32 mask;		/* ~0: written without a read */
	u32 value;
};

int lan78xx_set_all(struct lan78xx *np, const struct lan78xx_setting *settings,
		    unsigned int count);
/* In this order, up to the first error. */
#define lan78xx_set(np, ...)						\
({									\
	const struct lan78xx_setting set_list[] = { __VA_ARGS__ };	\
									\
	lan78xx_set_all(np, set_list, ARRAY_SIZE(set_list));		\
})
int lan78xx_wait(struct lan78xx *np, u32 reg, u32 mask, u32 value);
int lan78xx_read_stats(struct lan78xx *np, __le32 *counters);

/* hw.c */
int lan78xx_hw_reset(struct lan78xx *np);
int lan78xx_phy_reset(struct lan78xx *np);
int lan78xx_hw_init(struct lan78xx *np);
int lan78xx_hw_start(struct lan78xx *np);
void lan78xx_hw_stop(struct lan78xx *np);
int lan78xx_set_address(struct lan78xx *np);
int lan78xx_set_frame_size(struct lan78xx *np, unsigned int mtu);
int lan78xx_set_delay(struct lan78xx *np, u32 usecs);
int lan78xx_set_burst(struct lan78xx *np);

/* nvram.c */
int lan78xx_read_eeprom(struct lan78xx *np, u32 at, u32 bytes, u8 *data);
void lan78xx_find_address(struct lan78xx *np);
int lan78xx_init_ltm(struct lan78xx *np);

/* filter.c */
void lan78xx_filter_init(struct lan78xx *np);
int lan78xx_apply_filter(struct lan78xx *np);
void lan78xx_forget_filter(struct lan78xx *np);
void lan78xx_filter_changed(struct lan78xx *np);
void lan78xx_set_rx_mode(struct net_device *netdev);
int lan78xx_vlan_add(struct net_device *netdev, __be16 proto, u16 vid);
int lan78xx_vlan_kill(struct net_device *netdev, __be16 proto, u16 vid);

/* phy.c */
int lan78xx_phy_attach(struct lan78xx *np);
void lan78xx_phy_detach(struct lan78xx *np);
void lan78xx_phy_start(struct lan78xx *np);
int lan78xx_phy_unmask(struct lan78xx *np);
int lan78xx_ioctl(struct net_device *netdev, struct ifreq *ifr, int command);
void lan78xx_phy_event(struct lan78xx *np);
void lan78xx_link_restore(struct lan78xx *np);

/* events.c */
void lan78xx_event(struct lan78xx *np, enum lan78xx_event event);
void lan78xx_event_later(struct lan78xx *np, enum lan78xx_event event);
void lan78xx_events_init(struct lan78xx *np);
int lan78xx_int_alloc(struct lan78xx *np);
void lan78xx_int_free(struct lan78xx *np);
void lan78xx_events_start(struct lan78xx *np);
void lan78xx_events_stop(struct lan78xx *np);
void lan78xx_events_forget_urbs(struct lan78xx *np);

/* rx.c */
int lan78xx_rx_alloc(struct lan78xx *np);
void lan78xx_rx_free(struct lan78xx *np);
void lan78xx_rx_fill(struct lan78xx *np);
void lan78xx_rx_stop(struct lan78xx *np);
void lan78xx_rx_start(struct lan78xx *np, bool halted);
void lan78xx_mask(struct irqmod_queue *queue, u32 groups);
void lan78xx_unmask(struct irqmod_queue *queue, u32 groups);
void lan78xx_rx_ack(struct irqmod_queue *queue);
int lan78xx_rx_take(struct irqmod_queue *queue, int budget);
bool lan78xx_rx_pending(struct irqmod_queue *queue);
void lan78xx_rx_refill(struct irqmod_queue *queue);

/* tx.c */
int lan78xx_tx_alloc(struct lan78xx *np);
void lan78xx_tx_free(struct lan78xx *np);
void lan78xx_tx_stop(struct lan78xx *np);
void lan78xx_tx_start(struct lan78xx *np);
netdev_features_t lan78xx_features_check(struct sk_buff *skb,
					 struct net_device *netdev,
					 netdev_features_t features);
netdev_tx_t lan78xx_xmit(struct sk_buff *skb, struct net_device *netdev);
void lan78xx_tx_flush(struct lan78xx *np);
void lan78xx_tx_close(struct lan78xx *np);
unsigned int lan78xx_tx_bytes(struct irqmod_queue *queue);
int lan78xx_tx_poll(struct napi_struct *napi, int budget);
unsigned int lan78xx_tx_reclaim(struct irqmod_queue *queue);
unsigned int lan78xx_tx_outstanding(struct irqmod_queue *queue);
unsigned int lan78xx_tx_room(struct irqmod_queue *queue);

/* main.c: RTNL */
int lan78xx_start(struct lan78xx *np);
void lan78xx_halt(struct lan78xx *np);
int lan78xx_up(struct lan78xx *np);
void lan78xx_down(struct lan78xx *np);

/* sizes.c */
const struct lan78xx_speed *lan78xx_speed_of(const struct usb_device *udev);
void lan78xx_set_sizes(struct lan78xx *np);

/* measures.c */
extern const struct attribute_group lan78xx_measures_group;

/* power.c */
int lan78xx_suspend(struct usb_interface *intf, pm_message_t message);
int lan78xx_resume(struct usb_interface *intf);
int lan78xx_reset_resume(struct usb_interface *intf);

/* stats.c */
void lan78xx_stats_init(struct lan78xx *np);
void lan78xx_stats_reset(struct lan78xx *np);
void lan78xx_stats_start(struct lan78xx *np);
void lan78xx_stats_stop(struct lan78xx *np);
void lan78xx_get_stats64(struct net_device *netdev,
			 struct rtnl_link_stats64 *stats);
extern const char lan78xx_counter_names[LAN78XX_COUNTERS][ETH_GSTRING_LEN];
void lan78xx_get_own_stats(struct irqmod_port *port, u64 *data);
void lan78xx_get_pause_stats(struct net_device *netdev,
			     struct ethtool_pause_stats *stats);
void lan78xx_get_eth_mac_stats(struct net_device *netdev,
			       struct ethtool_eth_mac_stats *stats);
void lan78xx_get_rmon_stats(struct net_device *netdev,
			    struct ethtool_rmon_stats *stats,
			    const struct ethtool_rmon_hist_range **ranges);

void lan78xx_wake_init(struct lan78xx *np);
void lan78xx_wake_changed(struct irqmod_port *port);
extern const struct ethtool_ops lan78xx_ethtool_ops;

#endif /* LAN78XX_H */
