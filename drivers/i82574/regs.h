/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and descriptors of the 82574. Sections are those of Intel's "82574 GbE
 * Controller Family Datasheet".
 */
#ifndef I82574_REGS_H
#define I82574_REGS_H

#include <linux/bits.h>
#include <linux/types.h>

/* General (10.2.2) */
#define CTRL			0x00000
#define   CTRL_FD		BIT(0)
#define   CTRL_NO_MASTER	BIT(2)	/* no more requests on the bus */
#define   CTRL_SLU		BIT(6)	/* set link up */
#define   CTRL_SPEED_1000	BIT(9)
#define   CTRL_FORCE_SPEED	BIT(11)
#define   CTRL_FORCE_DUPLEX	BIT(12)
#define   CTRL_ADVD3WUC		BIT(20)	/* PME# also from D3cold */
#define   CTRL_RST		BIT(26)
#define   CTRL_RFCE		BIT(27)	/* obey pause frames */
#define   CTRL_TFCE		BIT(28)	/* send pause frames */
#define   CTRL_RESERVED_29	BIT(29)
#define   CTRL_VME		BIT(30)	/* strip and insert VLAN tags */
#define STATUS			0x00008
#define   STATUS_MASTER		BIT(19)	/* requests on the bus are possible */
#define EEC			0x00010
#define   EEC_AUTO_READ		BIT(9)	/* the NVM has been read */
#define EERD			0x00014
#define   EE_START		BIT(0)
#define   EE_DONE		BIT(1)
#define   EE_ADDRESS_SHIFT	2
#define   EE_DATA_SHIFT		16
#define CTRL_EXT		0x00018
#define   CTRL_EXT_PHY_POWER	BIT(20)	/* the PHY may sleep in D3 */
#define   CTRL_EXT_SET_22	BIT(22)
#define   CTRL_EXT_CLEAR_23	BIT(23)
#define   CTRL_EXT_PBA_CLEAR	BIT(31)	/* a message clears its pending bit (MSI-X) */
#define MDIC			0x00020
#define   MDIC_REG_SHIFT	16
#define   MDIC_PHY_SHIFT	21
#define   MDIC_WRITE		BIT(26)
#define   MDIC_READ		BIT(27)
#define   MDIC_READY		BIT(28)
#define   MDIC_ERROR		BIT(30)
#define FCAL			0x00028
#define FCAH			0x0002c
#define FCT			0x00030
#define VET			0x00038
#define FCTTV			0x00170
#define LEDCTL			0x00e00
#define   LEDCTL_ON		0x0e
#define   LEDCTL_OFF		0x0f
#define EXTCNF_CTRL		0x00f00
#define   EXTCNF_MDIO_SW	BIT(5)	/* MDIC is the driver's */
#define PBA			0x01000	/* KB of the FIFO for receiving */
#define GCR			0x05b00
#define   GCR_SET_22		BIT(22)
#define GCR2			0x05b64
#define   GCR2_SET_0		BIT(0)

/* Interrupts (10.2.4) */
#define ICR			0x000c0
#define ITR			0x000c4	/* units of 256 ns */
#define ICS			0x000c8
#define IMS			0x000d0
#define IMC			0x000d8
#define EIAC			0x000dc
#define IVAR			0x000e4
#define EITR(vector)		(0x000e8 + 4 * (vector))
#define INT_TXDW		BIT(0)
#define INT_LSC			BIT(2)
#define INT_RXDMT0		BIT(4)
#define INT_RXO			BIT(6)
#define INT_RXT0		BIT(7)
#define INT_RXQ(queue)		BIT(20 + (queue))
#define INT_TXQ(queue)		BIT(22 + (queue))
#define INT_OTHER		BIT(24)
#define INT_ASSERTED		BIT(31)
#define INT_QUEUES		GENMASK(23, 20)
#define INT_GONE		U32_MAX
#define IVAR_RXQ(queue, vector)	((u32)(8 | (vector)) << 4 * (queue))
#define IVAR_TXQ(queue, vector)	((u32)(8 | (vector)) << (8 + 4 * (queue)))
#define IVAR_OTHER(vector)	((u32)(8 | (vector)) << 16)
#define IVAR_TX_EACH		BIT(31)	/* TXQ interrupts on every write-back */
#define ITR_NS			256
#define ITR_MAX			0xffff

/* Receive (10.2.5) */
#define RCTL			0x00100
#define   RCTL_EN		BIT(1)
#define   RCTL_UPE		BIT(3)
#define   RCTL_MPE		BIT(4)
#define   RCTL_LPE		BIT(5)	/* more than 1522 bytes */
#define   RCTL_BAM		BIT(15)
#define   RCTL_VFE		BIT(18)
#define   RCTL_SECRC		BIT(26)	/* strip the FCS */
#define   RCTL_BUFFER_KB(kb)	((kb) << 27)
#define FCRTL			0x02160
#define   FCRTL_XON		BIT(31)
#define FCRTH			0x02168
#define RDBAL(queue)		(0x02800 + 0x100 * (queue))
#define RDBAH(queue)		(0x02804 + 0x100 * (queue))
#define RDLEN(queue)		(0x02808 + 0x100 * (queue))
#define RDH(queue)		(0x02810 + 0x100 * (queue))
#define RDT(queue)		(0x02818 + 0x100 * (queue))
#define RDTR			0x02820
#define RXDCTL(queue)		(0x02828 + 0x100 * (queue))
/* In descriptors: read ahead 4 or more while the chip has 32 or fewer; write so many back
 * together.
 */
