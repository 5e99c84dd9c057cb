/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers, command words and counters of the Microchip LAN7800, LAN7801 and
 * LAN7850, named as in the LAN7800 data sheet (DS00001992): chapter 15 for the
 * registers, chapters 6 to 8 for the command words of a frame.
 */
#ifndef LAN78XX_REGS_H
#define LAN78XX_REGS_H

#include <linux/bits.h>
#include <linux/types.h>

/* Vendor requests of endpoint 0; wIndex is the register */
enum {
	REQUEST_WRITE	= 0xa0,
	REQUEST_READ	= 0xa1,
	REQUEST_STATS	= 0xa2,
};

/* Endpoints */
enum {
	EP_BULK_IN	= 1,
	EP_BULK_OUT	= 2,
};

/* System control and status registers */
enum {
	ID_REV		= 0x000,	/* chip, revision */
	INT_STS		= 0x00c,	/* causes; write 1 to clear */
	HW_CFG		= 0x010,
	PMT_CTL		= 0x014,	/* power management, PHY reset */
	DP_SEL		= 0x024,	/* data port: memory */
	DP_CMD		= 0x028,
	DP_ADDR		= 0x02c,
	DP_DATA		= 0x030,
	E2P_CMD		= 0x040,
	E2P_DATA	= 0x044,
	USB_CFG0	= 0x080,
	USB_CFG1	= 0x084,
	BURST_CAP	= 0x090,	/* limit of a bulk IN transfer, in packets */
	BULK_IN_DLY	= 0x094,	/* wait for more frames, in 1/60 us */
	INT_EP_CTL	= 0x098,	/* causes reported by the interrupt endpoint */
	RFE_CTL		= 0x0b0,	/* receive filtering engine */
	FCT_RX_CTL	= 0x0c0,	/* FIFO controller */
	FCT_TX_CTL	= 0x0c4,
	FCT_RX_FIFO_END	= 0x0c8,
	FCT_TX_FIFO_END	= 0x0cc,
	FCT_FLOW	= 0x0d0,	/* levels of pause frames */
	LTM_BELT_IDLE0	= 0x0e0,	/* latency tolerance: the first of six */
	MAC_CR		= 0x100,
	MAC_RX		= 0x104,
	MAC_TX		= 0x108,
	LAN78XX_FLOW		= 0x10c,	/* pause frames */
	RX_ADDRH	= 0x118,
	RX_ADDRL	= 0x11c,
	MII_ACC		= 0x120,
	MII_DATA	= 0x124,
	MAC_RGMII_ID	= 0x128,
	WUCSR		= 0x140,	/* wake-up */
	WK_SRC		= 0x144,
	MAF_BASE	= 0x400,	/* perfect filters: high and low word */
	WUCSR2		= 0x600,
	RGMII_TX_BYP_DLL = 0x708,
	OTP_PWR_DN	= 0x1000,
	OTP_ADDR1	= 0x1004,	/* address, bits 15:11 */
	OTP_ADDR2	= 0x1008,	/* address, bits 10:3 */
	OTP_RD_DATA	= 0x1018,
	OTP_FUNC_CMD	= 0x1020,
	OTP_CMD_GO	= 0x1028,
	OTP_STATUS	= 0x1030,
};

enum {
	ID_REV_CHIP_SHIFT	= 16,
	CHIP_LAN7800		= 0x7800,
	CHIP_LAN7801		= 0x7801,
	CHIP_LAN7850		= 0x7850,
};

/* INT_STS, INT_EP_CTL and the interrupt endpoint */
enum {
	INT_PHY			= BIT(17),
};

enum {
	HW_CFG_CLK125_EN	= BIT(25),
	HW_CFG_REFCLK25_EN	= BIT(24),
	HW_CFG_LED3_EN		= BIT(23),
	HW_CFG_LED2_EN		= BIT(22),
	HW_CFG_LED1_EN		= BIT(21),	/* shares its pins with ... */
	HW_CFG_LED0_EN		= BIT(20),	/* ... the EEPROM */
	HW_CFG_MEF		= BIT(4),	/* multiple frames per transfer */
	HW_CFG_LRST		= BIT(1),	/* lite reset */
};

enum {
	PMT_RES_CLR_WKP_STS	= BIT(9),
	PMT_RES_CLR_WKP_EN	= BIT(8),
	PMT_READY		= BIT(7),
	PMT_SUS_MODE_MASK	= GENMASK(6, 5),
	PMT_SUS_MODE_3		= GENMASK(6, 5),
	PMT_PHY_RST		= BIT(4),
	PMT_WOL_EN		= BIT(3),
	PMT_PHY_WAKE_EN		= BIT(2),
	PMT_WUPS		= GENMASK(1, 0),
};

enum {
	DP_SEL_RSEL		= GENMASK(3, 0),
	DP_SEL_RSEL_VLAN_DA	= 1,	/* VLAN table, followed by address hash */
	DP_CMD_WRITE		= BIT(0),

	DP_VLAN_WORDS		= 128,
	DP_HASH_WORDS		= 16,
};

#define DP_SEL_DPRDY		BIT(31)

enum {
	E2P_CMD_READ		= 0,
	E2P_CMD_TIMEOUT		= BIT(10),
	E2P_CMD_ADDR		= GENMASK(8, 0),
};

#define E2P_CMD_BUSY		BIT(31)

enum {
	USB_CFG0_BIR		= BIT(6),	/* NAK without a frame */
	USB_CFG0_BCE		= BIT(5),	/* enables BURST_CAP */
	USB_CFG1_U2_INIT_EN	= BIT(12),
	USB_CFG1_U1_INIT_EN	= BIT(10),
	USB_CFG1_LTM_EN		= BIT(8),
};

