#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The chip's own counters follow the traffic, and agree with the driver's. The 8255x's are added up over resets of the chip, so
# nothing is lost; the C+'s begin at 0 with each start of the chip.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

FRAMES=20

hw() { counter "$IF0" "hw_$1"; }
hw_count() { ethtool -S "$IF0" | grep -c ' hw_'; }
statistic() { cat "/sys/class/net/$IF0/statistics/$1"; }

test_i8255x()
{
	# The 82558 counts pause frames, too, and the 82559 and later TCO frames; QEMU's models do not.
	case $TIMED$(revision "$IF0") in
	0*) counters=16 ;;
	10x0[4-7]) counters=19 ;;
	*) counters=21 ;;
	esac
	check "all counters" same "$(hw_count)" $counters
	check "frames received" same "$(hw rx_good)" "$(statistic rx_packets)"
	check "frames sent" same "$(hw tx_good)" "$(statistic tx_packets)"
	before=$(hw rx_good)
	ip link set "$IF0" down
	check "kept when the interface goes down" same "$(hw rx_good)" "$before"
	ip link set "$IF0" up
	check "a host answers again" reaches "$PEER0"
	ethtool -G "$IF0" rx 64
	check "... with other rings" reaches "$PEER0"
	check "nothing is lost, received" same "$(hw rx_good)" "$(statistic rx_packets)"
	check "nothing is lost, sent" same "$(hw tx_good)" "$(statistic tx_packets)"
	check "dropped frames" same "$(($(hw rx_resource_errors) + $(hw rx_overrun_errors)))" "$(statistic rx_missed_errors)"
}

# Before the chip starts.
mark() { received=$(statistic rx_packets) sent=$(statistic tx_packets) missed=$(statistic rx_missed_errors); }

# follow WHAT: the counters since the mark.
follow()
{
	check "$1: a host answers" reaches "$PEER0"
	ping -q -c $FRAMES -i 0.01 "$PEER0" >/dev/null
	check "$1: $FRAMES frames more, received" [ "$(hw rx_ok)" -ge $FRAMES ]
	check "... and sent" [ "$(hw tx_ok)" -ge $FRAMES ]
	check "... as the driver counts them, received" same "$(hw rx_ok)" "$(($(statistic rx_packets) - received))"
	check "... and sent" same "$(hw tx_ok)" "$(($(statistic tx_packets) - sent))"
	check "... by their addresses" same "$(($(hw rx_ok_phy) + $(hw rx_ok_brd) + $(hw rx_ok_mul)))" "$(hw rx_ok)"
	check "... dropped" same "$(hw miss_pkt)" "$(($(statistic rx_missed_errors) - missed))"
}

test_rtl8139cp()
{
	check "all counters" same "$(hw_count)" 13
	check "some frames" [ "$(hw rx_ok)" -gt 0 ]
	ip link set "$IF0" down
	check "down: none is shown" same "$(hw rx_ok)$(hw tx_ok)" 00
	mark
	ip link set "$IF0" up
	follow "up"
	mark
	ethtool -G "$IF0" rx 16
	follow "other rings"
}

check "a host answers" reaches "$PEER0"
"test_${DRIVER#irqmod_}"
done_testing
