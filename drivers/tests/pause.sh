#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Flow control is switched, kept when the interface goes down, and part of the chip's configuration.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

# Byte 19 of the configuration, bits 5 to 2: pause frames are kept from memory, end a pause, are sent, are ignored.
bits() { echo $((0x$(register "$IF0" $((120 + 19)) 1) >> 2 & 15)); }
shown() { ethtool -a "$IF0" | sed -n "s/^$1:[[:space:]]*//p"; }
configured()
{
	# QEMU's model does not dump.
	[ "$TIMED" = 0 ] || check "... $1 in the chip" same "$(bits)" "$2"
}

if ! ethtool -A "$IF0" autoneg on 2>$SAID && grep -qi "not supported" $SAID; then
	skip "flow control" "this chip cannot"
	done_testing
	exit
fi
check "off at first: the peer does not advertise it" same "$(shown RX)" off
configured off 1
fails "one direction" ethtool -A "$IF0" autoneg off rx on tx off
check "on" ethtool -A "$IF0" autoneg off rx on tx on
check "... shown" same "$(shown Autonegotiate) $(shown RX) $(shown TX)" "off on on"
configured on 14
check "... a host answers" reaches "$PEER0"
ip link set "$IF0" down
ip link set "$IF0" up
check "kept: a host answers" reaches "$PEER0"
configured on 14
check "off" ethtool -A "$IF0" autoneg off rx off tx off
configured off 1
check "negotiated" ethtool -A "$IF0" autoneg on rx on tx on
check "... a host answers" reaches "$PEER0"
configured "off, since the peer does not advertise it," 1
check "... advertised" same "$(shown Autonegotiate) $(shown RX) $(shown TX)" "on on on"
check "as before" ethtool -A "$IF0" autoneg on rx off tx off
check "... a host answers" reaches "$PEER0"
done_testing
