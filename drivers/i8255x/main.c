// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intel 82558, 82559, 82550, 82551 and the embedded 82559ER and 82551ER, with
 * irqmod's interrupt-handling schemes.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "i8255x.h"

#define LINK_PERIOD	(2 * HZ)
#define WATCHDOG	(2 * HZ)

IRQMOD_PARAMETER(lost_doorbells, uint, 0444,
		 "For tests: omit this many transmit doorbells, to cause a tx_timeout (default 0)");

static bool eeprom_bad_csum_allow;
module_param(eeprom_bad_csum_allow, bool, 0444);
MODULE_PARM_DESC(eeprom_bad_csum_allow, "Accept an EEPROM with a wrong checksum (default N)");

static int debug = -1;
module_param(debug, int, 0444);
MODULE_PARM_DESC(debug, "Messages: the number of low bits of msglvl (default -1: those of ethtool's drv, probe, link and ifup)");

static const struct irqmod_ops i8255x_irqmod_ops = {
	.mask = i8255x_mask,
	.unmask = i8255x_unmask,
	.rx_ack = i8255x_rx_ack,
	.rx_take = i8255x_rx_take,
	.rx_pending = i8255x_rx_pending,
	.rx_refill = i8255x_rx_refill,
	.tx_reclaim = i8255x_tx_reclaim,
	.tx_outstanding = i8255x_tx_outstanding,
	.tx_bytes = i8255x_tx_bytes,
	.tx_room = i8255x_tx_room,
	.rx_count = i8255x_rx_count,
	.rx_arrived = i8255x_rx_arrived,
};

/* Sets our address, the configuration and the multicast filter, now or soon. */
void i8255x_apply(struct i8255x *np)
{
	netif_addr_lock_bh(np->netdev);
	i8255x_set_rx_mode(np->netdev);
	netif_addr_unlock_bh(np->netdev);
}

/* Starts the chip on allocated rings. */
static int i8255x_chip_up(struct i8255x *np)
{
	int err;

	err = i8255x_hw_reset(np);
	if (err)
		return err;
	err = i8255x_microcode_load(np);
	if (err)
		return err;
	err = i8255x_counters_start(np);
	if (err)
		return err;
	i8255x_flow_up(np);
	i8255x_tx_enable(np, true);
	i8255x_apply(np);
	err = i8255x_rx_start(np);
	if (err) {
		i8255x_tx_enable(np, false);
		i8255x_counters_stop(np);
	}
	return err;
}

int i8255x_up(struct irqmod_port *port)
{
	struct i8255x *np = i8255x_of(port);
	int err;

	/* Until the link work looks: the speed may be why the chip is reset. */
	WRITE_ONCE(np->slow_link, true);
	i8255x_rx_reset(np);
	i8255x_tx_reset(np);
	err = i8255x_chip_up(np);
	if (err) {
		/* The command unit may still read the list. */
		i8255x_hw_reset(np);
		return err;
	}
	irqmod_start(port);
	schedule_delayed_work(&np->link_work, 0);
	return 0;
}

/* No access to the PHY may be under way while the chip is reset: the link work stops
 * first. All others hold RTNL.
 */
void i8255x_down(struct irqmod_port *port)
{
	struct i8255x *np = i8255x_of(port);

	cancel_delayed_work_sync(&np->link_work);
	irqmod_stop(port);
	i8255x_tx_enable(np, false);
	i8255x_counters_stop(np);
	i8255x_hw_reset(np);
	i8255x_tx_drop(np);
}

static int i8255x_rings_alloc(struct irqmod_port *port, void *rings, unsigned int rx_ring,
			      unsigned int tx_ring)
{
	struct i8255x *np = i8255x_of(port);
	struct i8255x_rings *r = rings;
	int err;

	r->rx_count = rx_ring;
	r->tx_count = tx_ring;
	err = i8255x_rx_alloc(np, r);
	if (err)
		return err;
	err = i8255x_tx_alloc(np, r);
	if (err)
		i8255x_rx_free(np, r);
	return err;
}

static void i8255x_rings_free(struct irqmod_port *port, void *rings)
{
	i8255x_tx_free(i8255x_of(port), rings);
	i8255x_rx_free(i8255x_of(port), rings);
}

/* Without power, or reset, all causes are unmasked: an interface that is down has no
 * handler.
 */
