// SPDX-License-Identifier: GPL-2.0-only
/* ethtool -t. The tests that stop the interface use the shared area, no ring. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>

#include "i8255x.h"

#define SELF_TEST_US	(20 * USEC_PER_MSEC)
#define LOOP_US		(20 * USEC_PER_MSEC)

enum {
	TEST_LINK,
	TEST_EEPROM,
	TEST_REGISTERS,
	TEST_CHIP,
	TEST_LOOP_MAC,
	TEST_LOOP_PHY,
};

const char i8255x_test_names[I8255X_TESTS][ETH_GSTRING_LEN] = {
	[TEST_LINK]	 = "Link              (on/offline)",
	[TEST_EEPROM]	 = "EEPROM checksum   (on/offline)",
	[TEST_REGISTERS] = "Registers            (offline)",
	[TEST_CHIP]	 = "Chip's self-test     (offline)",
	[TEST_LOOP_MAC]	 = "Loopback in the chip (offline)",
	[TEST_LOOP_PHY]	 = "Loopback in the PHY  (offline)",
};

/* The general pointer keeps what is written, the mask its bits for causes. */
static int i8255x_test_registers(struct i8255x *np)
{
	static const u32 patterns[] = { 0x5a5a5a5a, 0xa5a5a5a5, 0xffffffff, 0 };
	int i, err;

	err = i8255x_hw_reset(np);
	for (i = 0; i < ARRAY_SIZE(patterns) && !err; i++) {
		u8 mask = (patterns[i] & CAUSES_MASKABLE) | MASK_ALL;

		writel(patterns[i], np->regs + SCB_POINTER);
		writeb(mask, np->regs + SCB_MASK);
		if (readl(np->regs + SCB_POINTER) != patterns[i] ||
		    (readb(np->regs + SCB_MASK) & (CAUSES_MASKABLE | MASK_ALL)) !=
			    mask)
			err = -EIO;
	}
	return err;
}

/* PORT self-test (6.3.3.2): ROM, registers, timers; it ends with a reset. */
static int i8255x_test_chip(struct i8255x *np)
{
	dma_addr_t dma = i8255x_shared_dma(np, self_test);
	struct i8255x_shared *shared = np->shared;
	__le32 signature;
	int err;

	shared->self_test.signature = 0;
	shared->self_test.failed = cpu_to_le32(U32_MAX);
	/* Clear the result before the chip may write it. */
	dma_wmb();
	writel(lower_32_bits(dma) | PORT_SELF_TEST, np->regs + I8255X_PORT);
	err = read_poll_timeout(READ_ONCE, signature, signature, 1000,
				SELF_TEST_US, true, shared->self_test.signature);
	/* The test unmasks all causes. */
	writeb(MASK_INITIAL | MASK_ALL, np->regs + SCB_MASK);
	/* Read the signature before the result. */
	dma_rmb();
	return err ?: shared->self_test.failed ? -EIO : 0;
}

