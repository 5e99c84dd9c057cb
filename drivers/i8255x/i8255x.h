/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef I8255X_H
#define I8255X_H

#include <linux/dmapool.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "device.h"
#include "eeprom.h"
#include "irqmod.h"
#include "mii.h"
#include "regs.h"

#define RING_MIN	16
#define RING_MAX	1024
#define RING_DEFAULT	256	/* Spanos et al. 2008 */

/* A packet takes one slot; a change of address and receive mode takes more. */
#define TX_MODE_SLOTS	3
#define TX_RESERVE	(1 + TX_MODE_SLOTS)

/* Commands per doorbell: QEMU's model executes at most 16 for one doorbell, and
 * the wire should not wait for a long batch.
 */
#define TX_BATCH	8

/* The memory of both rings, separate because a resize holds two sets. */
struct i8255x_rings {
	u8 *cbs;			/* slots of CB_BYTES */
	dma_addr_t cbs_dma;
	struct sk_buff **tx_skb;
	unsigned int tx_count;
	unsigned int rx_count;
	struct i8255x_rfd **rfd;
	dma_addr_t *rfd_dma;
};

/* Chips by their PCI revision, which grows with what they can do. */
enum i8255x_chip {
	I82558		= 0x04,	/* wakes by magic packet */
	I82559		= 0x08,
	I82559_S	= 0x09,
	I82550		= 0x0c,
	I82551_F	= 0x0f,
	I82551_10	= 0x10,
};

struct i8255x {
	struct irqmod_port port;	/* first: see irqmod.h */
	struct irqmod_queue queue;
	/* What each packet needs is in two lines (64 bytes, 64-bit): this one
	 * is only read,
	 */
	void __iomem *regs ____cacheline_aligned;
	struct pci_dev *pdev;
	struct i8255x_rings rings;

	/* and this one is written, too. Transmit: slots of the command list. */
	unsigned int tx_head ____cacheline_aligned; /* index: next to fill */
	unsigned int tx_tail;		/* index: next to reclaim */
	u32 tx_filled;			/* running totals */
	u32 tx_done;
	unsigned int tx_unkicked;	/* filled since the last doorbell */
	bool tx_usable;			/* commands may be queued */
	bool rx_mode_pending;		/* change deferred: no free slots */
	u8 cu_command;			/* CU_START, then CU_RESUME */
	bool ru_stopped;		/* descriptor with the EL bit was taken, or
					 * a start was not accepted
					 */
	bool ru_check;			/* RNR: the NIC reported a stop */
	spinlock_t ru_lock;		/* starts of the receiver */
	spinlock_t command_lock;	/* SCB_COMMAND */
	unsigned int lost_doorbells;	/* for tests: doorbells to omit */

	/* Receive. rx_taken and rx_returned are running totals; their
	 * difference is the number of descriptors to refill.
	 */
	unsigned int rx_cur;		/* index: next to take */
	unsigned int rx_ret;		/* index: next to refill */
	unsigned int rx_last;		/* index: has the EL bit */
	u32 rx_taken;
	u32 rx_returned;
	struct net_device *netdev;

	struct dma_pool *rfd_pool;
	spinlock_t mask_lock;		/* @mask and SCB_MASK */
	u8 mask;			/* shadow of SCB_MASK */

	struct i8255x_shared *shared;
	dma_addr_t shared_dma;
	spinlock_t counters_lock;	/* the next four and shared->counters */
	bool counters_on;		/* the NIC has the address */
	bool counters_asked;		/* a dump is in progress */
	u32 rx_arrived;			/* sum of all dumps, modulo 2^32 */
	u64 counters[COUNTERS];		/* sums of all dumps */
	unsigned int counter_words;	/* in a dump */

	u8 chip;			/* enum i8255x_chip or between */
	bool ich;			/* part of a chipset */
	bool slow_link;			/* a resume needs a NOP before it */
	bool cpusaver;			/* the microcode bundles interrupts */
	bool flow;			/* pause frames are on */
	bool flow_auto;			/* ... if both sides advertise them */
	struct eeprom_93cx6 eeprom;	/* under RTNL */
	const struct firmware *microcode;	/* under RTNL */

	struct mii_if_info mii;
	struct irqmod_mii mii_kept;
	struct mutex mdio_lock;		/* MDI */
	struct timer_list retry;	/* of commands that were not accepted */
	struct delayed_work link_work;
};

static inline struct i8255x *i8255x_of(struct irqmod_port *port)
{
	return container_of(port, struct i8255x, port);
}

static inline struct i8255x *to_i8255x(struct irqmod_queue *queue)
{
	return container_of(queue, struct i8255x, queue);
}

/* QEMU's models have the revisions of chips, but not their defects. */
static inline bool i8255x_is_qemu(const struct i8255x *np)
{
	return np->pdev->subsystem_vendor == PCI_SUBVENDOR_ID_REDHAT_QUMRANET;
}

static inline struct i8255x_cb *i8255x_slot(struct i8255x *np, unsigned int i)
{
	return (struct i8255x_cb *)(np->rings.cbs + i * CB_BYTES);
}

static inline dma_addr_t i8255x_slot_dma(struct i8255x *np, unsigned int i)
{
	return np->rings.cbs_dma + i * CB_BYTES;
}

