// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver for the RTL8139C+ (10ec:8139, revision 0x20 and up). irqmod provides
 * the interrupt-handling schemes; this module only handles the chip.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "rtl8139cp.h"

#define CP_REVISION	0x20	/* C+; older revisions have no descriptors */
#define CP_BAR		1

static int rx_copybreak = CP_RX_COPYBREAK;
module_param(rx_copybreak, int, 0444);
MODULE_PARM_DESC(rx_copybreak,
		 "Copy received frames up to this size, default 256; ethtool --set-tunable changes it per interface");

IRQMOD_PARAMETER(lost_doorbells, uint, 0444,
		 "For tests: omit this many transmit doorbells, to cause a tx_timeout (default 0)");

static int debug = -1;
module_param(debug, int, 0444);
MODULE_PARM_DESC(debug,
		 "Messages: the number of low bits of msglvl (default -1: those of ethtool's drv, probe, link and ifup)");

static const struct irqmod_ops cp_irqmod_ops = {
	.mask		= cp_mask,
	.unmask		= cp_unmask,
	.rx_ack		= cp_rx_ack,
	.rx_take	= cp_rx_take,
	.rx_pending	= cp_rx_pending,
	.rx_refill	= cp_rx_refill,
	.tx_reclaim	= cp_tx_reclaim,
	.tx_outstanding	= cp_tx_outstanding,
	.tx_bytes	= cp_tx_bytes,
	.tx_room	= cp_tx_room,
	.rx_arrived	= cp_rx_arrived,
};

static void cp_pci_error(struct cp *cp)
{
	u16 status;

	/* Mask it until the reset. */
	cp_hw_set_imr(cp, CP_INT_SERR, 0);
	pci_read_config_word(cp->pdev, PCI_STATUS, &status);
	pci_write_config_word(cp->pdev, PCI_STATUS, status);
	netdev_err(cp->port.netdev, "PCI bus error, status %04x\n", status);
	irqmod_reset(&cp->port);
}

/* Masked causes stay latched, so that they interrupt when unmasked. For the
 * others the whole group is acknowledged, since its scheme handles all of them.
 */
static irqreturn_t cp_interrupt(int irq, void *data)
{
	struct cp *cp = cp_of_port(data);
	u16 status = readw(cp->regs + CP_ISR);
	u16 causes;
	u32 groups;

	if (!status || status == CP_INT_GONE)
		return IRQ_NONE;
	status &= READ_ONCE(cp->imr);
	if (!status)
		return IRQ_NONE;

	groups = (status & CP_INT_RX ? IRQMOD_RX : 0) |
		 (status & CP_INT_TX ? IRQMOD_TX : 0);
	causes = status | cp_causes(groups);
	if (irqmod_must_flush_ack(&cp->queue, groups))
		cp_ack_flush(cp, causes);
	else
		writew(causes, cp->regs + CP_ISR);

	if (groups)
		irqmod_interrupt(&cp->queue, groups);
	if (unlikely(status & CP_INT_LINKCHG))
		cp_mii_check(cp);
	if (unlikely(status & CP_INT_SERR))
		cp_pci_error(cp);
	return IRQ_HANDLED;
}

/* Starts the chip on the allocated rings, then the schemes. */
static int cp_up(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);
	int err;

	cp_rx_reset(cp);
	cp_tx_reset(cp);
	err = cp_hw_start(cp);
	if (err)
		return err;
	cp->running = true;
	cp_hw_set_imr(cp, 0, CP_INT_EVENTS);
	irqmod_start(port);
	cp_mii_check(cp);
	return 0;
}

/* Stops the chip and keeps the rings. Calling it again is a no-op. */
static void cp_down(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);

	if (!cp->running)
		return;
	irqmod_stop(port);
	cp->running = false;
	cp_hw_stop(cp);
	/* Wait for the last handler, for example for LINKCHG. */
	synchronize_irq(cp->queue.irq);
}