/* Sends a frame to ourselves, and compares. */
static int i8255x_loop(struct i8255x *np, u8 config10)
{
	struct i8255x_shared *shared = np->shared;
	struct i8255x_rfd *rfd = &shared->loop_rfd.head;
	struct i8255x_cb *cb = &shared->block.cb;
	__le16 status;
	int i, err;

	err = i8255x_hw_reset(np);
	if (err)
		return err;
	i8255x_config(np, cb->config);
	cb->config[10] |= config10;
	cb->config[15] |= CONFIG15_PROMISC;
	cb->config[18] &= ~CONFIG18_KEEP_FCS;
	cb->config[19] |= CONFIG19_FULL_DUPLEX;
	err = i8255x_execute(np, CB_CONFIGURE);
	if (err)
		return err;

	memset(&shared->loop_rfd, 0, sizeof(shared->loop_rfd));
	rfd->command = cpu_to_le16(RFD_EL);
	rfd->reserved = cpu_to_le32(U32_MAX);
	rfd->size = cpu_to_le16(RX_DATA_BYTES);
	err = i8255x_command_wait(np, RU_START,
				  i8255x_shared_dma(np, loop_rfd));
	if (err)
		return err;

	for (i = 0; i < LOOP_BYTES; i++)
		shared->loop_frame[i] = i < ETH_ALEN ? 0xff : i;
	cb->tx.tbd_array = cpu_to_le32(i8255x_shared_dma(np, block.cb.tx.buf_addr));
	cb->tx.byte_count = 0;
	cb->tx.threshold = TX_THRESHOLD;
	cb->tx.tbd_count = 1;
	cb->tx.buf_addr = cpu_to_le32(i8255x_shared_dma(np, loop_frame));
	cb->tx.buf_size = cpu_to_le16(LOOP_BYTES);
	cb->tx.buf_el = 0;
	err = i8255x_execute(np, CB_TRANSMIT | CB_FLEXIBLE);
	if (err)
		return err;
	err = read_poll_timeout(READ_ONCE, status, status & cpu_to_le16(RFD_C),
				100, LOOP_US, false, rfd->status);
	if (err)
		return err;
	/* Read the status before the frame. */
	dma_rmb();
	if (!(status & cpu_to_le16(RFD_OK)) ||
	    (le16_to_cpu(rfd->count) & RFD_COUNT_MASK) != LOOP_BYTES ||
	    memcmp(rfd->data, shared->loop_frame, LOOP_BYTES))
		return -EIO;
	return 0;
}

static int i8255x_test_loop_mac(struct i8255x *np)
{
	return i8255x_loop(np, CONFIG10_LOOP_MAC);
}

/* The PHY of a chipset does not loop; e100 tests the chip twice then. */
static int i8255x_test_loop_phy(struct i8255x *np)
{
	int phy = np->mii.phy_id;
	int bmcr, err;

	if (np->ich)
		return i8255x_loop(np, CONFIG10_LOOP_MAC);
	bmcr = i8255x_mdio_read(np->netdev, phy, MII_BMCR);
	if (bmcr == 0xffff)
		return -EIO;
	i8255x_mdio_write(np->netdev, phy, MII_BMCR,
			  BMCR_LOOPBACK | BMCR_SPEED100 | BMCR_FULLDPLX);
	err = i8255x_loop(np, CONFIG10_LOOP_PHY);
	i8255x_mdio_write(np->netdev, phy, MII_BMCR, bmcr);
	return err;
}

static void i8255x_test_offline(struct i8255x *np, u64 *data)
{
	data[TEST_REGISTERS] = !!i8255x_test_registers(np);
	data[TEST_CHIP] = !!i8255x_test_chip(np);
	data[TEST_LOOP_MAC] = !!i8255x_test_loop_mac(np);
	data[TEST_LOOP_PHY] = !!i8255x_test_loop_phy(np);
	i8255x_hw_reset(np);
}

/* RTNL */
void i8255x_self_test(struct net_device *netdev, struct ethtool_test *test,
		      u64 *data)
{
	struct i8255x *np = netdev_priv(netdev);
	int i;

	memset(data, 0, I8255X_TESTS * sizeof(*data));
	data[TEST_LINK] = !mii_link_ok(&np->mii);
	data[TEST_EEPROM] = i8255x_eeprom_sum(np) != EEPROM_SUM;
	if (test->flags & ETH_TEST_FL_OFFLINE) {
		if (netif_running(netdev))
			i8255x_down(&np->port);
		i8255x_test_offline(np, data);
		if (netif_running(netdev) && i8255x_up(&np->port)) {
			test->flags |= ETH_TEST_FL_FAILED;
			irqmod_reset(&np->port);
		}
	}
	for (i = 0; i < I8255X_TESTS; i++)
		if (data[i])
			test->flags |= ETH_TEST_FL_FAILED;
}