/* The bus address of a member of the shared area. */
#define i8255x_shared_dma(np, member) \
	((np)->shared_dma + offsetof(struct i8255x_shared, member))

/* hw.c */
int i8255x_hw_reset(struct i8255x *np);
bool i8255x_has_masks(struct i8255x *np);
int i8255x_execute(struct i8255x *np, u16 command);
int i8255x_wait_accepted(struct i8255x *np);
int i8255x_command(struct i8255x *np, u8 command, u32 pointer);
int i8255x_command_wait(struct i8255x *np, u8 command, u32 pointer);
void i8255x_retry_later(struct i8255x *np);
void i8255x_retry(struct timer_list *timer);
bool i8255x_try_command(struct i8255x *np, u8 command);
int i8255x_mdio_read(struct net_device *netdev, int phy, int reg);
void i8255x_mdio_write(struct net_device *netdev, int phy, int reg, int value);
void i8255x_config(const struct i8255x *np, u8 *config);
void i8255x_mask(struct irqmod_queue *queue, u32 groups);
void i8255x_unmask(struct irqmod_queue *queue, u32 groups);
void i8255x_rx_ack(struct irqmod_queue *queue);
irqreturn_t i8255x_isr(int irq, void *data);

/* rx.c */
int i8255x_rx_alloc(struct i8255x *np, struct i8255x_rings *rings);
void i8255x_rx_free(struct i8255x *np, struct i8255x_rings *rings);
void i8255x_rx_reset(struct i8255x *np);
int i8255x_rx_start(struct i8255x *np);
int i8255x_rx_take(struct irqmod_queue *queue, int budget);
bool i8255x_rx_pending(struct irqmod_queue *queue);
void i8255x_rx_refill(struct irqmod_queue *queue);

/* tx.c */
int i8255x_tx_alloc(struct i8255x *np, struct i8255x_rings *rings);
void i8255x_tx_free(struct i8255x *np, struct i8255x_rings *rings);
void i8255x_tx_reset(struct i8255x *np);
void i8255x_tx_enable(struct i8255x *np, bool enable);
void i8255x_tx_drop(struct i8255x *np);
void i8255x_tx_retry(struct i8255x *np);
netdev_tx_t i8255x_xmit(struct sk_buff *skb, struct net_device *netdev);
unsigned int i8255x_tx_reclaim(struct irqmod_queue *queue);
unsigned int i8255x_tx_outstanding(struct irqmod_queue *queue);
unsigned int i8255x_tx_bytes(struct irqmod_queue *queue);
unsigned int i8255x_tx_room(struct irqmod_queue *queue);
void i8255x_set_rx_mode(struct net_device *netdev);
int i8255x_tx_dump(struct i8255x *np);

/* counters.c */
void i8255x_counters_init(struct i8255x *np);
int i8255x_counters_start(struct i8255x *np);
void i8255x_counters_stop(struct i8255x *np);
bool i8255x_rx_count(struct irqmod_queue *queue);
bool i8255x_rx_arrived(struct irqmod_queue *queue, u32 *arrived);
void i8255x_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats);

void i8255x_get_own_stats(struct irqmod_port *port, u64 *data);

/* eeprom.c */
int i8255x_eeprom_init(struct i8255x *np);
u16 i8255x_eeprom_sum(struct i8255x *np);
int i8255x_get_eeprom_len(struct net_device *netdev);
int i8255x_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes);
int i8255x_set_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes);

/* selftest.c */
#define I8255X_TESTS	6
extern const char i8255x_test_names[I8255X_TESTS][ETH_GSTRING_LEN];
void i8255x_self_test(struct net_device *netdev, struct ethtool_test *test,
		      u64 *data);

/* microcode.c */
int i8255x_microcode_request(struct i8255x *np);
int i8255x_microcode_load(struct i8255x *np);
void i8255x_microcode_release(struct i8255x *np);

/* wake.c */
void i8255x_wake_init(struct i8255x *np);
void i8255x_sleep(struct irqmod_port *port);

/* main.c: under RTNL */
void i8255x_apply(struct i8255x *np);
int i8255x_up(struct irqmod_port *port);
void i8255x_down(struct irqmod_port *port);
void i8255x_link_pause(struct i8255x *np);
void i8255x_link_resume(struct i8255x *np);

/* phy.c */
int i8255x_find_phy(struct i8255x *np);
u32 i8255x_phy_id(struct i8255x *np, int phy);
void i8255x_phy_mdix(struct i8255x *np);
void i8255x_init_phy(struct i8255x *np, int phy);
void i8255x_link_speed(struct i8255x *np);
bool i8255x_phy_forces_full(const struct i8255x *np);

/* flow.c */
void i8255x_flow_init(struct i8255x *np);
void i8255x_flow_up(struct i8255x *np);
void i8255x_flow_link(struct i8255x *np);
void i8255x_get_pauseparam(struct net_device *netdev,
			   struct ethtool_pauseparam *pause);
int i8255x_set_pauseparam(struct net_device *netdev,
			  struct ethtool_pauseparam *pause);

extern const struct ethtool_ops i8255x_ethtool_ops;

#endif /* I8255X_H */
