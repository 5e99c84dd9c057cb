// SPDX-License-Identifier: GPL-2.0-only
/*
 * Microchip LAN7800, LAN7801 and LAN7850 USB Ethernet with irqmod's receive
 * schemes. The LAN7515 on some boards is a LAN7800 behind a hub.
 */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "lan78xx.h"
#include "../compat.h"

#define WATCHDOG	(5 * HZ)
#define RX_USECS	136		/* as in the in-tree driver */
#define RX_RING		512		/* frames per pass */
#define AUTOSUSPEND_MS	10000

static const struct irqmod_ops lan78xx_irqmod_ops = {
	.mask = lan78xx_mask,
	.unmask = lan78xx_unmask,
	.rx_ack = lan78xx_rx_ack,
	.rx_take = lan78xx_rx_take,
	.rx_pending = lan78xx_rx_pending,
	.rx_refill = lan78xx_rx_refill,
	.tx_reclaim = lan78xx_tx_reclaim,
	.tx_outstanding = lan78xx_tx_outstanding,
	.tx_bytes = lan78xx_tx_bytes,
	.tx_room = lan78xx_tx_room,
};

/* Starts URBs and schemes on a configured chip. */
int lan78xx_up(struct lan78xx *np)
{
	int err;

	err = lan78xx_rx_alloc(np);
	if (err)
		return err;
	err = lan78xx_tx_alloc(np);
	if (err) {
		lan78xx_rx_free(np);
		return err;
	}
	irqmod_start(&np->port);
	lan78xx_rx_fill(np);
	np->flowing = true;
	return 0;
}

void lan78xx_down(struct lan78xx *np)
{
	if (!np->flowing)
		return;
	np->flowing = false;
	irqmod_stop(&np->port);
	lan78xx_tx_close(np);
	lan78xx_rx_stop(np);
	lan78xx_tx_stop(np);
	lan78xx_events_forget_urbs(np);
	lan78xx_rx_free(np);
	lan78xx_tx_free(np);
}

/* Everything from reset to traffic, except the link. */
static int lan78xx_bring_up(struct lan78xx *np)
{
	int err;

	err = lan78xx_hw_reset(np);
	if (err)
		return err;
	/* At once: if the rest fails, halt adds what has been counted since. */
	lan78xx_stats_reset(np);
	err = lan78xx_hw_init(np);
	if (!err)
		err = lan78xx_hw_start(np);
	if (err)
		return err;
	lan78xx_stats_start(np);
	err = lan78xx_up(np);
	if (err)
		lan78xx_stats_stop(np);
	return err;
}

static void lan78xx_take_down(struct lan78xx *np)
{
	lan78xx_down(np);
	lan78xx_stats_stop(np);
	lan78xx_hw_stop(np);
}

int lan78xx_start(struct lan78xx *np)
{
	int err;

	if (np->phy_lost && phy_init_hw(np->netdev->phydev) >= 0)
		np->phy_lost = false;
	err = lan78xx_bring_up(np);
	if (err)
		return err;
	WRITE_ONCE(np->started, true);
	lan78xx_events_start(np);
	/* Changes of the lists were not taken before it was started. */
	lan78xx_filter_changed(np);
	lan78xx_phy_start(np);
	return 0;
}

/* Called by close, suspend and a failed reset; only the first call acts. */
void lan78xx_halt(struct lan78xx *np)
{
	if (!np->started)
		return;
	WRITE_ONCE(np->started, false);
	phy_stop(np->netdev->phydev);
	lan78xx_take_down(np);
	lan78xx_events_stop(np);
}

static int lan78xx_open(struct net_device *netdev)
{
	struct lan78xx *np = netdev_priv(netdev);
	int err;

	err = usb_autopm_get_interface(np->intf);
	if (err)
		return err;
	netif_carrier_off(netdev);
	err = lan78xx_start(np);
	if (err)
		usb_autopm_put_interface(np->intf);
	return err;
}

static int lan78xx_stop(struct net_device *netdev)
{
	struct lan78xx *np = netdev_priv(netdev);

	lan78xx_halt(np);
	usb_autopm_put_interface(np->intf);
	return 0;
}

