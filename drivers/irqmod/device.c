// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stops a chip in operation and starts it again, and what ethtool asks of the
 * port's fields (device.h).
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "device.h"
#include "scheme.h"

static void device_down(struct irqmod_port *port)
{
	if (netif_running(port->netdev))
		port->device->down(port);
}

/* Starts an interface that is to be up. If that fails it is closed, so that bringing it
 * up is another attempt.
 */
static int device_up(struct irqmod_port *port)
{
	int err = 0;

	if (netif_running(port->netdev))
		err = port->device->up(port);
	if (err) {
		netdev_err(port->netdev, "the chip does not restart: %pe\n", ERR_PTR(err));
		dev_close(port->netdev);
	}
	return err;
}

static void reset_work(struct work_struct *work)
{
	struct irqmod_port *port = container_of(work, struct irqmod_port, reset_work);

	rtnl_lock();
	if (netif_device_present(port->netdev)) {
		device_down(port);
		device_up(port);
	}
	rtnl_unlock();
}

void irqmod_device_init(struct irqmod_port *port)
{
	INIT_WORK(&port->reset_work, reset_work);
}

/**
 * irqmod_reset() - stops and starts the chip, soon
 * @port: the port
 *
 * For an error that the handler sees, and for a restart that has failed: it is tried
 * once more.
 *
 * Context: any.
 */
void irqmod_reset(struct irqmod_port *port)
{
	schedule_work(&port->reset_work);
}
EXPORT_SYMBOL_GPL(irqmod_reset);

/**
 * irqmod_tx_timeout() - ndo_tx_timeout
 * @netdev: a netdev with a port
 * @queue: unused
 */
void irqmod_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	irqmod_reset(irqmod_port(netdev));
}
EXPORT_SYMBOL_GPL(irqmod_tx_timeout);

static void swap_rings(struct irqmod_port *port, void *rings)
{
	u8 *ours = port->rings, *theirs = rings;
	size_t i;

	for (i = 0; i < port->rings_bytes; i++)
		swap(ours[i], theirs[i]);
}

/**
 * irqmod_resize() - replaces the rings of an interface that is up
 * @port: the port
 * @rx_ring: descriptors of each receive ring
 * @tx_ring: packets that each transmit ring holds
 *
 * Also for buffers of another size, with the rings as they are. The new rings are
 * allocated first: without memory, or if the chip does not restart, the old ones stay
 * in use.
 *
 * Context: process, under RTNL.
 * Return: 0, or what rings_alloc() or up() returned.
 */
int irqmod_resize(struct irqmod_port *port, unsigned int rx_ring, unsigned int tx_ring)
{
	unsigned int rx = port->rx_ring, tx = port->tx_ring;
	void *rings = kzalloc(port->rings_bytes, GFP_KERNEL);
	int err;

	if (!rings)
		return -ENOMEM;
	err = port->device->rings_alloc(port, rings, rx_ring, tx_ring);
	if (err)
		goto out;
	port->device->down(port);
	swap_rings(port, rings);
	irqmod_set_rings(port, rx_ring, tx_ring);
	err = port->device->up(port);
	if (err) {
		swap_rings(port, rings);
		irqmod_set_rings(port, rx, tx);
		irqmod_reset(port);
	}
	port->device->rings_free(port, rings);
out:
	kfree(rings);
	return err;
}
EXPORT_SYMBOL_GPL(irqmod_resize);

static struct irqmod_port *port_of(struct device *dev)
{
	return irqmod_port(dev_get_drvdata(dev));
}

static void detach(struct irqmod_port *port)
{
	rtnl_lock();
	netif_device_detach(port->netdev);
	device_down(port);
	rtnl_unlock();
}

static int attach(struct irqmod_port *port)
{
	int err;

	rtnl_lock();
	/* A reset by sysfs may have started it while the PCI core recovers. */
	device_down(port);
	if (port->device->restore)
		port->device->restore(port);
	err = device_up(port);
	netif_device_attach(port->netdev);
	rtnl_unlock();
	return err;
}

/**
 * irqmod_pci_suspend() - suspend of struct dev_pm_ops
 * @dev: the device
 *
 * Return: 0.
 */
int irqmod_pci_suspend(struct device *dev)
{
	struct irqmod_port *port = port_of(dev);

	detach(port);
	if (port->device->sleep)
		port->device->sleep(port);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_pci_suspend);

/**
 * irqmod_pci_resume() - resume of struct dev_pm_ops
 * @dev: the device
 *
 * Return: 0, or what up() returned; then the interface is down.
 */
int irqmod_pci_resume(struct device *dev)
{
	return attach(port_of(dev));
}
EXPORT_SYMBOL_GPL(irqmod_pci_resume);

/**
 * irqmod_pci_shutdown() - shutdown of a PCI driver
 * @pdev: the device
 *
 * Also for kexec: the chip must not write to the next kernel's memory.
 */
