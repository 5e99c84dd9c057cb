#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Packets of one and of four segments on the shortest ring, with every transmit scheme: the queue is started again only when the
# ring has room for the longest packet. Otherwise the driver returns a packet to the stack, as the kernel's trace shows.
. "${0%/*}/tap.sh"
only_for irqmod_rtl8139cp

TRACE=/sys/kernel/tracing
EVENT=$TRACE/events/net/net_dev_xmit # logs what the driver answers; 16: NETDEV_TX_BUSY
RING=8
PACKETS=200 # of each sender; the qdisc holds all of them

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
	for word in "count $PACKETS" "pkt_size $bytes" "frags $frags" "delay 1000" "dst $PEER0" "dst_mac $MAC0" \
		"xmit_mode queue_xmit"; do
		pg "$IF0@$sender" "$word"
	done
done
sent() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }
arrived() { [ $(($(sent) - before)) -ge $((4 * PACKETS)) ]; }
returned() { grep -c "rc=" $TRACE/trace; }

mount -t tracefs none $TRACE 2>/dev/null
check "the trace of what is returned" sh -c "echo 'rc == 16' >$EVENT/filter && echo 1 >$EVENT/enable"

for tx in $TX_SCHEMES; do
	check "$tx" schemes "$IF0" napi "$tx"
	before=$(sent)
	pg pgctrl start
	sleep 1
	check "... all were sent" arrived
	check "... none was returned" same "$(returned)" 0
done
pg kpktgend_0 rem_device_all
echo 0 >$EVENT/enable
echo 0 >$EVENT/filter
done_testing
