// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network drivers that never return from ndo_start_xmit: each .ko is built with its own WHAT. The device receives nothing; a
 * timer transmits a frame now and then, and the fourth is the last.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/timer.h>

#define SPINS 1
#define SPINS_WITH_PAUSE 2
#define SPINS_WITHOUT_INTERRUPTS 3

#define PERIOD msecs_to_jiffies(50)
#define LAST 4

struct spin {
	struct net_device *dev;
	struct timer_list timer;
	unsigned int sent;
};

static netdev_tx_t spin_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct spin *spin = netdev_priv(dev);

	dev_kfree_skb_any(skb);
	if (++spin->sent < LAST)
		return NETDEV_TX_OK;
#if WHAT == SPINS_WITHOUT_INTERRUPTS
	local_irq_disable();
#endif
	while (READ_ONCE(spin->sent) >= LAST) {
#if WHAT == SPINS_WITH_PAUSE
		cpu_relax();
#endif
	}
	return NETDEV_TX_OK;
}

static void spin_transmit(struct timer_list *timer)
{
	struct spin *spin = container_of(timer, struct spin, timer);
	struct sk_buff *skb = netdev_alloc_skb(spin->dev, ETH_ZLEN);

	if (skb) {
		eth_broadcast_addr(skb_put_zero(skb, ETH_ZLEN));
		skb->dev = spin->dev;
		dev_queue_xmit(skb);
	}
	mod_timer(timer, jiffies + PERIOD);
}

static int spin_open(struct net_device *dev)
{
	struct spin *spin = netdev_priv(dev);

	mod_timer(&spin->timer, jiffies + PERIOD);
	return 0;
}

static int spin_stop(struct net_device *dev)
{
	struct spin *spin = netdev_priv(dev);

	timer_shutdown_sync(&spin->timer);
	return 0;
}

static const struct net_device_ops spin_ops = {
	.ndo_open = spin_open,
	.ndo_stop = spin_stop,
	.ndo_start_xmit = spin_start_xmit,
};

static int spin_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *dev = alloc_etherdev(sizeof(struct spin));
	struct spin *spin;
	int err;

	if (!dev)
		return -ENOMEM;
	spin = netdev_priv(dev);
	spin->dev = dev;
	timer_setup(&spin->timer, spin_transmit, 0);
	dev->netdev_ops = &spin_ops;
	SET_NETDEV_DEV(dev, &pdev->dev);
	eth_hw_addr_random(dev);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	pci_set_drvdata(pdev, dev);
	netdev_info(dev, "transmits %u frames\n", LAST - 1);
	return 0;
}

static void spin_remove(struct pci_dev *pdev)
{
	unregister_netdev(pci_get_drvdata(pdev));
	free_netdev(pci_get_drvdata(pdev));
}

/* So that the lab puts it on a NIC: the RTL8139C+. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REALTEK, PCI_DEVICE_ID_REALTEK_8139) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver spin_driver = {
	.name = KBUILD_MODNAME,
	.id_table = ids,
	.probe = spin_probe,
	.remove = spin_remove,
};
module_pci_driver(spin_driver);
MODULE_DESCRIPTION("A network driver that never returns from ndo_start_xmit");
MODULE_LICENSE("GPL");
