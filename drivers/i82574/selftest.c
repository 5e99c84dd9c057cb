// SPDX-License-Identifier: GPL-2.0-only
/* ethtool -t. The tests that stop the interface use the rings of the first queue. */
#include <linux/io.h>
#include <linux/iopoll.h>

#include "i82574.h"

#define LOOP_US		(100 * USEC_PER_MSEC)
#define LOOP_BYTES	100

enum {
	TEST_LINK,
	TEST_NVM,
	TEST_REGISTERS,
	TEST_INTERRUPT,
	TEST_LOOP,
	TESTS
};

const char i82574_test_names[TESTS][ETH_GSTRING_LEN] = {
	[TEST_LINK]	 = "Link              (on/offline)",
	[TEST_NVM]	 = "NVM checksum      (on/offline)",
	[TEST_REGISTERS] = "Registers            (offline)",
	[TEST_INTERRUPT] = "Causes and masks     (offline)",
	[TEST_LOOP]	 = "Loopback in the PHY  (offline)",
};

static_assert(TESTS == I82574_TESTS);

/* The multicast table keeps what is written. */
static int test_registers(struct i82574 *nic)
{
	static const u32 patterns[] = { 0x5a5a5a5a, 0xa5a5a5a5, 0xffffffff, 0 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		for (j = 0; j < MTA_WORDS; j++) {
			i82574_write(nic, MTA(j), patterns[i]);
			if (i82574_read(nic, MTA(j)) != patterns[i])
				return -EIO;
		}
	return 0;
}

/* A cause that is raised is seen, and a mask keeps what is written. */
static int test_interrupt(struct i82574 *nic)
{
	i82574_write(nic, ICS, INT_RXT0);
	if (!(i82574_read(nic, ICR) & INT_RXT0))
		return -EIO;
	i82574_write(nic, IMS, INT_TXDW);
	i82574_write(nic, IMC, INT_TXDW);
	return i82574_read(nic, IMS) ? -EIO : 0;
}

/* Sends a frame to ourselves, and compares. */
static int loop(struct i82574 *nic)
{
	struct i82574_queue *q = &nic->queue[0];
	union i82574_rx_desc *back = q->rx.desc;
	u8 *frame = q->tx.copies, *data;
	u32 status;
	int i, err;

	i82574_hw_init(nic);
	for (i = 0; i < QUEUES; i++) {
		i82574_rx_start(&nic->queue[i]);
		i82574_tx_start(&nic->queue[i]);
	}
	i82574_change(nic, CTRL, 0, CTRL_FORCE_SPEED | CTRL_FORCE_DUPLEX |
		      CTRL_SPEED_1000 | CTRL_FD | CTRL_SLU);
	i82574_write(nic, RCTL, RCTL_EN | RCTL_UPE | RCTL_BAM | RCTL_SECRC |
		     RCTL_BUFFER_KB(RX_BUFFER_KB));
	i82574_rx_refill(&q->queue);
	for (i = 0; i < LOOP_BYTES; i++)
		frame[i] = i < ETH_ALEN ? 0xff : i;
	q->tx.desc->addr = cpu_to_le64(q->tx.copies_dma);
	q->tx.desc->command = cpu_to_le32(TXD_DEXT | TXD_TYPE_DATA | TXD_IFCS |
					  TXD_EOP | LOOP_BYTES);
	writel(1, q->tx.tail);
	err = read_poll_timeout(le32_to_cpu, status, status & RXD_DD, 100, LOOP_US,
				false, READ_ONCE(back->back.status));
	if (err)
		return err;
	/* Read DD before the frame. */
	dma_rmb();
	dma_sync_single_for_cpu(&nic->pdev->dev, q->rx.slot->dma + RX_HEADROOM,
				LOOP_BYTES, q->rx.dir);
	data = page_address(q->rx.slot->page) + RX_HEADROOM;
	if (le16_to_cpu(back->back.length) != LOOP_BYTES ||
	    memcmp(data, frame, LOOP_BYTES))
		return -EIO;
	return 0;
}

static int test_loop(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	int phy = nic->mii.phy_id, bmcr, err;

	bmcr = i82574_mdio_read(netdev, phy, MII_BMCR);
	if (bmcr == 0xffff)
		return -EIO;
	i82574_mdio_write(netdev, phy, MII_BMCR,
			  BMCR_LOOPBACK | BMCR_SPEED1000 | BMCR_FULLDPLX);
	err = loop(nic);
	i82574_mdio_write(netdev, phy, MII_BMCR, bmcr);
	return err;
}

static void test_offline(struct i82574 *nic, u64 *data)
{
	data[TEST_REGISTERS] = !!i82574_hw_reset(nic) || !!test_registers(nic);
	data[TEST_INTERRUPT] = !!test_interrupt(nic);
	data[TEST_LOOP] = !!i82574_hw_reset(nic) || !!test_loop(nic);
	i82574_hw_reset(nic);
}

/* RTNL */
void i82574_self_test(struct net_device *netdev, struct ethtool_test *test,
		      u64 *data)
{
	struct i82574 *nic = i82574_of(netdev);
	bool up = netif_running(netdev);
	int i, err = 0;

	memset(data, 0, TESTS * sizeof(*data));
	data[TEST_LINK] = !mii_link_ok(&nic->mii);
	data[TEST_NVM] = !!i82574_nvm_check(nic);
	if (test->flags & ETH_TEST_FL_OFFLINE) {
		i82574_down(&nic->port);
		err = up ? 0 : i82574_queues_open(nic);
		if (!err)
			test_offline(nic, data);
		if (!up && !err)
			i82574_queues_close(nic);
		if (up && i82574_up(&nic->port))
			irqmod_reset(&nic->port);	/* retries, or closes */
	}
	for (i = 0; i < TESTS; i++)
		if (data[i] || err)
			test->flags |= ETH_TEST_FL_FAILED;
}