static int cp_rings_alloc(struct irqmod_port *port, void *rings, unsigned int rx_ring,
			  unsigned int tx_ring)
{
	struct cp *cp = cp_of_port(port);
	typeof(cp->rings) *r = rings;
	int err;

	err = cp_rx_alloc(cp, &r->rx, rx_ring);
	if (err)
		return err;
	err = cp_tx_alloc(cp, &r->tx, tx_ring);
	if (err)
		cp_rx_free(cp, &r->rx);
	return err;
}

static void cp_rings_free(struct irqmod_port *port, void *rings)
{
	struct cp *cp = cp_of_port(port);
	typeof(cp->rings) *r = rings;

	cp_tx_free(cp, &r->tx);
	cp_rx_free(cp, &r->rx);
}

static void cp_restore(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);
	unsigned long flags;

	spin_lock_irqsave(&cp->mii_lock, flags);
	irqmod_mii_restore(&cp->mii, &cp->mii_kept);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
}

static const struct irqmod_device_ops cp_device_ops = {
	.handler	= cp_interrupt,
	.down		= cp_down,
	.up		= cp_up,
	.restore	= cp_restore,
	.sleep		= cp_sleep,
	.wake_changed	= cp_wake_write,
	.rings_alloc	= cp_rings_alloc,
	.rings_free	= cp_rings_free,
	.get_stats	= cp_get_tallies,
};

static int cp_set_mac_address(struct net_device *netdev, void *addr)
{
	struct cp *cp = cp_of(netdev);
	int err;

	err = eth_prepare_mac_addr_change(netdev, addr);
	if (err)
		return err;
	eth_commit_mac_addr_change(netdev, addr);
	if (cp->running)
		cp_hw_write_mac(cp, netdev->dev_addr);
	return 0;
}

/* Buffers of the new size first, if it is another; without memory the MTU stays. */
static int cp_change_mtu(struct net_device *netdev, int mtu)
{
	struct cp *cp = cp_of(netdev);
	int err = 0, old = netdev->mtu;

	WRITE_ONCE(netdev->mtu, mtu);
	if (netif_running(netdev) && cp_rx_size(mtu) != cp_rx_size(old))
		err = irqmod_resize(&cp->port, cp->port.rx_ring, cp->port.tx_ring);
	if (err)
		WRITE_ONCE(netdev->mtu, old);
	else
		netdev_update_features(netdev);
	return err;
}

static void cp_get_stats64(struct net_device *netdev,
			   struct rtnl_link_stats64 *stats)
{
	struct cp *cp = cp_of(netdev);

	irqmod_get_stats64(netdev, stats);
	stats->rx_missed_errors = cp_hw_missed(cp);
	stats->rx_length_errors = cp->rx_errors.length;
	stats->rx_crc_errors = cp->rx_errors.crc;
	stats->rx_frame_errors = cp->rx_errors.frame;
	stats->rx_fifo_errors = cp->rx_errors.fifo;
	stats->tx_aborted_errors = cp->tx_errors.aborted;
	stats->tx_window_errors = cp->tx_errors.window;
	stats->tx_carrier_errors = cp->tx_errors.carrier;
	stats->tx_fifo_errors = cp->tx_errors.fifo;
}

static int cp_ioctl(struct net_device *netdev, struct ifreq *ifr, int cmd)
{
	struct cp *cp = cp_of(netdev);
	unsigned long flags;
	int err;

	if (!cp->running)
		return -EINVAL;
	spin_lock_irqsave(&cp->mii_lock, flags);
	err = generic_mii_ioctl(&cp->mii, if_mii(ifr), cmd, NULL);
	if (!err && cmd == SIOCSMIIREG)
		irqmod_mii_save(&cp->mii, &cp->mii_kept);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
	return err;
}

