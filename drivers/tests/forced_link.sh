#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Speed and duplex are forced, and negotiated again; frames pass at each. They are kept when the machine suspends, though
# the PHY may lose its power.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

speed() { ethtool "$IF0" | sed -n 's/^[[:space:]]*Speed: //p'; }
# up SPEED: the link is up, soon.
up()
{
	tries=$((PATIENCE * 4))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		read -r carrier <"/sys/class/net/$IF0/carrier"
		[ "$carrier/$(speed)" = "1/$1" ] && return
		usleep 500000
	done
	echo "carrier $carrier, $(speed)"
	return 1
}
# Bit 6 of byte 19 of the configuration of the 8255x: full duplex by force.
duplex() { echo $((0x$(register "$IF0" $((120 + 19)) 1) >> 6 & 1)); }
forced()
{
	[ "$DRIVER/$TIMED" != irqmod_i8255x/1 ] || check "$1" same "$(duplex)" "$2"
}
# Register 28 of the PHY of the 82550 and later, bit 7: it finds out which pair of wires receives. It comes first after the SCB.
crosses()
{
	[ "$DRIVER" = irqmod_i8255x ] && [ $(($(revision "$IF0"))) -ge $((0x0c)) ] || return 0
	check "... MDI-X: $1" same "$(register "$IF0" 4 2)" "$2"
}

if [ "$TIMED" = 0 ]; then
	skip "forced speed" "QEMU's PHYs have one speed"
	done_testing
	exit
fi
check "100 Mbit/s" up 100Mb/s
forced "duplex is the PHY's" 0
crosses "by itself" 8000
check "10 Mbit/s, full duplex" ethtool -s "$IF0" speed 10 duplex full autoneg off
check "... the link comes up" up 10Mb/s
forced "... duplex is forced" 1
crosses "as it is" 0000
check "... a host answers" reaches "$PEER0"
check "... many frames pass" ping -q -c 100 -i 0.01 -s 1400 "$PEER0"
ip link set "$IF0" down
ip link set "$IF0" up
check "... kept" up 10Mb/s
check "... a host answers again" reaches "$PEER0"
# In D3 an 82559 switches its PHY off, unless it may wake the machine; so does irqlab-8139cp+phy-off.
echo platform >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
for wol in d g; do
	check "wake-up $wol" ethtool -s "$IF0" wol $wol
	check "... suspend and resume" sh -c 'echo mem >/sys/power/state'
	check "... the speed is kept" up 10Mb/s
	crosses "as it is" 0000
	check "... a host answers" reaches "$PEER0"
done
ethtool -s "$IF0" wol d
check "100 Mbit/s, full duplex" ethtool -s "$IF0" speed 100 duplex full autoneg off
check "... the link comes up" up 100Mb/s
check "... a host answers" reaches "$PEER0"
check "negotiated" ethtool -s "$IF0" autoneg on
check "... the link comes up" up 100Mb/s
forced "... duplex is the PHY's again" 0
crosses "by itself" 8000
check "... a host answers" reaches "$PEER0"
done_testing
