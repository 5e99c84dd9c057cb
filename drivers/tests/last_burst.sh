#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# A burst after which nothing is sent or received: with every transmit scheme all of it leaves, and is reclaimed, soon. The
# packets come while the wire is still busy with the ones before, which some chips cannot take (irqlab-8139cp+lost-poll): then
# pktgen waits for the last one for ever.
. "${0%/*}/tap.sh"

COUNTS="2 3 40" # packets of a burst
BYTES=1514     # 123 us on a wire of 100 Mbit/s
DELAY_NS=60000 # from one to the next
SOON_US=20000  # after the last one

sent() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }

ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
own=$(ip -4 addr show dev "$IF0" | sed -n 's/^ *inet \([^ ]*\).*/\1/p')
ip addr flush dev "$IF0" # nothing else is sent
[ "$DRIVER" = irqmod_lan78xx ] || ethtool -C "$IF0" tx-frames 16
pg kpktgend_0 "add_device $IF0"
for word in "pkt_size $BYTES" "delay $DELAY_NS" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for tx in $TX_SCHEMES; do
	schemes "$IF0" napi "$tx"
	for packets in $COUNTS; do
		pg "$IF0" "count $packets"
		usleep 100000
		before=$(sent)
		pg pgctrl start
		usleep $((packets * 125 + SOON_US))
		check "$tx: all of $packets packets have left" same "$(($(sent) - before))" "$packets"
	done
done
pg kpktgend_0 rem_device_all
ip addr add "$own" dev "$IF0"
done_testing
