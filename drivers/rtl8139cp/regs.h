/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RTL8139C+ registers and descriptors, named as in Realtek's "RTL8139C+
 * datasheet" (rev. 1.6, sections "Register Descriptions" and "C+ mode").
 */
#ifndef CP_REGS_H
#define CP_REGS_H

#include <linux/bits.h>
#include <linux/types.h>

enum cp_reg {
	CP_IDR0		= 0x00,	/* our MAC address; 4-byte writes only */
	CP_MAR0		= 0x08,	/* multicast hash, 64 bits; 4-byte writes only */
	CP_DTCCR	= 0x10,	/* dump tally counters to this address */
	CP_TNPDS	= 0x20,	/* normal priority transmit ring, 64 bits */
	CP_THPDS	= 0x28,	/* high priority transmit ring; not used */
	CP_CR		= 0x37,	/* command, 8 bits */
	CP_IMR		= 0x3c,	/* interrupt mask, 16 bits */
	CP_ISR		= 0x3e,	/* interrupt status, 16 bits, write 1 to clear */
	CP_TCR		= 0x40,	/* transmit configuration */
	CP_RCR		= 0x44,	/* receive configuration */
	CP_MPC		= 0x4c,	/* missed packets, 24 bits; a write or reset clears */
	CP_9346CR	= 0x50,	/* EEPROM access, lock of the CONFIG registers */
	CP_CONFIG1	= 0x52,
	CP_CONFIG3	= 0x59,
	CP_MULINT	= 0x5c,	/* early receive interrupts; off */
	CP_BMCR		= 0x62,	/* the internal PHY's MII registers */
	CP_BMSR		= 0x64,
	CP_ANAR		= 0x66,
	CP_ANLPAR	= 0x68,
	CP_ANER		= 0x6a,
	CP_CONFIG5	= 0xd8,
	CP_TPPOLL	= 0xd9,	/* the doorbell, 8 bits */
	CP_CPCR		= 0xe0,	/* C+ command (C+CR), 16 bits */
	CP_RDSAR	= 0xe4,	/* receive ring, 64 bits */
	CP_ETTHR	= 0xec,	/* early transmit threshold, units of 32 bytes */
	CP_REGS_SIZE	= 0x100,
};

#define CP_MPC_MASK	GENMASK(23, 0)

/* CP_DTCCR, low word; the address is aligned to 64 bytes. */
enum cp_dtccr {
	CP_DTCCR_CMD	= BIT(3),	/* start; the chip clears it when done */
};

enum cp_cr {
	CP_CR_RST	= BIT(4),	/* software reset; clears itself */
	CP_CR_RE	= BIT(3),
	CP_CR_TE	= BIT(2),
};

/* CP_IMR and CP_ISR */
enum cp_int {
	CP_INT_SERR	= BIT(15),	/* PCI bus error */
	CP_INT_TDU	= BIT(7),	/* transmit descriptor unavailable */
	CP_INT_FOVW	= BIT(6),	/* receive FIFO overflow */
	CP_INT_LINKCHG	= BIT(5),	/* PUN/LinkChg: link change */
	CP_INT_RDU	= BIT(4),	/* receive descriptor unavailable */
	CP_INT_TER	= BIT(3),	/* transmit error */
	CP_INT_TOK	= BIT(2),	/* transmitted */
	CP_INT_RER	= BIT(1),	/* receive error */
	CP_INT_ROK	= BIT(0),	/* received */

	/* Errors and overflows are masked together with receive, or an
	 * overload causes an interrupt storm.
	 */
	CP_INT_RX	= CP_INT_ROK | CP_INT_RER | CP_INT_RDU | CP_INT_FOVW,
	CP_INT_TX	= CP_INT_TOK | CP_INT_TER | CP_INT_TDU,
	/* Never masked while the interface is up. */
	CP_INT_EVENTS	= CP_INT_LINKCHG | CP_INT_SERR,
	/* Read from a removed chip. */
	CP_INT_GONE	= 0xffff,
};

enum cp_tcr {
	CP_TCR_IFG96	= BIT(25) | BIT(24),	/* IEEE 802.3's gap */
	CP_TCR_MXDMA	= 6 << 8,		/* bursts of 1024 bytes */
};

enum cp_rcr {
	CP_RCR_RXFTH	= 5 << 13,	/* DMA begins at 512 bytes in the FIFO */
	CP_RCR_MXDMA	= 4 << 8,	/* bursts of 256 bytes */
	CP_RCR_AB	= BIT(3),	/* accept broadcast */
	CP_RCR_AM	= BIT(2),	/* multicast that passes CP_MAR0 */
	CP_RCR_APM	= BIT(1),	/* our address */
	CP_RCR_AAP	= BIT(0),	/* any address */
};

enum cp_9346cr {
	CP_9346CR_LOCK		= 0x00,
	CP_9346CR_LOAD		= 0x40,	/* load the EEPROM; clears itself */
	CP_9346CR_PROGRAM	= 0x80,	/* the pins below drive the EEPROM */
	CP_9346CR_UNLOCK	= 0xc0,	/* EEM: CONFIG registers, IDR and BMCR */
	CP_9346CR_EECS		= BIT(3),
	CP_9346CR_EESK		= BIT(2),
	CP_9346CR_EEDI		= BIT(1),
	CP_9346CR_EEDO		= BIT(0),
};

