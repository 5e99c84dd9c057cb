// SPDX-License-Identifier: GPL-2.0-only
/*
 * Microcode (6.4.2.6), from the files that the kernel's e100 uses: 134 words and
 * the places of three constants in them. It bundles receive interrupts (CPUSaver),
 * and repairs the receiver of the 82551-F and 82551-10; e100 does not run these
 * two without it, nor do we.
 */
#include <linux/firmware.h>
#include <linux/module.h>

#include "i8255x.h"

#define FIRMWARE_82559		"e100/d101m_ucode.bin"
#define FIRMWARE_82559_S	"e100/d101s_ucode.bin"
#define FIRMWARE_82551		"e100/d102e_ucode.bin"
MODULE_FIRMWARE(FIRMWARE_82559);
MODULE_FIRMWARE(FIRMWARE_82559_S);
MODULE_FIRMWARE(FIRMWARE_82551);

static bool cpusaver;
module_param(cpusaver, bool, 0644);
MODULE_PARM_DESC(cpusaver, "Bundle receive interrupts with microcode, 82559 and 82551; when the interface comes up (default N)");

/* The places follow the words, in this order. */
enum {
	PLACE_DELAY,		/* after a frame: the interrupt comes at the latest */
	PLACE_BUNDLE,		/* frames per interrupt at most */
	PLACE_SMALL,		/* mask: sizes that are bundled */
	PLACES,
};

#define FIRMWARE_BYTES	(4 * MICROCODE_WORDS + PLACES)

/* The values of e100, and those with which every frame interrupts. */
static const u16 i8255x_saving[PLACES] = { 1536, 6, 0xffff };
static const u16 i8255x_neutral[PLACES] = { 1, 1, 0xff80 };

static const char *i8255x_firmware_name(const struct i8255x *np)
{
	if (np->ich)
		return NULL;
	switch (np->chip) {
	case I82559:
		return cpusaver ? FIRMWARE_82559 : NULL;
	case I82559_S:
		return cpusaver ? FIRMWARE_82559_S : NULL;
	case I82551_F:
	case I82551_10:
		return cpusaver || !i8255x_is_qemu(np) ? FIRMWARE_82551 : NULL;
	}
	return NULL;
}

static bool i8255x_firmware_valid(const struct firmware *firmware)
{
	const u8 *places = firmware->data + 4 * MICROCODE_WORDS;

	return firmware->size == FIRMWARE_BYTES &&
	       places[PLACE_DELAY] < MICROCODE_WORDS &&
	       places[PLACE_BUNDLE] < MICROCODE_WORDS &&
	       places[PLACE_SMALL] < MICROCODE_WORDS;
}

/* In ndo_open: while the machine resumes, there may be no files. RTNL. */
int i8255x_microcode_request(struct i8255x *np)
{
	const char *name = i8255x_firmware_name(np);
	bool optional = np->chip < I82551_F || i8255x_is_qemu(np);
	int err;

	i8255x_microcode_release(np);
	np->cpusaver = cpusaver;
	if (!name)
		return 0;
	err = firmware_request_nowarn(&np->microcode, name, &np->pdev->dev);
	if (!err && !i8255x_firmware_valid(np->microcode)) {
		i8255x_microcode_release(np);
		err = -EINVAL;
	}
	if (!err)
		return 0;
	np->microcode = NULL;
	if (optional) {
		netif_info(&np->port, ifup, np->netdev, "no CPUSaver: %s: %pe\n", name,
			   ERR_PTR(err));
		return 0;
	}
	netif_err(&np->port, ifup, np->netdev, "%s: %pe\n", name, ERR_PTR(err));
	return err;
}

/* After each reset, before the first command of the list. RTNL. */
int i8255x_microcode_load(struct i8255x *np)
{
	__le32 *words = np->shared->block.microcode.words;
	const u16 *values = np->cpusaver ? i8255x_saving
					    : i8255x_neutral;
	const u8 *places;
	int i, err;

	if (!np->microcode)
		return 0;
	memcpy(words, np->microcode->data, 4 * MICROCODE_WORDS);
	places = np->microcode->data + 4 * MICROCODE_WORDS;
	for (i = 0; i < PLACES; i++) {
		__le32 *word = &words[places[i]];

		*word = (*word & cpu_to_le32(0xffff0000)) |
			cpu_to_le32(values[i]);
	}
	err = i8255x_execute(np, CB_MICROCODE);
	if (err)
		netif_err(&np->port, ifup, np->netdev, "microcode: %pe\n", ERR_PTR(err));
	return err;
}

void i8255x_microcode_release(struct i8255x *np)
{
	release_firmware(np->microcode);
	np->microcode = NULL;
}
