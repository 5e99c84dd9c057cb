#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The PCI function is reset, up and down: the interface works afterwards, with its settings. The PCI core announces a reset to the
# driver by callbacks of error recovery.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp
only_with_reset
rings=$(ring "$IF0" RX)
mask() { register "$IF0" 3 1; } # of interrupt causes
for state in up down; do
	ip link set "$IF0" $state
	[ "$DRIVER/$state" != irqmod_i8255x/down ] || masked=$(mask)
	check "$state: reset" sh -c "echo 1 >$RESET"
	# A reset unmasks them, and an interface that is down has no handler.
	[ -z "$masked" ] || check "$state: causes are masked after that" same "$(mask)" "$masked"
	ip link set "$IF0" up
	check "$state: a host answers" reaches "$PEER0"
	check "$state: the rings are as before" same "$(ring "$IF0" RX)" "$rings"
done
speed() { ethtool "$IF0" | sed -n 's/^[[:space:]]*Speed: //p'; }
check "10 Mbit/s" ethtool -s "$IF0" speed 10 duplex full autoneg off
check "... a host answers" reaches "$PEER0"
check "... reset" sh -c "echo 1 >$RESET"
check "... a host answers after that" reaches "$PEER0"
check "... still 10 Mbit/s" same "$(speed)" 10Mb/s
check "negotiated" ethtool -s "$IF0" autoneg on
check "... a host answers" reaches "$PEER0"
ping -q -c 1000 -i 0.002 "$PEER0" >/dev/null 2>&1 &
for i in 1 2 3 4 5; do check "reset under traffic, $i" sh -c "echo 1 >$RESET"; done
wait
check "a host answers after that" reaches "$PEER0"
done_testing
