/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and shared-memory structures of the Intel 8255x family.
 *
 * "Manual" is Intel's "8255x 10/100 Mbps Ethernet Controller Family Open Source
 * Software Developer Manual", revision 1.3. Section numbers refer to it.
 */
#ifndef I8255X_REGS_H
#define I8255X_REGS_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/types.h>

/* Control/status registers, offsets into BAR 0 (6.3) */
enum {
	SCB_STATUS	= 0x00,	/* u8: CU and RU state */
	SCB_ACK		= 0x01,	/* u8: causes; write 1 to acknowledge */
	SCB_COMMAND	= 0x02,	/* u8: CU and RU command; 0 when accepted */
	SCB_MASK	= 0x03,	/* u8: masked causes; SWI and M bits */
	SCB_POINTER	= 0x04,	/* u32: argument of a command */
	I8255X_PORT	= 0x08,	/* u32: reset, self test */
	I8255X_EEPROM	= 0x0e,	/* u16: bit-banged 93C46 */
	I8255X_MDI	= 0x10,	/* u32: PHY access */
	FLOW_THRESHOLD	= 0x19,	/* u8: of the receive FIFO, for pause frames */
};

/* SCB_STATUS (6.3.2.1) */
enum {
	RUS_MASK	= 0x3c,
	RUS_READY	= 0x10,
};

/* SCB_ACK and SCB_MASK (6.3.2.1, 6.3.2.2): bits 7 to 4 are the same causes in
 * both, bits 3 to 0 differ. The original 82557 only has the mask bit M; the
 * 82558 and later can mask individual causes.
 */
enum {
	CAUSE_CX	= BIT(7),	/* command with its I bit done */
	CAUSE_FR	= BIT(6),	/* frame received */
	CAUSE_CNA	= BIT(5),	/* CU left the active state */
	CAUSE_RNR	= BIT(4),	/* RU left the ready state */
	CAUSE_SWI	= BIT(2),	/* software interrupt */
	CAUSE_GONE	= 0xff,		/* read from a removed device */

	MASK_ER		= BIT(3),	/* early receive */
	MASK_FCP	= BIT(2),	/* pause frame */
	MASK_SI		= BIT(1),	/* raises CAUSE_SWI; reads as 0 */
	MASK_ALL	= BIT(0),	/* M: no interrupts */

	/* Receive errors and overflows are masked together with receive. */
	CAUSES_RX	= CAUSE_FR | CAUSE_RNR,
	CAUSES_TX	= CAUSE_CX,
	CAUSES_MASKABLE	= CAUSES_RX | CAUSES_TX | CAUSE_CNA,
	MASK_INITIAL	= CAUSES_MASKABLE | MASK_ER | MASK_FCP,
};

/* SCB_COMMAND (6.3.2.2) */
enum {
	CU_NOP		= 0x00,
	CU_START	= 0x10,
	CU_RESUME	= 0x20,
	CU_LOAD_DUMP	= 0x40,	/* address of struct i8255x_counters */
	CU_LOAD_BASE	= 0x60,
	CU_DUMP_RESET	= 0x70,	/* dump counters to memory and reset them */
	RU_START	= 0x01,
	RU_LOAD_BASE	= 0x06,
};

/* PORT (6.3.3) */
enum {
	PORT_RESET		= 0,
	PORT_SELF_TEST		= 1,	/* with the address of its results */
	PORT_SELECTIVE_RESET	= 2,
};

/* EEPROM (6.3.4): clock, chip select, data in and out */
enum {
	EE_SK	= BIT(0),
	EE_CS	= BIT(1),
	EE_DI	= BIT(2),
	EE_DO	= BIT(3),
};

/* Words of the EEPROM (5); the last one makes their sum EEPROM_SUM. */
enum {
	EEPROM_MAC	= 0,
	EEPROM_COMPAT	= 3,
	EEPROM_ID	= 10,

	EEPROM_COMPAT_MDIX	= BIT(7),
	EEPROM_ID_WAKE		= BIT(5),	/* wakes by magic packet */
	EEPROM_SUM		= 0xbaba,
};

/* MDI (6.3.5) */
enum {
	MDI_WRITE	= 1 << 26,
	MDI_READ	= 2 << 26,
	MDI_READY	= BIT(28),
	MDI_PHY_SHIFT	= 21,
	MDI_REG_SHIFT	= 16,
};

/* PHYs that differ: National's DP83840, and the 82552 of some chipsets, which does
 * not always negotiate 100 Mbit/s and has other registers (e100 knows it).
 */
#define PHY_NSC		0x20005c00
#define PHY_NSC_MASK	0xfffffff0
#define PHY_82552	0x004dd061

/* Command blocks (6.4.2) */
enum {
	CB_C		= BIT(15),	/* status: complete */
	CB_OK		= BIT(13),
	CB_EL		= BIT(15),	/* command: end of list */
	CB_S		= BIT(14),	/* suspend after this one */
	CB_I		= BIT(13),	/* raise CX when done */
	CB_FLEXIBLE	= BIT(3),
	CB_IA_SETUP	= 1,
	CB_CONFIGURE	= 2,
	CB_MULTICAST	= 3,
	CB_TRANSMIT	= 4,
	CB_MICROCODE	= 5,
	CB_DUMP		= 6,
};

#define CONFIG_BYTES		22

