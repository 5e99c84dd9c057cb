#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool's self-test passes, online and offline, up and down; afterwards the interface is as it was.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574

RESULTS=/tmp/selftest
case $DRIVER in
irqmod_i8255x) names="EEPROM Registers Chip's" alone="Chip's" loop="Loopback in the chip" ;;
*) names="NVM Registers Causes" alone=Causes loop="Loopback in the PHY" ;;
esac
tests() { ethtool -t "$IF0" "$1" >$RESULTS 2>&1; }
result() { sed -n "s/^$1.*[[:space:]]\([0-9][0-9]*\)\$/\1/p" $RESULTS; }

check "online" tests online
check "... the link is up" same "$(result Link)" 0
# QEMU's model has no loopback.
if [ "$TIMED" = 1 ]; then check "offline" tests offline; else tests offline; fi
for name in $names; do check "offline: $name" same "$(result "$name")" 0; done
check "a host answers afterwards" reaches "$PEER0"
ip link set "$IF0" down
sleep 1
tests offline
check "down: $alone" same "$(result "$alone")" 0
if [ "$TIMED" = 1 ]; then check "down: loopback" same "$(result "$loop")" 0; fi
ip link set "$IF0" up
check "a host answers after that" reaches "$PEER0"
done_testing