static const struct net_device_ops cp_netdev_ops = {
	.ndo_open		= irqmod_open,
	.ndo_stop		= irqmod_close,
	.ndo_start_xmit		= cp_start_xmit,
	.ndo_tx_timeout		= irqmod_tx_timeout,
	.ndo_set_rx_mode	= cp_hw_rx_mode,
	.ndo_set_mac_address	= cp_set_mac_address,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_fix_features	= cp_fix_features,
	.ndo_set_features	= cp_set_features,
	.ndo_features_check	= cp_features_check,
	.ndo_change_mtu		= cp_change_mtu,
	.ndo_get_stats64	= cp_get_stats64,
	.ndo_eth_ioctl		= cp_ioctl,
#ifdef CONFIG_NET_POLL_CONTROLLER
	.ndo_poll_controller	= irqmod_poll_controller,
#endif
};

/* Uses the EEPROM's address. The chip loads it at power-on, and keeps what has
 * been written since: maybe one that an earlier probe misread, or another
 * driver's. So it is loaded again. Without an EEPROM, firmware wrote the address.
 */
static void cp_init_mac(struct cp *cp)
{
	struct net_device *netdev = cp->port.netdev;
	u8 written[ETH_ALEN] __aligned(2);
	u8 addr[ETH_ALEN] __aligned(2);

	cp_hw_read_mac(cp, written);
	if (cp_hw_load_eeprom(cp))
		dev_warn(cp->dev, "the chip does not load its EEPROM\n");
	cp_hw_read_mac(cp, addr);
	if (!is_valid_ether_addr(addr))
		ether_addr_copy(addr, written);
	if (is_valid_ether_addr(addr)) {
		eth_hw_addr_set(netdev, addr);
		return;
	}
	eth_hw_addr_random(netdev);
	dev_warn(cp->dev, "no valid MAC address, using %pM\n", netdev->dev_addr);
}

static void cp_init_netdev(struct cp *cp, bool dac)
{
	struct net_device *netdev = cp->port.netdev;

	netdev->netdev_ops = &cp_netdev_ops;
	netdev->ethtool_ops = &cp_ethtool_ops;
	netdev->watchdog_timeo = 5 * HZ;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	netdev->hw_features = NETIF_F_SG | NETIF_F_IP_CSUM | NETIF_F_RXCSUM |
			      NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_CTAG_RX;
	netdev->features = netdev->hw_features;
	/* Off by default: it takes up a quarter of the ring. */
	netdev->hw_features |= NETIF_F_TSO;
	netdev->vlan_features = NETIF_F_SG | NETIF_F_IP_CSUM | NETIF_F_TSO;
	netdev->max_mtu = CP_MTU_MAX;
	cp->cpcr = CP_CPCR_MULRW | CP_CPCR_RXE | CP_CPCR_TXE;
	if (dac) {
		netdev->features |= NETIF_F_HIGHDMA;
		netdev->vlan_features |= NETIF_F_HIGHDMA;
		cp->cpcr |= CP_CPCR_DAC;
	}
	cp_set_cpcr(cp, netdev->features);
	netif_carrier_off(netdev);
}

static void cp_init_port(struct cp *cp, struct net_device *netdev)
{
	struct irqmod_port *port = &cp->port;

	port->netdev = netdev;
	port->ops = &cp_irqmod_ops;
	port->caps = IRQMOD_CAP_MASK;
	port->rx_ring = CP_RING_MAX;
	port->tx_ring = CP_RING_MAX;
	port->tx_reserve = CP_TX_SEGS;
	port->wire_mbps = SPEED_100;
	port->device = &cp_device_ops;
	port->ring_min = CP_RING_MIN;
	port->ring_max = CP_RING_MAX;
	port->rings = &cp->rings;
	port->rings_bytes = sizeof(cp->rings);
	port->msg_enable = netif_msg_init(debug, IRQMOD_MESSAGES);
	port->wol_supported = device_can_wakeup(cp->dev) ? CP_WAKE : 0;
	port->stat_names = cp_tally_names;
	port->stat_count = CP_TALLIES;
	irqmod_add_queue(port, &cp->queue);
}

