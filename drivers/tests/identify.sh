#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool blinks an LED of the PHY, and gives it back.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

# The registers of the PHY are dumped from 28 on downwards; this is register 27.
leds() { register "$IF0" 8 2; }
check "the PHY drives its LEDs" same "$(leds)" 0000
ethtool -p "$IF0" 3 &
states=
for _ in 1 2 3 4 5 6 7 8; do
	usleep 250000
	states="$states $(leds)"
done
# QEMU's PHY does not keep the register.
[ "$TIMED" = 0 ] || check "they blink:$states" sh -c "echo '$states' | grep -q '0[57]00' && echo '$states' | grep -q 0400"
wait
check "the PHY drives them again" same "$(leds)" 0000
check "a host answers" reaches "$PEER0"
done_testing