/* Bits of the bytes of a configure command (6.4.2.3) */
enum {
	CONFIG6_TCO		= BIT(2),	/* counters of TCO frames, too */
	CONFIG6_STANDARD	= BIT(5),	/* counters */
	CONFIG6_KEEP_OVERRUNS	= BIT(6),
	CONFIG6_KEEP_BAD	= BIT(7),	/* frames with errors */
	CONFIG7_DROP_SHORT	= BIT(0),
	CONFIG10_LOOP_MAC	= 1 << 6,
	CONFIG10_LOOP_PHY	= 3 << 6,
	CONFIG15_PROMISC	= BIT(0),
	CONFIG18_KEEP_FCS	= BIT(2),
	CONFIG19_NO_MAGIC	= BIT(1),	/* no wake-up by magic packet */
	CONFIG19_NO_FLOW	= BIT(2),
	CONFIG19_FLOW_STOPS	= BIT(3),	/* sends pause frames */
	CONFIG19_FLOW_RESTARTS	= BIT(4),	/* ... and ends the pause */
	CONFIG19_FLOW_FILTER	= BIT(5),	/* keeps pause frames from memory */
	CONFIG19_FULL_DUPLEX	= BIT(6),	/* forced */
	CONFIG21_ALLMULTI	= BIT(3),
};

#define DUMP_BYTES		596		/* of CB_DUMP */
#define MICROCODE_WORDS		134
#define CB_MULTICAST_MAX	9	/* limited by the size of a slot */
#define TX_THRESHOLD		0xe0	/* in units of 8 bytes: the whole frame */

/* A slot of the command list: a transmit command with one buffer, or another
 * command (6.4.2.2 to 6.4.2.5).
 */
struct i8255x_cb {
	__le16 status;
	__le16 command;
	__le32 link;
	union {
		struct {
			__le32 tbd_array;
			__le16 byte_count;
			u8 threshold;
			u8 tbd_count;
			__le32 buf_addr;
			__le16 buf_size;
			__le16 buf_el;
		} tx;
		u8 address[6];
		u8 config[CONFIG_BYTES];
		__le32 dump;		/* address */
		struct {
			__le16 bytes;
			u8 list[CB_MULTICAST_MAX * 6];
		} multicast;
	};
} __packed __aligned(4);

#define CB_BYTES	64	/* size of a slot: a cache line */

/* Receive frame descriptor in simplified mode, followed by the frame (6.4.3) */
struct i8255x_rfd {
	__le16 status;
	__le16 command;
	__le32 link;
	__le32 reserved;
	__le16 count;
	__le16 size;
	u8 data[];
} __packed __aligned(4);

enum {
	RFD_C		= BIT(15),	/* status: complete */
	RFD_OK		= BIT(13),
	RFD_EL		= BIT(15),	/* command: stop after this one */
	RFD_COUNT_MASK	= 0x3fff,
};

/* Statistical counters, written by CU_DUMP_RESET (6.3.2.2.1): 16 words in standard
 * format, 19 with those of pause frames, 20 with those of TCO frames, 16 bits each.
 */
enum i8255x_counter {
	COUNT_TX_GOOD,
	COUNT_TX_MAX_COLLISIONS,	/* dropped after 16 collisions */
	COUNT_TX_LATE_COLLISIONS,	/* dropped */
	COUNT_TX_UNDERRUNS,
	COUNT_TX_LOST_CARRIER,
	COUNT_TX_DEFERRED,
	COUNT_TX_SINGLE_COLLISIONS,
	COUNT_TX_MULTIPLE_COLLISIONS,
	COUNT_TX_TOTAL_COLLISIONS,
	COUNT_RX_GOOD,
	COUNT_RX_CRC,
	COUNT_RX_ALIGNMENT,
	COUNT_RX_RESOURCE,		/* dropped: no descriptor */
	COUNT_RX_OVERRUN,		/* dropped: bus too slow */
	COUNT_RX_CDT,			/* collision detected during reception */
	COUNT_RX_SHORT,
	COUNT_TX_PAUSE,
	COUNT_RX_PAUSE,
	COUNT_RX_CONTROL,		/* other frames of flow control */
	COUNT_TX_TCO,
	COUNT_RX_TCO,
	COUNTERS,

	WORDS_STANDARD	= COUNT_RX_SHORT + 1,
	WORDS_PAUSE	= COUNT_RX_CONTROL + 1,
	WORDS_TCO	= WORDS_PAUSE + 1,
};

struct i8255x_counters {
	__le32 count[WORDS_TCO + 1];	/* behind the last one: the mark */
};

#define COUNTERS_DONE	0xa007

#define RX_DATA_BYTES	1536		/* a VLAN frame with FCS, and spare */
#define RFD_BYTES	2048

#define LOOP_BYTES	ETH_FRAME_LEN	/* of the frame of a self-test */

/* Memory for what is not on a ring. The chip writes results there, and takes
 * commands from @block while the interface is down.
 */
struct i8255x_shared {
	struct i8255x_counters counters __aligned(16);
	struct {
		__le32 signature;	/* not 0: done */
		__le32 failed;		/* bits: what has failed */
	} self_test __aligned(16);
	u8 dump[DUMP_BYTES] __aligned(16);
	union {
		struct i8255x_cb cb;
		struct {
			__le16 status;
			__le16 command;
			__le32 link;
			__le32 words[MICROCODE_WORDS];
		} microcode;
		struct {
			__le16 status;
			__le16 command;
			__le32 link;
			__le32 buffer;
		} dump;
	} block __aligned(CB_BYTES);
	u8 loop_frame[LOOP_BYTES] __aligned(16);
	struct {
		struct i8255x_rfd head;
		u8 data[RX_DATA_BYTES];
	} loop_rfd __aligned(16);
};

#endif /* I8255X_REGS_H */
