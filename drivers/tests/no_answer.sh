#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# may log: ^irqmod_i8255x \S+ \S+: the chip does not restart: .*$
# The chip does not answer for a while, as after an error of the bus. A command that fails then leaves an interface that comes up
# again, with the settings as before. What is read meanwhile is not taken for a setting: full duplex is not forced
# afterwards.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x
# Registers that do not answer read as zeros in QEMU, not as ones as on other machines. With the C+, and with QEMU's 8255x, a
# restart then seems to succeed.
if [ "$TIMED" = 0 ]; then
	skip "no answer" "QEMU's 8255x seems to restart, and its PHYs have one speed"
	done_testing
	exit
fi

config=/sys/class/net/$IF0/device/config
# answers COMMAND: the low byte of the PCI command register; bit 1 is the registers' memory, bit 2 the bus master.
answers() { printf %b "\\00$1" | dd of="$config" bs=1 seek=4 conv=notrunc 2>/dev/null; }
is_down() { ! ip link show dev "$IF0" | grep -q '[<,]UP[,>]'; }
# comes_up_again WHAT: after WHAT has failed, and the chip answers.
comes_up_again()
{
	usleep 500000 # the driver tries once more
	answers 7
	check "$1: the interface is down" is_down
	check "... comes up again" ip link set "$IF0" up
	check "... a host answers" reaches "$PEER0"
}

packets=$(ring "$IF0" TX) frames=$(coalesce "$IF0" tx-frames)
answers 4
fails "the ring's size changes" ethtool -G "$IF0" tx 16
comes_up_again "the ring's size changed"
check "... the ring is what it was" same "$(ring "$IF0" TX)" "$packets"
check "... tx-frames, too" same "$(coalesce "$IF0" tx-frames)" "$frames"

answers 4
fails "the chip tests itself" ethtool -t "$IF0" offline
comes_up_again "the chip tested itself"

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