static int cp_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *netdev;
	struct cp *cp;
	bool dac;
	int err;

	if (pdev->revision < CP_REVISION) {
		dev_info(&pdev->dev, "revision %02x is not an RTL8139C+, use 8139too\n",
			 pdev->revision);
		return -ENODEV;
	}

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	dac = !dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	err = dac ? 0 : dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (err)
		return err;
	if (pci_resource_len(pdev, CP_BAR) < CP_REGS_SIZE) {
		dev_err(&pdev->dev, "no registers in BAR %d\n", CP_BAR);
		return -ENODEV;
	}
	err = pcim_iomap_regions(pdev, BIT(CP_BAR), CP_NAME);
	if (err)
		return err;
	netdev = devm_alloc_etherdev(&pdev->dev, sizeof(*cp));
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &pdev->dev);
	pci_set_drvdata(pdev, netdev);
	cp = cp_of(netdev);
	cp->pdev = pdev;
	cp->dev = &pdev->dev;
	cp->regs = pcim_iomap_table(pdev)[CP_BAR];
	cp->tally = dmam_alloc_coherent(cp->dev, sizeof(*cp->tally), &cp->tally_dma,
					GFP_KERNEL);
	if (!cp->tally)
		return -ENOMEM;
	cp->lost_doorbells = irqmod_instrument(lost_doorbells, 0);
	cp->tx_segs = CP_TX_SEGS;
	cp->rx_copybreak = clamp(rx_copybreak, 0, CP_RX_BUF_SIZE);
	cp->queue.irq = pdev->irq;
	spin_lock_init(&cp->imr_lock);
	spin_lock_init(&cp->mii_lock);
	spin_lock_init(&cp->missed_lock);
	cp_init_port(cp, netdev);
	if (pcim_set_mwi(pdev))
		dev_dbg(&pdev->dev, "no memory write and invalidate\n");

	/* A previous kernel or boot loader may have left it running. */
	err = cp_hw_reset(cp);
	if (err) {
		dev_err(&pdev->dev, "the chip does not reset\n");
		return err;
	}
	cp_init_mac(cp);
	cp_eeprom_init(cp);
	cp_mii_init(cp);
	cp_init_netdev(cp, dac);

	err = irqmod_register(&cp->port);
	if (err)
		return err;
	device_set_wakeup_enable(&pdev->dev, false);
	err = register_netdev(netdev);
	if (err) {
		irqmod_unregister(&cp->port);
		return err;
	}
	/* For the reset of an error recovery. */
	pci_save_state(pdev);
	netif_info(&cp->port, probe, netdev, "RTL8139C+ revision %02x, %pM, IRQ %d\n",
		   pdev->revision, netdev->dev_addr, pdev->irq);
	return 0;
}

static void cp_remove(struct pci_dev *pdev)
{
	struct net_device *netdev = pci_get_drvdata(pdev);
	struct cp *cp = cp_of(netdev);

	unregister_netdev(netdev);
	irqmod_unregister(&cp->port);
	/* A chip reset does not reload the EEPROM. */
	cp_hw_write_mac(cp, netdev->perm_addr);
}

static const struct pci_device_id cp_pci_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REALTEK, PCI_DEVICE_ID_REALTEK_8139) },
	{ }
};

IRQMOD_DRIVES("pci:v000010ECd00008139sv*sd*bc*sc*i*");

static DEFINE_SIMPLE_DEV_PM_OPS(cp_pm_ops, irqmod_pci_suspend, irqmod_pci_resume);

static struct pci_driver cp_driver = {
	.name		= CP_NAME,
	.id_table	= cp_pci_ids,
	.probe		= cp_probe,
	.remove		= cp_remove,
	.shutdown	= irqmod_pci_shutdown,
	.err_handler	= &irqmod_pci_error_handlers,
	.driver.pm	= pm_sleep_ptr(&cp_pm_ops),
};
module_pci_driver(cp_driver);

MODULE_DESCRIPTION("RTL8139C+ Ethernet with irqmod's interrupt-handling schemes");
MODULE_LICENSE("GPL");
