#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Packets of one and of four segments on the shortest ring, with every transmit scheme: the queue is started again only when the
# ring has room for the longest packet. Otherwise the driver says that the queue should have been stopped, and this message fails
# the test.
. "${0%/*}/tap.sh"
only_for irqmod_rtl8139cp

RING=8
PACKETS=500 # of each sender

if [ "$TIMED" != 1 ]; then
	skip "short ring" "this NIC transmits in no time: its ring is never full"
	done_testing
	exit
fi
ip link set "$IF0" up
reaches "$PEER0"
ethtool -C "$IF0" tx-frames 4
check "no TSO, which needs longer rings" ethtool -K "$IF0" tso off
check "a ring of $RING" ethtool -G "$IF0" tx $RING
# With a delay the devices of a pktgen thread take turns. Two of each kind: when the ring is full after a packet of four segments,
# the next one has four, too.
for sender in 1 2 3 4; do
	[ $sender -le 2 ] && bytes=60 frags=0 || bytes=400 frags=3
	pg kpktgend_0 "add_device $IF0@$sender"
	for word in "count $PACKETS" "pkt_size $bytes" "frags $frags" "delay 1000" "dst $PEER0" "dst_mac $MAC0"; do
		pg "$IF0@$sender" "$word"
	done
done
sent() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }

for tx in $TX_SCHEMES; do
	check "$tx" schemes "$IF0" napi "$tx"
	before=$(sent)
	pg pgctrl start
	check "... all were sent" [ $(($(sent) - before)) -ge $((4 * PACKETS)) ]
done
pg kpktgend_0 rem_device_all
done_testing
