#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Changes of the receive mode fill a short transmit ring, where they are commands on it (8255x), and a burst follows at once:
# nothing overruns, with every transmit scheme.
. "${0%/*}/tap.sh"

PACKETS=400
TOGGLES=8

sent() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }

toggle()
{
	for _ in $(seq $TOGGLES); do
		ip link set "$IF0" promisc on
		ip link set "$IF0" promisc off
	done
}

ip link set "$IF0" up
reaches "$PEER0"
[ "$DRIVER" = irqmod_lan78xx ] || {
	ethtool -C "$IF0" tx-frames 8
	check "rings of 16" ethtool -G "$IF0" rx 16 tx 16
}
pg kpktgend_0 "add_device $IF0"
for word in "count $PACKETS" "pkt_size 60" "delay 0" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for tx in $TX_SCHEMES; do
	schemes "$IF0" napi "$tx"
	usleep 300000
	before=$(sent)
	check "$tx: the mode changes $TOGGLES times" toggle
	pg pgctrl start
	usleep 200000
	more=$(($(sent) - before))
	check "$tx: all packets have left ($more of $PACKETS)" [ $more -ge $PACKETS ]
	check "... a host answers" reaches "$PEER0"
done
pg kpktgend_0 rem_device_all
done_testing
