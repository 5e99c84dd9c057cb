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

static unsigned int lost_doorbells;
module_param(lost_doorbells, uint, 0444);
MODULE_PARM_DESC(lost_doorbells, "For tests: omit this many transmit doorbells, to cause a tx_timeout (default 0)");

static const struct irqmod_ops i8255x_irqmod_ops = {
	.mask = i8255x_mask,
	.unmask = i8255x_unmask,
	.rx_ack = i8255x_rx_ack,
	.rx_take = i8255x_rx_take,
	.rx_pending = i8255x_rx_pending,
	.rx_refill = i8255x_rx_refill,
	.tx_reclaim = i8255x_tx_reclaim,
	.tx_outstanding = i8255x_tx_outstanding,
	.tx_room = i8255x_tx_room,
	.rx_count = i8255x_rx_count,
	.rx_arrived = i8255x_rx_arrived,
};

/* Starts the chip and the schemes on allocated rings. RTNL. */
int i8255x_up(struct i8255x *np)
{
	int err;

	i8255x_rx_reset(np);
	i8255x_tx_reset(np);
	err = i8255x_hw_reset(np);
	if (err)
		return err;
	err = i8255x_counters_start(np);
	if (err)
		return err;
	i8255x_tx_enable(np, true);
	i8255x_set_address(np);
	netif_addr_lock_bh(np->netdev);
	i8255x_set_rx_mode(np->netdev);
	netif_addr_unlock_bh(np->netdev);
	err = i8255x_rx_start(np);
	if (err) {
		i8255x_tx_enable(np, false);
		return err;
	}
	np->port.tx_ring = np->rings.tx_count;
	np->port.rx_ring = np->rings.rx_count;
	irqmod_start(&np->port);
	return 0;
}

void i8255x_down(struct i8255x *np)
{
	irqmod_stop(&np->port);
	i8255x_tx_enable(np, false);
	i8255x_counters_stop(np);
	i8255x_hw_reset(np);
	i8255x_tx_drop(np);
}

static int i8255x_open(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);
	int err;

	err = i8255x_rx_alloc(np, &np->rings);
	if (err)
		return err;
	err = i8255x_tx_alloc(np, &np->rings);
	if (err)
		goto free_rx;
	err = request_irq(np->pdev->irq, i8255x_isr, IRQF_SHARED, netdev->name,
			  np);
	if (err)
		goto free_tx;
	netif_carrier_off(netdev);
	netif_start_queue(netdev);
	err = i8255x_up(np);
	if (err)
		goto free_irq;
	schedule_delayed_work(&np->link_work, 0);
	return 0;

free_irq:
	netif_stop_queue(netdev);
	free_irq(np->pdev->irq, np);
free_tx:
	i8255x_tx_free(np, &np->rings);
free_rx:
	i8255x_rx_free(np, &np->rings);
	return err;
}

static int i8255x_stop(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);

	cancel_delayed_work_sync(&np->link_work);
	i8255x_down(np);
	netif_carrier_off(netdev);
	free_irq(np->pdev->irq, np);
	i8255x_tx_free(np, &np->rings);
	i8255x_rx_free(np, &np->rings);
	return 0;
}

static void i8255x_link(struct work_struct *work)
{
	struct i8255x *np = container_of(work, struct i8255x, link_work.work);

	mii_check_media(&np->mii, true, false);
	i8255x_rx_count(&np->port);	/* before the counters saturate */
	if (READ_ONCE(np->rx_mode_pending)) {
		netif_addr_lock_bh(np->netdev);
		i8255x_set_rx_mode(np->netdev);
		netif_addr_unlock_bh(np->netdev);
	}
	schedule_delayed_work(&np->link_work, LINK_PERIOD);
}

static void i8255x_reset(struct work_struct *work)
{
	struct i8255x *np = container_of(work, struct i8255x, reset_work);

	rtnl_lock();
	if (netif_running(np->netdev) && netif_device_present(np->netdev)) {
		i8255x_down(np);
		if (i8255x_up(np)) {
			netdev_err(np->netdev, "the NIC does not restart\n");
			dev_close(np->netdev);
		} else {
			netif_wake_queue(np->netdev);
		}
	}
	rtnl_unlock();
}

static void i8255x_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct i8255x *np = netdev_priv(netdev);

	schedule_work(&np->reset_work);
}

static int i8255x_set_mac(struct net_device *netdev, void *address)
{
	struct i8255x *np = netdev_priv(netdev);
	int err = eth_mac_addr(netdev, address);

	if (!err && netif_running(netdev))
		i8255x_set_address(np);
	return err;
}

static int i8255x_ioctl(struct net_device *netdev, struct ifreq *ifr, int cmd)
{
	struct i8255x *np = netdev_priv(netdev);

	if (!netif_running(netdev))
		return -EINVAL;
	return generic_mii_ioctl(&np->mii, if_mii(ifr), cmd, NULL);
}

static const struct net_device_ops i8255x_netdev_ops = {
	.ndo_open = i8255x_open,
	.ndo_stop = i8255x_stop,
	.ndo_start_xmit = i8255x_xmit,
	.ndo_set_rx_mode = i8255x_set_rx_mode,
	.ndo_set_mac_address = i8255x_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_eth_ioctl = i8255x_ioctl,
	.ndo_tx_timeout = i8255x_tx_timeout,
	.ndo_get_stats64 = i8255x_get_stats64,
};

