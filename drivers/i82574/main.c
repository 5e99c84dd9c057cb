// SPDX-License-Identifier: GPL-2.0-only
/* Intel 82574L and 82583V gigabit NICs, with irqmod's interrupt-handling schemes. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

#define REGS_BAR	0
#define LINK_PERIOD	(2 * HZ)
#define WATCHDOG	(5 * HZ)

IRQMOD_PARAMETER(lost_doorbells, uint, 0444,
		 "For tests: omit this many transmit doorbells, to cause a tx_timeout (default 0)");

static int debug = -1;
module_param(debug, int, 0444);
MODULE_PARM_DESC(debug, "Messages: the number of low bits of msglvl (default -1: those of ethtool's drv, probe, link and ifup)");

static const struct irqmod_ops i82574_irqmod_ops = {
	.mask = i82574_mask,
	.unmask = i82574_unmask,
	.rx_ack = i82574_rx_ack,
	.rx_take = i82574_rx_take,
	.rx_pending = i82574_rx_pending,
	.rx_refill = i82574_rx_refill,
	.tx_reclaim = i82574_tx_reclaim,
	.tx_outstanding = i82574_tx_outstanding,
	.tx_bytes = i82574_tx_bytes,
	.tx_room = i82574_tx_room,
	.rx_arrived = i82574_rx_arrived,
	.moderate = i82574_moderate,
};

/* The link work looks at the PHY now. Any context. */
void i82574_link_now(struct i82574 *nic)
{
	mod_delayed_work(system_percpu_wq, &nic->link_work, 0);
}

static bool tx_waits(struct i82574 *nic)
{
	unsigned int i, waiting = 0;

	for (i = 0; i < QUEUES; i++)
		waiting += i82574_tx_outstanding(&nic->queue[i].queue);
	return waiting;
}

static void i82574_link(struct work_struct *work)
{
	struct i82574 *nic = container_of(work, struct i82574, link_work.work);

	mii_check_media(&nic->mii, netif_msg_link(&nic->port), false);
	if (netif_carrier_ok(nic->port.netdev))
		i82574_flow_link(nic);
	else if (tx_waits(nic))
		/* They would leave with the next link, however late that is. */
		irqmod_reset(&nic->port);
	i82574_counters_add(nic);	/* before they saturate */
	schedule_delayed_work(&nic->link_work, LINK_PERIOD);
}

/* Enables the receiver, with our addresses and filters. */
static void apply_rx_mode(struct i82574 *nic)
{
	netif_addr_lock_bh(nic->port.netdev);
	i82574_set_rx_mode(nic->port.netdev);
	netif_addr_unlock_bh(nic->port.netdev);
}

/**
 * i82574_up() - starts the chip and the schemes, on allocated rings
 * @port: the NIC's; running already: nothing is done
 *
 * Context: process, under RTNL.
 * Return: 0, or -ETIMEDOUT or -EBUSY if the chip does not reset.
 */
int i82574_up(struct irqmod_port *port)
{
	struct i82574 *nic = i82574_of(port->netdev);
	unsigned int i;
	int err;

	if (nic->running)
		return 0;
	err = i82574_hw_reset(nic);
	if (err)
		return err;
	i82574_hw_init(nic);
	i82574_counters_clear(nic);
	for (i = 0; i < QUEUES; i++) {
		i82574_rx_start(&nic->queue[i]);
		i82574_tx_start(&nic->queue[i]);
	}
	nic->long_frames = nic->port.netdev->mtu > ETH_DATA_LEN;
	WRITE_ONCE(nic->running, true);
	apply_rx_mode(nic);
	for (i = 0; i < QUEUES; i++)
		i82574_rx_refill(&nic->queue[i].queue);
	irqmod_set_rings(&nic->port, nic->rx_count, nic->tx_count);
	irqmod_start(&nic->port);
	i82574_write(nic, IMS, INT_LSC | (nic->msix ? INT_OTHER : 0));
	i82574_link_now(nic);
	return 0;
}

/**
 * i82574_down() - stops the schemes and the chip; the rings stay
 * @port: the NIC's; not running: nothing is done
 *
 * Context: process, under RTNL. Sleeps.
 */
