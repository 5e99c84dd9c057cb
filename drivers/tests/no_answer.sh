#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The chip does not answer for a while, as after an error of the bus. What reads as ones is not taken for a setting: full duplex is
# not forced afterwards.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

if [ "$TIMED" = 0 ]; then
	skip "no answer" "QEMU's PHYs have one speed"
	done_testing
	exit
fi
config=/sys/class/net/$IF0/device/config
# answers COMMAND: the low byte of the PCI command register; bit 1 is the registers' memory.
answers() { printf %b "\\00$1" | dd of="$config" bs=1 seek=4 conv=notrunc 2>/dev/null; }
# Bit 6 of byte 19 of the configuration: full duplex by force.
duplex() { echo $((0x$(register "$IF0" $((120 + 19)) 1) >> 6 & 1)); }

check "10 Mbit/s, half duplex" ethtool -s "$IF0" speed 10 duplex half autoneg off
check "... a host answers" reaches "$PEER0"
check "... full duplex is not forced" same "$(duplex)" 0
answers 4
usleep 5000000 # the driver looks at the link every two seconds
answers 7
check "the receive mode changes, when the chip answers again" ip link set "$IF0" allmulticast on
check "... full duplex is not forced" same "$(duplex)" 0
ip link set "$IF0" allmulticast off
check "... a host answers" reaches "$PEER0"
check "negotiated" ethtool -s "$IF0" autoneg on
check "... a host answers" reaches "$PEER0"
done_testing