enum {
	RFE_IGMP_COE		= BIT(14),	/* checksums */
	RFE_ICMP_COE		= BIT(13),
	RFE_TCPUDP_COE		= BIT(12),
	RFE_IP_COE		= BIT(11),
	RFE_BCAST_EN		= BIT(10),
	RFE_MCAST_EN		= BIT(9),
	RFE_UCAST_EN		= BIT(8),
	RFE_VLAN_STRIP		= BIT(7),
	RFE_VLAN_FILTER		= BIT(5),
	RFE_MCAST_HASH		= BIT(3),
	RFE_DA_PERFECT		= BIT(1),
};

enum {
	FCT_RST			= BIT(30),
	FCT_DIS			= BIT(20),

	FIFO_BYTES		= 12 * 1024,
	FIFO_UNIT		= 512,
};

#define FCT_EN			BIT(31)

enum {
	FCT_FLOW_OFF_SHIFT	= 8,		/* level to resume, in 512 bytes */
	FCT_FLOW_ON_SHIFT	= 0,		/* level to pause, in 512 bytes */
	FLOW_TX_FCEN		= BIT(30),
	FLOW_RX_FCEN		= BIT(29),
	FLOW_TIME		= 0xffff,	/* pause time, in slots */
};

enum {
	MAC_CR_GMII_EN		= BIT(19),
	MAC_CR_AUTO_DUPLEX	= BIT(12),
	MAC_CR_AUTO_SPEED	= BIT(11),

	MAC_RX_MAX_SIZE_SHIFT	= 16,
	MAC_RX_MAX_SIZE		= GENMASK(29, 16),
	MAC_RX_RXD		= BIT(1),
	MAC_RX_RXEN		= BIT(0),
	MAC_TX_TXD		= BIT(1),
	MAC_TX_TXEN		= BIT(0),
};

enum {
	MII_ACC_PHY_SHIFT	= 11,
	MII_ACC_REG_SHIFT	= 6,
	MII_ACC_WRITE		= BIT(1),
	MII_ACC_BUSY		= BIT(0),

	MAC_RGMII_ID_TXC_DELAY	= BIT(1),
	RGMII_TX_DLL_TUNE	= 0x3d00,	/* for a link without a PHY */
};

enum {
	WUCSR_PFDA_EN		= BIT(3),	/* perfect address */
	WUCSR_MPEN		= BIT(1),	/* magic packet */
	WUCSR_BCST_EN		= BIT(0),	/* broadcast */
};

#define WK_SRC_ALL		0xfff1ff1f	/* write to clear */

/* For each speed: the latency tolerated while idle and while active, and the time
 * until idle.
 */
#define LTM_REGISTERS		6

/* Perfect filters; 0 is the interface's own address */
#define MAF_COUNT		33
#define MAF_HI(n)		(MAF_BASE + 8 * (n))
#define MAF_LO(n)		(MAF_BASE + 8 * (n) + 4)
#define MAF_HI_VALID		BIT(31)

enum {
	OTP_PWR_DN_PWRDN	= BIT(0),
	OTP_FUNC_READ		= BIT(0),
	OTP_GO			= BIT(0),
	OTP_BUSY		= BIT(0),
	OTP_ADDR1_MASK		= 0x1f,
	OTP_ADDR2_MASK		= 0xff,
};

/* Contents of the EEPROM (9.2) and of the OTP memory (10.2) */
enum {
	EEPROM_BYTES		= 512,
	EEPROM_MARK		= 0xa5,
	OTP_MARK_1		= 0xf3,
	OTP_MARK_2		= 0xf7,		/* contents start at OTP_SECOND */
	OTP_SECOND		= 0x100,
	NVRAM_MAC		= 1,		/* offset */
	NVRAM_LTM		= 0x3f,		/* length in bytes, offset in words */
};

/* Receive: words A, B (u32) and C (u16), then the frame with its FCS. The next
 * word A is aligned to 4 bytes.
 */
#define RX_CMD_BYTES		10
#define RX_ALIGN		4

#define RX_ICE			BIT(31)	/* IP checksum error */
#define RX_TCE			BIT(30)	/* TCP, UDP, ICMP or IGMP checksum error */
#define RX_IPV			BIT(29)	/* IPv6 */
#define RX_PID			GENMASK(28, 27)
#define RX_PID_TCP		BIT(27)
#define RX_PID_UDP		BIT(28)
#define RX_FVTG			BIT(23)	/* tagged */
#define RX_RED			BIT(22)	/* error */
#define RX_ERRORS		GENMASK(21, 16)	/* kind of error: RWT to FCS */
#define RX_ICSM			BIT(14)	/* checksums not verified */
#define RX_LENGTH		GENMASK(13, 0)
#define RX_VTAG			GENMASK(15, 0)	/* in word B */

/* Transmit: words A and B (u32) before each frame, aligned to 4 bytes. */
#define TX_CMD_BYTES		8
#define TX_ALIGN		4

#define TX_LSO			BIT(27)	/* segment the packet */
#define TX_IPE			BIT(26)	/* insert the IP checksum */
#define TX_TPE			BIT(25)	/* insert the TCP or UDP checksum */
#define TX_IVTG			BIT(24)	/* insert the VLAN tag */
#define TX_FCS			BIT(22)	/* append the FCS */
#define TX_MSS_SHIFT		16	/* in word B */
#define TX_MSS_MIN		8
#define TX_MSS_MAX		0x3fff

#endif /* LAN78XX_REGS_H */
