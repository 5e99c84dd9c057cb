#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool blinks an LED of the PHY, and gives it back.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

# The registers of the PHY are dumped from 28 on downwards; this is register 27.
leds() { register "$IF0" 8 2; }
# Both states have been seen.
blinks() { echo "$1" | grep -q '0[57]00' && echo "$1" | grep -q 0400; }
check "the PHY drives its LEDs" same "$(leds)" 0000
ethtool -p "$IF0" &
states=
# QEMU's PHY does not keep the register.
tries=$((TIMED ? PATIENCE * 4 : 4))
until [ $tries = 0 ] || blinks "$states"; do
	tries=$((tries - 1))
	usleep 250000
	states="$states $(leds)"
done
[ "$TIMED" = 0 ] || check "they blink:$states" blinks "$states"
kill $!
wait
check "the PHY drives them again" same "$(leds)" 0000
check "a host answers" reaches "$PEER0"
done_testing