static void i8255x_restore(struct irqmod_port *port)
{
	struct i8255x *np = i8255x_of(port);

	pci_set_master(np->pdev);
	writeb(np->mask, np->regs + SCB_MASK);
	i8255x_init_phy(np, np->mii.phy_id);
	irqmod_mii_restore(&np->mii, &np->mii_kept);
}

static const struct irqmod_device_ops i8255x_device_ops = {
	.handler = i8255x_isr,
	.down = i8255x_down,
	.up = i8255x_up,
	.restore = i8255x_restore,
	.sleep = i8255x_sleep,
	.rings_alloc = i8255x_rings_alloc,
	.rings_free = i8255x_rings_free,
	.get_stats = i8255x_get_own_stats,
};

static int i8255x_open(struct net_device *netdev)
{
	return i8255x_microcode_request(netdev_priv(netdev)) ?: irqmod_open(netdev);
}

static void i8255x_link(struct work_struct *work)
{
	struct i8255x *np = container_of(work, struct i8255x, link_work.work);

	/* Also while the carrier is on: the link may have been down since the last
	 * look, and have become another one.
	 */
	i8255x_link_speed(np);
	i8255x_flow_link(np);
	mii_check_media(&np->mii, netif_msg_link(&np->port), false);
	i8255x_rx_count(&np->queue);	/* before the counters saturate */
	schedule_delayed_work(&np->link_work, LINK_PERIOD);
}

/* While settings of the link change: the work may be about to apply the old ones.
 * Until it looks again the link may be slow.
 */
void i8255x_link_pause(struct i8255x *np)
{
	cancel_delayed_work_sync(&np->link_work);
	WRITE_ONCE(np->slow_link, true);
}

void i8255x_link_resume(struct i8255x *np)
{
	if (netif_running(np->netdev))
		schedule_delayed_work(&np->link_work, 0);
}

static int i8255x_set_mac(struct net_device *netdev, void *address)
{
	struct i8255x *np = netdev_priv(netdev);
	int err = eth_mac_addr(netdev, address);

	if (!err && netif_running(netdev))
		i8255x_apply(np);
	return err;
}

/* The chip verifies no checksums: its frames do not go through GRO. */
static netdev_features_t i8255x_fix_features(struct net_device *netdev,
					     netdev_features_t features)
{
	return features & ~NETIF_F_GRO;
}

/* The configuration follows netdev->features; 1: they are set. */
static int i8255x_set_features(struct net_device *netdev,
			       netdev_features_t features)
{
	netdev_features_t changed = features ^ netdev->features;

	if (!(changed & (NETIF_F_RXFCS | NETIF_F_RXALL)))
		return 0;
	netdev->features = features;
	if (netif_running(netdev))
		i8255x_apply(netdev_priv(netdev));
	return 1;
}

static int i8255x_ioctl(struct net_device *netdev, struct ifreq *ifr, int cmd)
{
	struct i8255x *np = netdev_priv(netdev);
	bool forced = np->mii.force_media;
	int err;

	if (!netif_running(netdev))
		return -EINVAL;
	if (cmd != SIOCSMIIREG)
		return generic_mii_ioctl(&np->mii, if_mii(ifr), cmd, NULL);
	i8255x_link_pause(np);
	err = generic_mii_ioctl(&np->mii, if_mii(ifr), cmd, NULL);
	if (!err) {
		irqmod_mii_save(&np->mii, &np->mii_kept);
		if (np->mii.force_media != forced)
			i8255x_phy_mdix(np);
		/* A forced duplex is part of the configuration. */
		i8255x_apply(np);
	}
	i8255x_link_resume(np);
	return err;
}

static const struct net_device_ops i8255x_netdev_ops = {
	.ndo_open = i8255x_open,
	.ndo_stop = irqmod_close,
	.ndo_start_xmit = i8255x_xmit,
	.ndo_set_rx_mode = i8255x_set_rx_mode,
	.ndo_set_mac_address = i8255x_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_eth_ioctl = i8255x_ioctl,
	.ndo_tx_timeout = irqmod_tx_timeout,
	.ndo_get_stats64 = i8255x_get_stats64,
	.ndo_fix_features = i8255x_fix_features,
	.ndo_set_features = i8255x_set_features,
#ifdef CONFIG_NET_POLL_CONTROLLER
	.ndo_poll_controller = irqmod_poll_controller,
#endif
};

