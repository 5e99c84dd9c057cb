#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Changes of the receive mode fill a short transmit ring, where they are commands on it (8255x), and a burst follows at once:
# nothing overruns, with every transmit scheme. While nothing is sent, too, the last change takes effect.
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
	check "rings of $SMALL_RING" ethtool -G "$IF0" rx $SMALL_RING tx $SMALL_RING
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

# Bit 0 of byte 15 of the configuration of the 8255x, as the chip has it.
promiscuous() { echo $((0x$(register "$IF0" $((120 + 15)) 1) & 1)); }
dumps()
{
	for _ in $(seq 20); do
		[ "$(promiscuous)" = 1 ] || return 1
	done
}

# A change for which there is no room is made soon.
was=$(cat "/sys/class/net/$IF0/address")
for tx in $TX_SCHEMES; do
	schemes "$IF0" napi "$tx"
	reaches "$PEER0"
	ip neigh flush dev "$IF0" # it would be probed
	before=$(sent)
	check "$tx: nothing is sent, and the mode changes $TOGGLES times" toggle
	if [ "$DRIVER/$TIMED" = irqmod_i8255x/1 ]; then # QEMU's model does not dump
		ip link set "$IF0" promisc on
		sleep 1
		check "... promiscuous" same "$(promiscuous)" 1
		check "... each dump of the registers shows it" dumps
		ip link set "$IF0" promisc off
		sleep 1
		check "... no longer promiscuous" same "$(promiscuous)" 0
		check "... the mode changes $TOGGLES times" toggle
	fi
	ip link set "$IF0" address 02:12:34:56:78:9a
	sleep 1
	check "... nothing has been sent" same "$(sent)" "$before"
	ip neigh replace "$PEER0" lladdr "$MAC0" dev "$IF0"
	check "... a host answers the last address at once" ping -c 1 -W 1 "$PEER0"
	ip link set "$IF0" address "$was"
done
done_testing