void irqmod_pci_shutdown(struct pci_dev *pdev)
{
	irqmod_pci_suspend(&pdev->dev);
	if (system_state == SYSTEM_POWER_OFF) {
		pci_wake_from_d3(pdev, port_of(&pdev->dev)->wol);
		pci_set_power_state(pdev, PCI_D3hot);
	}
}
EXPORT_SYMBOL_GPL(irqmod_pci_shutdown);

/* PCI error recovery (Documentation/PCI/pci-error-recovery.rst) */
static pci_ers_result_t error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	detach(port_of(&pdev->dev));
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

/* The driver has called pci_save_state() at the end of its probe. */
static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	/* The device was not disabled: its interrupt is still requested. A
	 * kernel may take the saved state as used after a suspend.
	 */
	pdev->state_saved = true;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

/* device_up() says what fails. */
static void error_resume(struct pci_dev *pdev)
{
	attach(port_of(&pdev->dev));
}

/* A reset that somebody asks for in sysfs; the PCI core keeps the configuration. */
static void reset_prepare(struct pci_dev *pdev)
{
	detach(port_of(&pdev->dev));
}

const struct pci_error_handlers irqmod_pci_error_handlers = {
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = error_resume,
	.reset_prepare = reset_prepare,
	.reset_done = error_resume,
};
EXPORT_SYMBOL_GPL(irqmod_pci_error_handlers);

/**
 * irqmod_get_ringparam() - get_ringparam of ethtool_ops
 * @netdev: a netdev with a port
 * @ring: gets the port's rings, and @ring_max
 * @kernel_ring: unused
 * @extack: unused
 */
void irqmod_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	const struct irqmod_port *port = irqmod_port(netdev);

	ring->rx_max_pending = port->ring_max;
	ring->tx_max_pending = port->ring_max;
	ring->rx_pending = port->rx_ring;
	ring->tx_pending = port->tx_ring;
}
EXPORT_SYMBOL_GPL(irqmod_get_ringparam);

/**
 * irqmod_set_ringparam() - set_ringparam of ethtool_ops
 * @netdev: a netdev with a port
 * @ring: the rings; the ethtool core has compared them with @ring_max
 * @kernel_ring: unused
 * @extack: says which values are allowed
 *
 * Return: 0, -EINVAL below @ring_min, or what irqmod_resize() returns.
 */
int irqmod_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct irqmod_port *port = irqmod_port(netdev);

	if (ring->rx_pending < port->ring_min || ring->tx_pending < port->ring_min) {
		NL_SET_ERR_MSG_MOD(extack, "rx or tx: too few descriptors for this hardware");
		return -EINVAL;
	}
	if (netif_running(netdev))
		return irqmod_resize(port, ring->rx_pending, ring->tx_pending);
	irqmod_set_rings(port, ring->rx_pending, ring->tx_pending);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_set_ringparam);

/**
 * irqmod_get_wol() - get_wol of ethtool_ops
 * @netdev: a netdev with a port
 * @wol: gets @wol_supported and @wol
 */
void irqmod_get_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	const struct irqmod_port *port = irqmod_port(netdev);

	wol->supported = port->wol_supported;
	wol->wolopts = port->wol;
}
EXPORT_SYMBOL_GPL(irqmod_get_wol);

/**
 * irqmod_set_wol() - set_wol of ethtool_ops
 * @netdev: a netdev with a port
 * @wol: what may wake the machine
 *
 * Return: 0, or -EOPNOTSUPP for anything but @wol_supported.
 */
int irqmod_set_wol(struct net_device *netdev, struct ethtool_wolinfo *wol)
{
	struct irqmod_port *port = irqmod_port(netdev);

	if (wol->wolopts & ~port->wol_supported)
		return -EOPNOTSUPP;
	port->wol = wol->wolopts;
	if (port->device->wake_changed)
		port->device->wake_changed(port);
	device_set_wakeup_enable(netdev->dev.parent, port->wol);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_set_wol);

/**
 * irqmod_get_msglevel() - get_msglevel of ethtool_ops
 * @netdev: a netdev with a port
 *
 * Return: which messages are wanted (NETIF_MSG_DRV and others).
 */
u32 irqmod_get_msglevel(struct net_device *netdev)
{
	return irqmod_port(netdev)->msg_enable;
}
EXPORT_SYMBOL_GPL(irqmod_get_msglevel);

/**
 * irqmod_set_msglevel() - set_msglevel of ethtool_ops
 * @netdev: a netdev with a port
 * @value: which messages are wanted
 */
void irqmod_set_msglevel(struct net_device *netdev, u32 value)
{
	irqmod_port(netdev)->msg_enable = value;
}
EXPORT_SYMBOL_GPL(irqmod_set_msglevel);
