#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# loads: irqmod_loop
# may log: ^pktgen: interface: \S+ is already stopped
# A reclaim looks for room and then wakes the queue, without its lock. In between, another processor may use the room, for packets
# or, on the 8255x, for commands. A packet that finds none has to wait. Packets are long, so that the ring is full.
. "${0%/*}/tap.sh"

WAKE=/sys/module/irqmod_loop/parameters/wake

dropped() { cat "/sys/class/net/$IF0/statistics/tx_dropped"; }
# The timer wakes the queue also while it is stopped for a change.
wakes()
{
	echo "$IF0" >$WAKE
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		ip link set "$IF0" promisc on
		usleep 2000
		ip link set "$IF0" promisc off
		usleep 2000
	done
	echo >$WAKE
}

ip link set "$IF0" up
reaches "$PEER0"
before=$(dropped)
[ "$DRIVER" = irqmod_lan78xx ] || check "an interrupt for 8 packets" ethtool -C "$IF0" tx-frames 8
if [ "$DRIVER" = irqmod_i8255x ]; then
	rx=$(ring "$IF0" RX) tx=$(ring "$IF0" TX)
	check "rings of 16" ethtool -G "$IF0" rx 16 tx 16
fi
pg kpktgend_0 "add_device $IF0"
for word in "count 0" "pkt_size 1500" "delay 0" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for scheme in $TX_SCHEMES; do
	schemes "$IF0" napi "$scheme"
	pg_on
	check "$scheme: the queue is woken all the time" wakes
	pg_off
	check "... a host answers" reaches "$PEER0"
	check "... and no packet was dropped" same $(($(dropped) - before)) 0
done
pg kpktgend_0 rem_device_all
[ "$DRIVER" != irqmod_i8255x ] || ethtool -G "$IF0" rx "$rx" tx "$tx"
done_testing