enum cp_config1 {
	CP_CONFIG1_DVRLOAD	= BIT(5),	/* driver is loaded */
	CP_CONFIG1_PMEN		= BIT(0),	/* power management */
};

enum cp_config3 {
	CP_CONFIG3_MAGIC	= BIT(5),	/* wake up by magic packet */
	CP_CONFIG3_LINKUP	= BIT(4),	/* wake up by link */
};

enum cp_config5 {
	CP_CONFIG5_BWF	= BIT(6),	/* wake up by broadcast */
	CP_CONFIG5_MWF	= BIT(5),	/* by multicast */
	CP_CONFIG5_UWF	= BIT(4),	/* by unicast */
};

enum cp_tppoll {
	CP_TPPOLL_NPQ	= BIT(6),	/* packets on the normal ring */
};

enum cp_cpcr {
	CP_CPCR_RXVLAN	= BIT(6),	/* strip VLAN tags */
	CP_CPCR_RXCHK	= BIT(5),	/* verify checksums */
	CP_CPCR_DAC	= BIT(4),	/* 64-bit addresses */
	CP_CPCR_MULRW	= BIT(3),	/* PCI read and write multiple */
	CP_CPCR_RXE	= BIT(1),	/* C+ mode receiver */
	CP_CPCR_TXE	= BIT(0),	/* C+ mode transmitter */
};

enum cp_etthr {
	CP_ETTHR_192	= 6,
};

/* A descriptor of either ring. Rings are aligned to 256 bytes. */
struct cp_desc {
	__le32 opts1;
	__le32 opts2;
	__le64 addr;
};

/* opts1 of both rings */
enum cp_desc_opts1 {
	CP_OWN		= BIT(31),	/* owned by the chip */
	CP_EOR		= BIT(30),	/* end of ring */
	CP_FS		= BIT(29),	/* first segment */
	CP_LS		= BIT(28),	/* last segment */
};

/* opts1, transmit command: bits 15 to 0 are the segment's length. */
enum cp_tx_command {
	CP_TX_LGSEN	= BIT(27),	/* large send; the checksums, too */
	CP_TX_MSS_SHIFT	= 16,		/* of a large send, in place of the next */
	CP_TX_MSS_MAX	= 0x7ff,
	CP_TX_IPCS	= BIT(18),	/* insert the IPv4 header checksum */
	CP_TX_UDPCS	= BIT(17),
	CP_TX_TCPCS	= BIT(16),
};

/* opts1, transmit status. Bits 19 to 16 are the number of collisions. QEMU's
 * model leaves the command's bits there; the tally counters count them as well.
 */
enum cp_tx_status {
	CP_TX_UNF	= BIT(25),	/* FIFO underrun */
	CP_TX_TES	= BIT(23),	/* error summary of the three below */
	CP_TX_OWC	= BIT(22),	/* out-of-window collision */
	CP_TX_LNKF	= BIT(21),	/* link failure */
	CP_TX_EXC	= BIT(20),	/* excessive collisions */
};

/* opts2, transmit: bits 15 to 0 are the tag, in network order. */
enum cp_tx_opts2 {
	CP_TX_TAGC	= BIT(17),	/* insert the VLAN tag */
};

/* opts1, receive status. As a command, bits 12 to 0 are the buffer's size, a
 * multiple of 8.
 */
enum cp_rx_status {
	CP_RX_FAE	= BIT(27),	/* alignment error */
	CP_RX_FOVF	= BIT(22),	/* FIFO overflow */
	CP_RX_RES	= BIT(20),	/* error summary */
	CP_RX_CRC	= BIT(18),
	CP_RX_PID	= BIT(17) | BIT(16),	/* protocol */
	CP_RX_PID_TCP	= BIT(16),
	CP_RX_PID_UDP	= BIT(17),
	CP_RX_IPF	= BIT(15),	/* IPv4 checksum failed */
	CP_RX_UDPF	= BIT(14),
	CP_RX_TCPF	= BIT(13),
	CP_RX_LEN	= 0x1fff,	/* including the FCS */

	CP_RX_CSUM_BAD	= CP_RX_IPF | CP_RX_UDPF | CP_RX_TCPF,
	/* A good frame in a single buffer: (status & JUDGE) == WHOLE. */
	CP_RX_WHOLE	= CP_FS | CP_LS,
	CP_RX_JUDGE	= CP_RX_WHOLE | CP_RX_RES | CP_RX_FOVF,
};

/* opts2, receive: bits 15 to 0 are the tag, in network order. */
enum cp_rx_opts2 {
	CP_RX_TAVA	= BIT(16),	/* a VLAN tag was stripped */
	CP_RX_TAG	= 0xffff,
};

/* The counters dumped by CP_DTCCR. */
struct cp_tally {
	__le64 tx_ok;
	__le64 rx_ok;
	__le64 tx_err;
	__le32 rx_err;
	__le16 miss_pkt;
	__le16 fae;
	__le32 tx_1col;
	__le32 tx_mcol;
	__le64 rx_ok_phy;
	__le64 rx_ok_brd;
	__le32 rx_ok_mul;
	__le16 tx_abt;
	__le16 tx_undrn;
};

#endif /* CP_REGS_H */