/* The 82557 has one mask for all causes; QEMU's model of it has all masks. */
static int i8255x_identify(struct i8255x *np, bool ich)
{
	struct pci_dev *pdev = np->pdev;

	np->ich = ich;
	np->chip = ich ? I82559 : pdev->revision;
	if ((np->chip < I82558 && !i8255x_is_qemu(np)) ||
	    !i8255x_has_masks(np)) {
		dev_err(&pdev->dev,
			"an 82557 cannot mask individual causes; use e100\n");
		return -ENODEV;
	}
	return 0;
}

static int i8255x_read_eeprom(struct i8255x *np, u8 *mac)
{
	struct device *dev = &np->pdev->dev;
	int err;

	err = i8255x_eeprom_init(np);
	if (err) {
		dev_err(dev, "no EEPROM answers\n");
		return err;
	}
	if (i8255x_eeprom_sum(np) != EEPROM_SUM) {
		dev_err(dev, "the EEPROM has a wrong checksum\n");
		if (!eeprom_bad_csum_allow)
			return -EAGAIN;
	}
	irqmod_eeprom_get(&np->eeprom, 2 * EEPROM_MAC, ETH_ALEN, mac);
	if (!is_valid_ether_addr(mac)) {
		dev_err(dev, "no valid MAC address in the EEPROM\n");
		return -EAGAIN;
	}
	return 0;
}

static int i8255x_probe_phy(struct i8255x *np)
{
	int phy;

	phy = i8255x_find_phy(np);
	if (phy < 0) {
		dev_err(&np->pdev->dev, "no PHY answers\n");
		return phy;
	}
	if (i8255x_phy_id(np, phy) == PHY_82552) {
		dev_err(&np->pdev->dev, "the 82552 PHY is not supported; use e100\n");
		return -ENODEV;
	}
	np->mii = (struct mii_if_info) {
		.phy_id = phy,
		.phy_id_mask = 0x1f,
		.reg_num_mask = 0x1f,
		.dev = np->netdev,
		.mdio_read = i8255x_mdio_read,
		.mdio_write = i8255x_mdio_write,
	};
	i8255x_init_phy(np, phy);
	return 0;
}

static void i8255x_init_port(struct i8255x *np)
{
	struct net_device *netdev = np->netdev;
	struct irqmod_port *port = &np->port;

	port->netdev = netdev;
	port->ops = &i8255x_irqmod_ops;
	port->caps = IRQMOD_CAP_MASK | IRQMOD_CAP_TX_IRQ_BIT;
	port->tx_ring = RING_DEFAULT;
	port->rx_ring = RING_DEFAULT;
	port->tx_reserve = TX_RESERVE;
	port->wire_mbps = SPEED_100;
	port->device = &i8255x_device_ops;
	port->ring_min = RING_MIN;
	port->ring_max = RING_MAX;
	port->rings = &np->rings;
	port->rings_bytes = sizeof(np->rings);
	np->queue.irq = np->pdev->irq;
	irqmod_add_queue(port, &np->queue);
	netdev->netdev_ops = &i8255x_netdev_ops;
	netdev->ethtool_ops = &i8255x_ethtool_ops;
	netdev->watchdog_timeo = WATCHDOG;
	netdev->max_mtu = ETH_DATA_LEN;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	netdev->hw_features = NETIF_F_RXFCS | NETIF_F_RXALL;
}

static int i8255x_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *netdev;
	struct i8255x *np;
	u8 mac[ETH_ALEN];
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (err)
		return err;
	err = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (err)
		return err;
	netdev = devm_alloc_etherdev(&pdev->dev, sizeof(*np));
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &pdev->dev);
	pci_set_drvdata(pdev, netdev);
	np = netdev_priv(netdev);
	np->netdev = netdev;
	np->pdev = pdev;
	np->regs = pcim_iomap_table(pdev)[0];
	np->lost_doorbells = irqmod_instrument(lost_doorbells, 0);
	np->slow_link = true;
	np->port.msg_enable = netif_msg_init(debug, IRQMOD_MESSAGES);
	spin_lock_init(&np->ru_lock);
	spin_lock_init(&np->command_lock);
	spin_lock_init(&np->mask_lock);
	spin_lock_init(&np->counters_lock);
	mutex_init(&np->mdio_lock);
	INIT_DELAYED_WORK(&np->link_work, i8255x_link);
	timer_setup(&np->retry, i8255x_retry, 0);

	/* Stop what another owner may have left running before it gets the bus. */
	err = i8255x_hw_reset(np);
	if (err)
		return err;
	pci_set_master(pdev);
	err = i8255x_identify(np, id->driver_data);
	if (err)
		return err;
	err = i8255x_read_eeprom(np, mac);
	if (err)
		return err;
	eth_hw_addr_set(netdev, mac);

	err = i8255x_probe_phy(np);
	if (err)
		return err;
	i8255x_flow_init(np);
	i8255x_counters_init(np);

	np->rfd_pool = dmam_pool_create(KBUILD_MODNAME, &pdev->dev, RFD_BYTES,
					RFD_BYTES, 0);
	if (!np->rfd_pool)
		return -ENOMEM;

	np->shared = dmam_alloc_coherent(&pdev->dev, sizeof(*np->shared),
					 &np->shared_dma, GFP_KERNEL);
	if (!np->shared)
		return -ENOMEM;
	i8255x_wake_init(np);

	i8255x_init_port(np);
	err = irqmod_register(&np->port);
	if (err)
		return err;
	err = register_netdev(netdev);
	if (err) {
		irqmod_unregister(&np->port);
		return err;
	}
	/* For the reset of an error recovery. */
	pci_save_state(pdev);
	netif_info(&np->port, probe, netdev, "Intel 8255x revision %u, %pM, IRQ %d\n",
		   pdev->revision, netdev->dev_addr, pdev->irq);
	return 0;
}

