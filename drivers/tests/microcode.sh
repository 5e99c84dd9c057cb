#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# may log: firmware: failed to load|wiki.debian.org/Firmware
# Microcode is loaded from a file if there is one and it is asked for; a broken file is refused, and the chip works without.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

if [ ! -e /sys/module/firmware_class ]; then
	skip "microcode" "this kernel loads no firmware"
	done_testing
	exit
fi
parameter=/sys/module/irqmod_i8255x/parameters/cpusaver
version() { ethtool -i "$IF0" | sed -n 's/^firmware-version: *//p'; }
anew()
{
	ip link set "$IF0" down
	ip link set "$IF0" up
	reaches "$PEER0"
}
file=/lib/firmware/e100/d101m_ucode.bin
mkdir -p ${file%/*}

check "a host answers without" anew
check "no microcode" same "$(version)" ""
echo 1 >$parameter
check "asked for, without a file: a host answers" anew
check "no microcode without a file" same "$(version)" ""
dd if=/dev/zero of=$file bs=538 count=1 2>/dev/null
check "a file that is too short: a host answers" anew
check "... it is not used" same "$(version)" ""
dd if=/dev/zero of=$file bs=539 count=1 2>/dev/null
check "a whole file: a host answers" anew
# The file is for the 82559 before its last stepping.
case $TIMED$(revision "$IF0") in
10x08) check "... it is loaded" same "$(version)" CPUSaver ;;
*) check "... it is not loaded: another chip" same "$(version)" "" ;;
esac
echo 0 >$parameter
check "not asked for: a host answers" anew
check "... it is not loaded" same "$(version)" ""
done_testing