/* The PHY is usually at address 1 (EEPROM word 6); otherwise search for it. */
static int i8255x_find_phy(struct i8255x *np)
{
	int i;

	for (i = 0; i < 32; i++) {
		int phy = (i + 1) % 32;
		int status = i8255x_mdio_read(np->netdev, phy, MII_BMSR);

		if (status && status != 0xffff)
			return phy;
	}
	return -ENODEV;
}

static int i8255x_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *netdev;
	struct i8255x *np;
	u8 mac[ETH_ALEN];
	int err, phy;

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
	np->rings.rx_count = RING_DEFAULT;
	np->rings.tx_count = RING_DEFAULT;
	np->lost_doorbells = lost_doorbells;
	spin_lock_init(&np->command_lock);
	spin_lock_init(&np->mask_lock);
	spin_lock_init(&np->counters_lock);
	mutex_init(&np->mdio_lock);
	INIT_DELAYED_WORK(&np->link_work, i8255x_link);
	INIT_WORK(&np->reset_work, i8255x_reset);

	pci_set_master(pdev);
	err = i8255x_hw_reset(np);
	if (err)
		return err;
	err = i8255x_hw_probe(np, mac);
	if (err)
		return err;
	if (!is_valid_ether_addr(mac)) {
		dev_err(&pdev->dev, "no valid MAC address in the EEPROM\n");
		return -EAGAIN;
	}
	eth_hw_addr_set(netdev, mac);

	phy = i8255x_find_phy(np);
	if (phy < 0) {
		dev_err(&pdev->dev, "no PHY answers\n");
		return phy;
	}
	np->mii = (struct mii_if_info) {
		.phy_id = phy,
		.phy_id_mask = 0x1f,
		.reg_num_mask = 0x1f,
		.dev = netdev,
		.mdio_read = i8255x_mdio_read,
		.mdio_write = i8255x_mdio_write,
	};

	np->rfd_pool = dmam_pool_create(KBUILD_MODNAME, &pdev->dev, RFD_BYTES,
					RFD_BYTES, 0);
	if (!np->rfd_pool)
		return -ENOMEM;

	np->counters = dmam_alloc_coherent(&pdev->dev, sizeof(*np->counters),
					   &np->counters_dma, GFP_KERNEL);
	if (!np->counters)
		return -ENOMEM;

	np->port.netdev = netdev;
	np->port.ops = &i8255x_irqmod_ops;
	np->port.caps = IRQMOD_CAP_MASK | IRQMOD_CAP_TX_IRQ_BIT;
	np->port.irq = pdev->irq;
	np->port.tx_ring = np->rings.tx_count;
	np->port.rx_ring = np->rings.rx_count;
	np->port.wire_mbps = SPEED_100;
	netdev->netdev_ops = &i8255x_netdev_ops;
	netdev->ethtool_ops = &i8255x_ethtool_ops;
	netdev->watchdog_timeo = WATCHDOG;
	netdev->max_mtu = ETH_DATA_LEN;
	err = irqmod_register(&np->port);
	if (err)
		return err;
	err = register_netdev(netdev);
	if (err) {
		irqmod_unregister(&np->port);
		return err;
	}
	netdev_info(netdev, "Intel 8255x revision %u, %pM, IRQ %d\n",
		    pdev->revision, netdev->dev_addr, pdev->irq);
	return 0;
}

static void i8255x_remove(struct pci_dev *pdev)
{
	struct net_device *netdev = pci_get_drvdata(pdev);
	struct i8255x *np = netdev_priv(netdev);

	unregister_netdev(netdev);
	cancel_work_sync(&np->reset_work);
	irqmod_unregister(&np->port);
}

static int i8255x_suspend(struct device *dev)
{
	struct net_device *netdev = dev_get_drvdata(dev);
	struct i8255x *np = netdev_priv(netdev);

	rtnl_lock();
	netif_device_detach(netdev);
	if (netif_running(netdev)) {
		cancel_delayed_work_sync(&np->link_work);
		i8255x_down(np);
	}
	rtnl_unlock();
	return 0;
}

static int i8255x_resume(struct device *dev)
{
	struct net_device *netdev = dev_get_drvdata(dev);
	struct i8255x *np = netdev_priv(netdev);
	int err = 0;

	rtnl_lock();
	if (netif_running(netdev)) {
		err = i8255x_up(np);
		if (!err)
			schedule_delayed_work(&np->link_work, 0);
	}
	if (!err)
		netif_device_attach(netdev);
	rtnl_unlock();
	return err;
}

static DEFINE_SIMPLE_DEV_PM_OPS(i8255x_pm_ops, i8255x_suspend, i8255x_resume);

static void i8255x_shutdown(struct pci_dev *pdev)
{
	i8255x_suspend(&pdev->dev);
}

static const struct pci_device_id i8255x_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x1229) },	/* 82558, 82559, 8255[01] */
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x1209) },	/* 82559ER, 82551ER/IT */
	{ }
};
MODULE_DEVICE_TABLE(pci, i8255x_ids);

static struct pci_driver i8255x_driver = {
	.name = KBUILD_MODNAME,
	.id_table = i8255x_ids,
	.probe = i8255x_probe,
	.remove = i8255x_remove,
	.shutdown = i8255x_shutdown,
	.driver.pm = pm_sleep_ptr(&i8255x_pm_ops),
};
module_pci_driver(i8255x_driver);

MODULE_DESCRIPTION("Intel 8255x Fast Ethernet with selectable interrupt-handling schemes");
MODULE_LICENSE("GPL");