static void i8255x_remove(struct pci_dev *pdev)
{
	struct net_device *netdev = pci_get_drvdata(pdev);
	struct i8255x *np = netdev_priv(netdev);

	unregister_netdev(netdev);
	irqmod_unregister(&np->port);
	i8255x_microcode_release(np);
}

/* driver_data: the NIC is part of a chipset (ICH). */
#define I8255X(device, ich)	{ PCI_VDEVICE(INTEL, device), .driver_data = ich }

static const struct pci_device_id i8255x_ids[] = {
	I8255X(0x1029, 0),
	I8255X(0x1030, 0),
	I8255X(0x1031, 1), I8255X(0x1032, 1), I8255X(0x1033, 1), I8255X(0x1034, 1),
	I8255X(0x1038, 1), I8255X(0x1039, 1), I8255X(0x103a, 1), I8255X(0x103b, 1),
	I8255X(0x103c, 1), I8255X(0x103d, 1), I8255X(0x103e, 1),
	I8255X(0x1050, 1), I8255X(0x1051, 1), I8255X(0x1052, 1), I8255X(0x1053, 1),
	I8255X(0x1054, 1), I8255X(0x1055, 1), I8255X(0x1056, 1), I8255X(0x1057, 1),
	I8255X(0x1059, 0),				/* 82551QM */
	I8255X(0x1064, 1), I8255X(0x1065, 1), I8255X(0x1066, 1), I8255X(0x1067, 1),
	I8255X(0x1068, 1), I8255X(0x1069, 1), I8255X(0x106a, 1), I8255X(0x106b, 1),
	I8255X(0x1091, 1), I8255X(0x1092, 1), I8255X(0x1093, 1), I8255X(0x1094, 1),
	I8255X(0x1095, 1), I8255X(0x10fe, 1),
	I8255X(0x1209, 0),				/* 82559ER, 82551ER/IT */
	I8255X(0x1229, 0),				/* 82558, 82559, 8255[01] */
	I8255X(0x2449, 1), I8255X(0x2459, 1), I8255X(0x245d, 1), I8255X(0x27dc, 1),
	{ }
};

/* Of these there are models. */
IRQMOD_DRIVES("pci:v00008086d00001209sv*sd*bc*sc*i*");
IRQMOD_DRIVES("pci:v00008086d00001229sv*sd*bc*sc*i*");
IRQMOD_DRIVES("pci:v00008086d00002449sv*sd*bc*sc*i*");

static DEFINE_SIMPLE_DEV_PM_OPS(i8255x_pm_ops, irqmod_pci_suspend, irqmod_pci_resume);

static struct pci_driver i8255x_driver = {
	.name = KBUILD_MODNAME,
	.id_table = i8255x_ids,
	.probe = i8255x_probe,
	.remove = i8255x_remove,
	.shutdown = irqmod_pci_shutdown,
	.err_handler = &irqmod_pci_error_handlers,
	.driver.pm = pm_sleep_ptr(&i8255x_pm_ops),
};
module_pci_driver(i8255x_driver);

MODULE_DESCRIPTION("Intel 8255x Fast Ethernet with selectable interrupt-handling schemes");
MODULE_LICENSE("GPL");