/* After lan78xx_take_down(); the link stays as it is. */
static int lan78xx_bring_back(struct lan78xx *np)
{
	int err = lan78xx_bring_up(np);

	if (err) {
		lan78xx_halt(np);
		netif_carrier_off(np->netdev);
		return err;
	}
	lan78xx_link_restore(np);
	return 0;
}

static void lan78xx_device_down(struct irqmod_port *port)
{
	struct lan78xx *np = netdev_priv(port->netdev);

	if (np->started)
		lan78xx_take_down(np);
}

/* Not started: a change, or the restart after it, has failed. */
static int lan78xx_device_up(struct irqmod_port *port)
{
	struct lan78xx *np = netdev_priv(port->netdev);

	return np->started ? lan78xx_bring_back(np) : lan78xx_start(np);
}

static const struct irqmod_device_ops lan78xx_device_ops = {
	.down = lan78xx_device_down,
	.up = lan78xx_device_up,
	.wake_changed = lan78xx_wake_changed,
	.get_stats = lan78xx_get_own_stats,
};

static int lan78xx_change_mtu(struct net_device *netdev, int mtu)
{
	struct lan78xx *np = netdev_priv(netdev);
	int err = 0;

	if (np->started)
		err = lan78xx_set_frame_size(np, mtu);
	if (!err)
		WRITE_ONCE(netdev->mtu, mtu);
	else
		irqmod_reset(&np->port);	/* the receiver may be off */
	return err;
}

/* A received frame does not tell whether its tag has been stripped: none may remain
 * from before a change of that.
 */
static int lan78xx_set_features(struct net_device *netdev,
				netdev_features_t features)
{
	struct lan78xx *np = netdev_priv(netdev);
	bool strips = (features ^ np->features) & NETIF_F_HW_VLAN_CTAG_RX;
	int err;

	if (np->started && strips) {
		lan78xx_take_down(np);
		WRITE_ONCE(np->features, features);
		err = lan78xx_bring_back(np);
		if (err) {
			WRITE_ONCE(np->features, netdev->features);
			irqmod_reset(&np->port);
		}
		return err;
	}
	WRITE_ONCE(np->features, features);
	lan78xx_filter_changed(np);
	return 0;
}

static int lan78xx_set_mac(struct net_device *netdev, void *address)
{
	struct lan78xx *np = netdev_priv(netdev);
	u8 before[ETH_ALEN];
	int err;

	ether_addr_copy(before, netdev->dev_addr);
	err = eth_mac_addr(netdev, address);
	if (err || !np->started)
		return err;
	err = lan78xx_set_address(np);
	if (err) {
		eth_hw_addr_set(netdev, before);
		lan78xx_set_address(np);
	}
	lan78xx_event(np, EVENT_FILTER);
	return err;
}

static const struct net_device_ops lan78xx_netdev_ops = {
	.ndo_open = lan78xx_open,
	.ndo_stop = lan78xx_stop,
	.ndo_start_xmit = lan78xx_xmit,
	.ndo_tx_timeout = irqmod_tx_timeout,
	.ndo_set_rx_mode = lan78xx_set_rx_mode,
	.ndo_set_mac_address = lan78xx_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = lan78xx_change_mtu,
	.ndo_set_features = lan78xx_set_features,
	.ndo_features_check = lan78xx_features_check,
	.ndo_vlan_rx_add_vid = lan78xx_vlan_add,
	.ndo_vlan_rx_kill_vid = lan78xx_vlan_kill,
	.ndo_eth_ioctl = lan78xx_ioctl,
	.ndo_get_stats64 = lan78xx_get_stats64,
};