void i82574_down(struct irqmod_port *port)
{
	struct i82574 *nic = i82574_of(port->netdev);

	if (!nic->running)
		return;
	irqmod_stop(&nic->port);
	i82574_counters_add(nic);
	/* Nobody reads the counters, or writes a filter, from here on. */
	netif_addr_lock_bh(nic->port.netdev);
	spin_lock(&nic->counters_lock);
	WRITE_ONCE(nic->running, false);
	spin_unlock(&nic->counters_lock);
	netif_addr_unlock_bh(nic->port.netdev);
	i82574_write(nic, IMC, ~0);
	if (nic->msix)
		synchronize_irq(pci_irq_vector(nic->pdev, VECTOR_OTHER));
	else
		synchronize_irq(nic->queue[0].queue.irq);
	cancel_delayed_work_sync(&nic->link_work);
	i82574_hw_stop(nic);
}

/*
 * Operations.
 */

static int i82574_open(struct net_device *netdev)
{
	struct i82574 *nic = i82574_of(netdev);
	int err;

	err = pm_runtime_resume_and_get(&nic->pdev->dev);
	if (err)
		return err;
	netif_carrier_off(netdev);
	err = i82574_queues_open(nic);
	if (err)
		goto put;
	err = i82574_irqs_request(nic);
	if (err)
		goto close_queues;
	err = i82574_up(&nic->port);
	if (!err)
		return 0;
	i82574_irqs_free(nic);

close_queues:
	i82574_queues_close(nic);
put:
	pm_runtime_put(&nic->pdev->dev);
	return err;
}

static int i82574_stop(struct net_device *netdev)
{
	struct i82574 *nic = i82574_of(netdev);

	i82574_down(&nic->port);
	netif_carrier_off(netdev);
	i82574_irqs_free(nic);
	i82574_queues_close(nic);
	pm_runtime_put(&nic->pdev->dev);
	return 0;
}

static int i82574_set_mac(struct net_device *netdev, void *address)
{
	int err = eth_mac_addr(netdev, address);

	if (!err)
		apply_rx_mode(i82574_of(netdev));
	return err;
}

static int i82574_change_mtu(struct net_device *netdev, int mtu)
{
	struct i82574 *nic = i82574_of(netdev);
	struct bpf_prog *prog = rtnl_dereference(nic->xdp_prog);

	if (prog && mtu + FRAME_OVERHEAD > RX_BUFFER_BYTES) {
		netdev_info(netdev, "with XDP: an MTU up to %u\n",
			    (unsigned int)(RX_BUFFER_BYTES - FRAME_OVERHEAD));
		return -EINVAL;
	}
	return i82574_change_rings(nic, nic->rx_count, nic->tx_count, prog, mtu);
}

static int i82574_set_features(struct net_device *netdev,
			       netdev_features_t features)
{
	struct i82574 *nic = i82574_of(netdev);
	netdev_features_t changed = features ^ netdev->features;

	if (!nic->running)
		return 0;
	i82574_hw_features(nic, features);
	if (!(changed & NETIF_F_HW_VLAN_CTAG_FILTER))
		return 0;
	netdev->features = features;
	apply_rx_mode(nic);
	return 1;
}

/* The chip inserts tags only while it strips them. */
static netdev_features_t i82574_fix_features(struct net_device *netdev,
					     netdev_features_t features)
{
	if (!(features & NETIF_F_HW_VLAN_CTAG_RX))
		features &= ~NETIF_F_HW_VLAN_CTAG_TX;
	return features;
}

static int i82574_ioctl(struct net_device *netdev, struct ifreq *ifr, int cmd)
{
	struct i82574 *nic = i82574_of(netdev);
	int err;

	if (!nic->running)
		return -EINVAL;
	err = generic_mii_ioctl(&nic->mii, if_mii(ifr), cmd, NULL);
	if (!err && cmd == SIOCSMIIREG) {
		i82574_phy_save(nic);
		i82574_link_now(nic);
	}
	return err;
}

#ifdef CONFIG_NET_POLL_CONTROLLER
static void i82574_poll_controller(struct net_device *netdev)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int i;

	for (i = 0; i < nic->port.queues_used; i++)
		irqmod_netpoll(&nic->queue[i].queue);
}
#endif