#define   RXDCTL_THRESHOLDS(back)	(BIT(24) | (back) << 16 | 4 << 8 | 32)
#define RADV			0x0282c
#define RXCSUM			0x05000
#define   RXCSUM_IPOFL		BIT(8)
#define   RXCSUM_TUOFL		BIT(9)
#define   RXCSUM_PCSD		BIT(13)	/* the hash in place of a checksum */
#define RFCTL			0x05008
#define   RFCTL_EXTEN		BIT(15)	/* extended descriptors */
#define MTA(word)		(0x05200 + 4 * (word))
#define   MTA_WORDS		128
#define RAL(n)			(0x05400 + 8 * (n))
#define RAH(n)			(0x05404 + 8 * (n))
#define   RAH_VALID		BIT(31)
#define   ADDRESSES		15	/* 16; the last is the firmware's */
#define VFTA(word)		(0x05600 + 4 * (word))
#define   VFTA_WORDS		128
#define MRQC			0x05818
#define   MRQC_TWO_QUEUES	BIT(0)
#define   MRQC_TCP_IPV4		BIT(16)
#define   MRQC_IPV4		BIT(17)
#define   MRQC_IPV6		BIT(20)
#define   MRQC_TCP_IPV6		BIT(21)
#define RETA(word)		(0x05c00 + 4 * (word))
#define   RETA_ENTRIES		128
#define RSSRK(word)		(0x05c80 + 4 * (word))
#define   RSS_KEY_BYTES		40

/* Transmit (10.2.6) */
#define TCTL			0x00400
#define   TCTL_EN		BIT(1)
#define   TCTL_PSP		BIT(3)	/* pad short packets */
#define   TCTL_CT_SHIFT		4
#define   TCTL_COLD_SHIFT	12
#define   TCTL_RTLC		BIT(24)
#define TDBAL(queue)		(0x03800 + 0x100 * (queue))
#define TDBAH(queue)		(0x03804 + 0x100 * (queue))
#define TDLEN(queue)		(0x03808 + 0x100 * (queue))
#define TDH(queue)		(0x03810 + 0x100 * (queue))
#define TDT(queue)		(0x03818 + 0x100 * (queue))
#define TIDV			0x03820
#define TXDCTL(queue)		(0x03828 + 0x100 * (queue))
/* The same, 1 and 31; bit 22 must be set. */
#define   TXDCTL_THRESHOLDS	(BIT(24) | BIT(22) | 1 << 16 | 1 << 8 | 31)
#define TADV			0x0382c
#define TARC(queue)		(0x03840 + 0x100 * (queue))
#define   TARC_CLEAR		GENMASK(30, 27)
#define   TARC_SET_26		BIT(26)

/* Wake-up (10.2) */
#define WUC			0x05800
#define   WUC_PME_EN		BIT(1)
#define WUFC			0x05808
#define   WUFC_LINK		BIT(0)
#define   WUFC_MAGIC		BIT(1)
#define   WUFC_UNICAST		BIT(2)
#define   WUFC_MULTICAST	BIT(3)
#define   WUFC_BROADCAST	BIT(4)
#define WUS			0x05810

/* The NVM, in words (6.1) */
#define NVM_WORDS		64
#define NVM_SUM			0xbaba	/* of all words */
#define NVM_WAKE_AT		0x0f	/* initialization control 2 */
#define   NVM_WAKE		BIT(10)	/* APM enable */

/* An extended receive descriptor (7.1.4), as it is given to the chip, and as it
 * comes back.
 */
union i82574_rx_desc {
	struct {
		__le64 addr;
		__le64 status;		/* 0 */
	} give;
	struct {
		__le32 multiqueue;
		__le32 hash;
		__le32 status;
		__le16 length;
		__le16 vlan;
	} back;
};

#define RXD_DD			BIT(0)
#define RXD_EOP			BIT(1)
#define RXD_IXSM		BIT(2)	/* no checksum was verified */
#define RXD_VP			BIT(3)	/* a VLAN tag was stripped */
#define RXD_UDPCS		BIT(4)	/* UDP's checksum was verified */
#define RXD_TCPCS		BIT(5)	/* TCP's or UDP's checksum was verified */
#define RXD_ERROR_TCP		BIT(29)
#define RXD_ERROR_IP		BIT(30)
#define RXD_ERROR_DATA		BIT(31)
#define RXD_ERROR_FRAME		(RXD_ERROR_DATA | GENMASK(26, 24))
#define RXD_HASH_TYPE		GENMASK(3, 0)
#define RXD_HASH_TCP_IPV4	1
#define RXD_HASH_TCP_IPV6	3

/* Transmit descriptors (7.2.10, 7.2.11) */
struct i82574_tx_desc {
	__le64 addr;			/* context: where checksums are */
	__le32 command;
	__le32 options;			/* and the status */
};

#define TXD_TYPE_DATA		BIT(20)
#define TXD_EOP			BIT(24)
#define TXD_IFCS		BIT(25)
#define TXD_TSE			BIT(26)
#define TXD_RS			BIT(27)
#define TXD_DEXT		BIT(29)
#define TXD_VLE			BIT(30)
#define TXD_CONTEXT_TCP		BIT(24)
#define TXD_CONTEXT_IPV4	BIT(25)
#define TXD_DD			BIT(0)	/* in the options */
#define TXD_IXSM		BIT(8)
#define TXD_TXSM		BIT(9)
#define TXD_VLAN_SHIFT		16
#define TXD_HEADER_SHIFT	8	/* context: in the options */
#define TXD_MSS_SHIFT		16

#endif /* I82574_REGS_H */