static void lan78xx_set_up_netdev(struct lan78xx *np)
{
	struct net_device *netdev = np->netdev;

	netdev->netdev_ops = &lan78xx_netdev_ops;
	netdev->ethtool_ops = &lan78xx_ethtool_ops;
	netdev->watchdog_timeo = WATCHDOG;
	netdev->max_mtu = MTU_MAX;
	netdev->priv_flags |= IFF_UNICAST_FLT | IFF_LIVE_ADDR_CHANGE;
	netdev->vlan_features = NETIF_F_SG | NETIF_F_IP_CSUM |
				NETIF_F_IPV6_CSUM | NETIF_F_TSO | NETIF_F_TSO6;
	netdev->hw_features = netdev->vlan_features | NETIF_F_RXCSUM |
			      NETIF_F_HW_VLAN_CTAG_RX |
			      NETIF_F_HW_VLAN_CTAG_TX |
			      NETIF_F_HW_VLAN_CTAG_FILTER;
	netdev->features = netdev->hw_features;
	np->features = netdev->features;
	lan78xx_set_sizes(np);
}

static bool lan78xx_endpoints_are_right(struct usb_interface *intf)
{
	struct usb_device *udev = interface_to_usbdev(intf);
	struct usb_host_endpoint *in, *out;

	if (intf->cur_altsetting->desc.bNumEndpoints < 3)
		return false;
	in = usb_pipe_endpoint(udev, usb_rcvbulkpipe(udev, EP_BULK_IN));
	out = usb_pipe_endpoint(udev, usb_sndbulkpipe(udev, EP_BULK_OUT));
	return in && usb_endpoint_is_bulk_in(&in->desc) &&
	       out && usb_endpoint_is_bulk_out(&out->desc);
}

static void lan78xx_init(struct lan78xx *np)
{
	np->measures = (struct lan78xx_measures) {
		.tx_pool = true, .rx_pool = true, .gro = true,
		.poll_resubmit = true, .overflow_queue = true,
		.tx_packing = true, .adaptive_burst = true,
	};
	spin_lock_init(&np->rx.lock);
	INIT_LIST_HEAD(&np->rx.free);
	INIT_LIST_HEAD(&np->rx.done);
	__skb_queue_head_init(&np->rx.overflow);
	spin_lock_init(&np->tx.lock);
	INIT_LIST_HEAD(&np->tx.free);
	INIT_LIST_HEAD(&np->tx.done);
	mutex_init(&np->nvram_lock);
	mutex_init(&np->mii_lock);
	lan78xx_events_init(np);
	lan78xx_filter_init(np);
	lan78xx_stats_init(np);
}

static void lan78xx_unregister_port(struct lan78xx *np)
{
	napi_disable(&np->tx.napi);
	netif_napi_del(&np->tx.napi);
	irqmod_unregister(&np->port);
}

static int lan78xx_register(struct lan78xx *np)
{
	struct irqmod_port *port = &np->port;
	int err;

	port->netdev = np->netdev;
	port->ops = &lan78xx_irqmod_ops;
	port->caps = IRQMOD_CAP_TRANSFERS;
	port->tx_ring = np->speed->pool.tx_urbs;
	port->rx_ring = RX_RING;
	port->wire_mbps = SPEED_1000;
	port->device = &lan78xx_device_ops;
	lan78xx_wake_init(np);
	port->stat_names = lan78xx_counter_names;
	port->stat_count = LAN78XX_COUNTERS;
	np->queue.rx_usecs = RX_USECS;
	irqmod_add_queue(port, &np->queue);
	err = irqmod_register(port);
	if (err)
		return err;
	netif_napi_add_tx(np->netdev, &np->tx.napi, lan78xx_tx_poll);
	napi_enable(&np->tx.napi);
	err = register_netdev(np->netdev);
	if (err)
		goto unregister_port;
	/* The single group slot of a net_device is used by the engine. This
	 * group is removed together with the device.
	 */
	if (irqmod_instrument(true, false))
		err = sysfs_create_group(&np->netdev->dev.kobj,
					 &lan78xx_measures_group);
	if (err)
		goto unregister;
	return 0;

unregister:
	unregister_netdev(np->netdev);
unregister_port:
	lan78xx_unregister_port(np);
	return err;
}