static const struct net_device_ops i82574_netdev_ops = {
	.ndo_open = i82574_open,
	.ndo_stop = i82574_stop,
	.ndo_start_xmit = i82574_xmit,
	.ndo_features_check = i82574_features_check,
	.ndo_set_rx_mode = i82574_set_rx_mode,
	.ndo_set_mac_address = i82574_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = i82574_change_mtu,
	.ndo_eth_ioctl = i82574_ioctl,
	.ndo_tx_timeout = irqmod_tx_timeout,
	.ndo_get_stats64 = i82574_get_stats64,
	.ndo_vlan_rx_add_vid = i82574_vlan_add,
	.ndo_vlan_rx_kill_vid = i82574_vlan_kill,
	.ndo_fix_features = i82574_fix_features,
	.ndo_set_features = i82574_set_features,
	.ndo_bpf = i82574_xdp,
	.ndo_xdp_xmit = i82574_xdp_xmit,
#ifdef CONFIG_NET_POLL_CONTROLLER
	.ndo_poll_controller = i82574_poll_controller,
#endif
};

/*
 * Probe.
 */

static void netdev_init(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;

	netdev->netdev_ops = &i82574_netdev_ops;
	netdev->ethtool_ops = &i82574_ethtool_ops;
	netdev->watchdog_timeo = WATCHDOG;
	netdev->min_mtu = ETH_MIN_MTU;
	netdev->max_mtu = MTU_MAX;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_UNICAST_FLT;
	netdev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO |
			      NETIF_F_TSO6 | NETIF_F_RXCSUM | NETIF_F_RXHASH |
			      NETIF_F_HW_VLAN_CTAG_RX | NETIF_F_HW_VLAN_CTAG_TX |
			      NETIF_F_HW_VLAN_CTAG_FILTER;
	netdev->features = netdev->hw_features | NETIF_F_HIGHDMA;
	netdev->vlan_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO |
				NETIF_F_TSO6 | NETIF_F_HIGHDMA;
	xdp_set_features_flag(netdev, NETDEV_XDP_ACT_BASIC |
			      NETDEV_XDP_ACT_REDIRECT | NETDEV_XDP_ACT_NDO_XMIT);
}

static const struct irqmod_device_ops i82574_device_ops = {
	.down = i82574_down,
	.up = i82574_up,
	.restore = i82574_restore,
	.sleep = i82574_sleep,
};

static int port_init(struct i82574 *nic)
{
	unsigned int i;
	int err;

	nic->port.ops = &i82574_irqmod_ops;
	nic->port.caps = IRQMOD_CAP_MASK | IRQMOD_CAP_MODERATION;
	nic->port.rx_ring = nic->rx_count;
	nic->port.tx_ring = nic->tx_count;
	nic->port.tx_reserve = TX_RESERVE;
	nic->port.wire_mbps = SPEED_1000;
	nic->port.device = &i82574_device_ops;
	nic->port.ring_max = RING_MAX;
	nic->port.wol_supported = device_can_wakeup(&nic->pdev->dev) ? WAKE_ALL : 0;
	for (i = 0; i < QUEUES; i++) {
		struct i82574_queue *q = &nic->queue[i];

		q->nic = nic;
		q->masked = IRQMOD_RX | IRQMOD_TX;
		spin_lock_init(&q->mask_lock);
		irqmod_add_queue(&nic->port, &q->queue);
	}
	err = irqmod_register(&nic->port);
	if (!err && !nic->msix)
		err = irqmod_use_queues(&nic->port, 1);
	i82574_rss_init(nic);
	return err;
}

static int read_address(struct i82574 *nic)
{
	u8 mac[ETH_ALEN];
	int err;

	err = i82574_nvm_check(nic);
	if (err) {
		dev_err(&nic->pdev->dev, "the NVM does not answer, or its checksum is wrong\n");
		return err;
	}
	/* The reset has read it. */
	put_unaligned_le32(i82574_read(nic, RAL(0)), mac);
	put_unaligned_le16(i82574_read(nic, RAH(0)), mac + 4);
	if (!is_valid_ether_addr(mac)) {
		dev_err(&nic->pdev->dev, "no valid MAC address in the NVM\n");
		return -EAGAIN;
	}
	eth_hw_addr_set(nic->port.netdev, mac);
	return 0;
}

