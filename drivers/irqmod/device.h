/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What drivers have in common besides their rings: stopping the chip and starting it
 * again for a transmit timeout, other rings, suspend, shutdown, PCI errors and resets;
 * and the operations of ethtool that only look at fields of the port.
 *
 * A driver sets @device of its port, and before irqmod_register() the fields that it
 * needs of ring_min to stat_count. Of the functions it uses those that suit it. The
 * driver data of a PCI device is its netdev.
 */
#ifndef IRQMOD_DEVICE_H
#define IRQMOD_DEVICE_H

#include <linux/pci.h>
#include <linux/pm.h>

#include "irqmod.h"

/* What drivers say unless their parameter debug asks for something else. */
#define IRQMOD_MESSAGES	(NETIF_MSG_DRV | NETIF_MSG_PROBE | NETIF_MSG_LINK | NETIF_MSG_IFUP)

/**
 * struct irqmod_device_ops - what a driver provides for this; all under RTNL
 */
struct irqmod_device_ops {
	/** @down: of an interface that is up: stops schemes and chip. May be called twice. */
	void (*down)(struct irqmod_port *port);
	/** @handler: of the port's only queue; gets the port. For irqmod_open(). */
	irq_handler_t handler;
	/** @up: after that: starts the chip and the schemes on the port's rings. */
	int (*up)(struct irqmod_port *port);
	/**
	 * @restore: before @up, if the chip may have lost its power or been reset, and
	 * of an interface that is down, too: sets what @up does not. Optional.
	 */
	void (*restore)(struct irqmod_port *port);
	/**
	 * @sleep: before the machine sleeps, the interface stopped: prepares the chip
	 * to wake it for what is in @wol of the port, or for nothing. Optional.
	 */
	void (*sleep)(struct irqmod_port *port);
	/** @wake_changed: @wol of the port has changed. Optional. */
	void (*wake_changed)(struct irqmod_port *port);
	/** @rings_alloc: allocates rings of these sizes; @rings is zeroed. For irqmod_resize(). */
	int (*rings_alloc)(struct irqmod_port *port, void *rings, unsigned int rx_ring,
			   unsigned int tx_ring);
	/** @rings_free: frees them, with what is on them. */
	void (*rings_free)(struct irqmod_port *port, void *rings);
	/** @get_stats: gets the @stat_count values of the chip's own statistics. Optional. */
	void (*get_stats)(struct irqmod_port *port, u64 *data);
};

/* For struct net_device_ops. irqmod_open(): one queue, rings_alloc() and handler. */
int irqmod_open(struct net_device *netdev);
int irqmod_close(struct net_device *netdev);
void irqmod_poll_controller(struct net_device *netdev);
void irqmod_tx_timeout(struct net_device *netdev, unsigned int queue);

void irqmod_reset(struct irqmod_port *port);
int irqmod_resize(struct irqmod_port *port, unsigned int rx_ring, unsigned int tx_ring);

/* For struct dev_pm_ops and struct pci_driver. */
int irqmod_pci_suspend(struct device *dev);
int irqmod_pci_resume(struct device *dev);
void irqmod_pci_shutdown(struct pci_dev *pdev);
extern const struct pci_error_handlers irqmod_pci_error_handlers;

/* For struct ethtool_ops; the rest of them is in irqmod.h. */
void irqmod_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack);
int irqmod_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack);
void irqmod_get_wol(struct net_device *netdev, struct ethtool_wolinfo *wol);
int irqmod_set_wol(struct net_device *netdev, struct ethtool_wolinfo *wol);
u32 irqmod_get_msglevel(struct net_device *netdev);
void irqmod_set_msglevel(struct net_device *netdev, u32 value);

#endif /* IRQMOD_DEVICE_H */