static int lan78xx_probe(struct usb_interface *intf,
			 const struct usb_device_id *id)
{
	struct usb_device *udev = interface_to_usbdev(intf);
	const struct lan78xx_speed *speed = lan78xx_speed_of(udev);
	struct net_device *netdev;
	struct lan78xx *np;
	int err;

	if (!speed || !lan78xx_endpoints_are_right(intf))
		return -ENODEV;
	netdev = alloc_etherdev(sizeof(*np));
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &intf->dev);
	np = netdev_priv(netdev);
	np->netdev = netdev;
	np->udev = udev;
	np->intf = intf;
	np->speed = speed;
	lan78xx_init(np);
	lan78xx_set_up_netdev(np);

	err = -ENODEV;
	np->maxpacket = usb_maxpacket(udev, usb_sndbulkpipe(udev, EP_BULK_OUT));
	if (!np->maxpacket)
		goto free;
	np->rx.burst = BURST_MIN / np->maxpacket;
	err = lan78xx_int_alloc(np);
	if (err)
		goto free;
	err = lan78xx_hw_reset(np);
	if (!err)
		err = lan78xx_phy_reset(np);
	if (err) {
		dev_info(&intf->dev, "the chip does not respond correctly: %d\n",
			 err);
		goto free_int;
	}
	lan78xx_find_address(np);
	err = lan78xx_phy_attach(np);
	if (err) {
		dev_info(&intf->dev, "no PHY: %d\n", err);
		goto free_int;
	}
	usb_set_intfdata(intf, np);
	err = lan78xx_register(np);
	if (err)
		goto detach;
	pm_runtime_set_autosuspend_delay(&udev->dev, AUTOSUSPEND_MS);
	netdev_info(netdev, "LAN%x, %pM, %s\n", np->chip, netdev->dev_addr,
		    usb_speed_string(udev->speed));
	return 0;

detach:
	usb_set_intfdata(intf, NULL);
	lan78xx_phy_detach(np);
free_int:
	lan78xx_int_free(np);
free:
	free_netdev(netdev);
	return err;
}

/* May run under traffic, with the device removed or still present. */
static void lan78xx_disconnect(struct usb_interface *intf)
{
	struct lan78xx *np = usb_get_intfdata(intf);

	unregister_netdev(np->netdev);
	cancel_work_sync(&np->port.reset_work);
	cancel_delayed_work_sync(&np->event_work);
	lan78xx_phy_detach(np);
	lan78xx_unregister_port(np);
	lan78xx_int_free(np);
	usb_set_intfdata(intf, NULL);
	free_netdev(np->netdev);
}

static const struct usb_device_id lan78xx_ids[] = {
	{ USB_DEVICE(0x0424, CHIP_LAN7800) },	/* and LAN7515 */
	{ USB_DEVICE(0x0424, CHIP_LAN7801) },
	{ USB_DEVICE(0x0424, CHIP_LAN7850) },
	{ USB_DEVICE(0x07c9, 0x0012) },		/* Allied Telesis AT29M2-AF */
	{ }
};

IRQMOD_DRIVES("usb:v0424p7800d*dc*dsc*dp*ic*isc*ip*in*");
IRQMOD_DRIVES("usb:v0424p7801d*dc*dsc*dp*ic*isc*ip*in*");
IRQMOD_DRIVES("usb:v0424p7850d*dc*dsc*dp*ic*isc*ip*in*");
IRQMOD_DRIVES("usb:v07C9p0012d*dc*dsc*dp*ic*isc*ip*in*");

static struct usb_driver lan78xx_driver = {
	.name = KBUILD_MODNAME,
	.id_table = lan78xx_ids,
	.probe = lan78xx_probe,
	.disconnect = lan78xx_disconnect,
	.suspend = lan78xx_suspend,
	.resume = lan78xx_resume,
	.reset_resume = lan78xx_reset_resume,
	.supports_autosuspend = 1,
	.disable_hub_initiated_lpm = 1,
};
module_usb_driver(lan78xx_driver);

MODULE_DESCRIPTION("Microchip LAN78xx USB Ethernet with selectable receive schemes");
MODULE_LICENSE("GPL");