static int chip_init(struct i82574 *nic)
{
	struct device *dev = &nic->pdev->dev;
	int err;

	/* Stop what another owner may have left running before it gets the bus. */
	err = i82574_hw_reset(nic);
	if (err) {
		dev_err(dev, "the chip does not reset\n");
		return err;
	}
	pci_set_master(nic->pdev);
	err = read_address(nic);
	if (err)
		return err;
	err = i82574_phy_init(nic);
	if (err) {
		dev_err(dev, "no PHY answers\n");
		return err;
	}
	i82574_flow_init(nic);
	return i82574_irqs_alloc(nic);
}

static void wake_init(struct i82574 *nic)
{
	u16 word;

	if (!i82574_nvm_read(nic, NVM_WAKE_AT, &word) && word & NVM_WAKE)
		nic->port.wol = WAKE_MAGIC & nic->port.wol_supported;
	device_set_wakeup_enable(&nic->pdev->dev, nic->port.wol);
}

static int i82574_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *netdev;
	struct i82574 *nic;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	/* Both make the chip lose requests (its errata). */
	pci_disable_link_state(pdev, PCIE_LINK_STATE_L0S | PCIE_LINK_STATE_L1);
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	err = pcim_iomap_regions(pdev, BIT(REGS_BAR), KBUILD_MODNAME);
	if (err)
		return err;
	netdev = devm_alloc_etherdev_mqs(&pdev->dev, sizeof(*nic), QUEUES, QUEUES);
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &pdev->dev);
	pci_set_drvdata(pdev, netdev);
	nic = i82574_of(netdev);
	nic->port.netdev = netdev;
	nic->pdev = pdev;
	nic->regs = pcim_iomap_table(pdev)[REGS_BAR];
	nic->rx_count = RING_DEFAULT;
	nic->tx_count = RING_DEFAULT;
	nic->rx_copybreak = RX_COPYBREAK;
	nic->lost_doorbells = irqmod_instrument(lost_doorbells, 0);
	nic->port.msg_enable = netif_msg_init(debug, IRQMOD_MESSAGES);
	mutex_init(&nic->mdio_lock);
	spin_lock_init(&nic->counters_lock);
	INIT_DELAYED_WORK(&nic->link_work, i82574_link);

	err = chip_init(nic);
	if (err)
		goto free_vectors;
	netdev_init(nic);
	err = port_init(nic);
	if (err)
		goto free_vectors;
	wake_init(nic);
	err = register_netdev(netdev);
	if (err)
		goto unregister_port;
	/* For the reset of an error recovery. */
	pci_save_state(pdev);
	pm_runtime_put_noidle(&pdev->dev);
	netif_info(&nic->port, probe, netdev, "Intel 82574, %pM, %s\n",
		   netdev->dev_addr, nic->msix ? "MSI-X" :
		   nic->line ? "interrupt line" : "MSI");
	return 0;

unregister_port:
	irqmod_unregister(&nic->port);
free_vectors:
	pci_free_irq_vectors(pdev);
	return err;
}

static void i82574_remove(struct pci_dev *pdev)
{
	struct net_device *netdev = pci_get_drvdata(pdev);
	struct i82574 *nic = i82574_of(netdev);

	pm_runtime_get_noresume(&pdev->dev);
	unregister_netdev(netdev);
	irqmod_unregister(&nic->port);
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id i82574_ids[] = {
	{ PCI_VDEVICE(INTEL, 0x10d3) },		/* 82574L */
	{ PCI_VDEVICE(INTEL, 0x10f6) },		/* 82574LA */
	{ PCI_VDEVICE(INTEL, 0x150c) },		/* 82583V: no MSI-X */
	{ }
};

/* Of this one there are models. */
IRQMOD_DRIVES("pci:v00008086d000010D3sv*sd*bc*sc*i*");

static struct pci_driver i82574_driver = {
	.name = KBUILD_MODNAME,
	.id_table = i82574_ids,
	.probe = i82574_probe,
	.remove = i82574_remove,
	.shutdown = irqmod_pci_shutdown,
	.err_handler = &irqmod_pci_error_handlers,
	.driver.pm = pm_ptr(&i82574_pm_ops),
};
module_pci_driver(i82574_driver);

MODULE_DESCRIPTION("Intel 82574 gigabit Ethernet with selectable interrupt-handling schemes");
MODULE_LICENSE("GPL");
