#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Packets wait in the qdisc while the interface restarts. As soon as the queue is started they fill the ring, and it must not be
# started once more before there is room. Otherwise the driver says that the queue should have been stopped, and this message fails
# the test.
. "${0%/*}/tap.sh"
only_for irqmod_rtl8139cp

PACKETS=300

if [ "$TIMED" != 1 ]; then
	skip "backlog" "this NIC transmits in no time: its ring is never full"
	done_testing
	exit
fi
ip link set "$IF0" up
reaches "$PEER0"
check "no TSO, which needs longer rings" ethtool -K "$IF0" tso off
check "a ring of 8" ethtool -G "$IF0" tx 8
pg kpktgend_0 "add_device $IF0"
for word in "count $PACKETS" "pkt_size 1400" "frags 3" "xmit_mode queue_xmit" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
sent() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }
# restarts N: N times while packets wait, and are still being sent. Those that are on the ring then are lost.
restarts()
{
	left=$1
	while [ "$left" -gt 0 ]; do
		left=$((left - 1))
		pg pgctrl start &
		usleep 2000
		echo 1 >"/sys/class/net/$IF0/device/reset" || return
		wait
		usleep 50000 # the wire needs 34 ms
	done
}

for rx in $RX_SCHEMES; do
	check "$rx" schemes "$IF0" "$rx" interrupt
	before=$(sent)
	check "... restarts" restarts 3
	check "... most packets were sent" [ $(($(sent) - before)) -ge $((2 * PACKETS)) ]
	check "... a host answers" reaches "$PEER0"
done
pg kpktgend_0 rem_device_all
done_testing
