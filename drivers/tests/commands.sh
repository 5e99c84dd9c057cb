#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Changes of the receive mode are commands on the 8255x's transmit list, among the packets of a sender that fills it. They are
# made nevertheless, and the sender does not wait for the transmit timer because of them, with every transmit scheme.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

TIMER_US=100000 # how long a sender would wait
took_us() { sed -n 's/^Result: OK: \([0-9]*\)(.*/\1/p' "/proc/net/pktgen/$IF0"; }
toggle()
{
	ip link set "$IF0" promisc on
	ip link set "$IF0" promisc off
}
# burst TOGGLES: 20 packets after so many changes. They need 140 us, and the last may wait for the timer once.
burst()
{
	tries=$((PATIENCE > 2 ? 5 : 1)) # the host may be late
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		usleep $((TIMER_US * 3)) # all of it is reclaimed
		for _ in $(seq "$1"); do toggle; done
		pg pgctrl start
		us=$(took_us)
		[ "$us" -ge $((TIMER_US * 3 / 2)) ] || return 0
	done
	echo "$us us"
	return 1
}

# Bit 0 of byte 15 of the configuration, as the chip has it.
promiscuous() { echo $((0x$(register "$IF0" $((120 + 15)) 1) & 1)); }
# changes: four changes, each of them in the chip before the next; sets took, in seconds.
changes()
{
	read -r begin _ </proc/uptime
	for now in 1 0 1 0; do
		ip link set "$IF0" promisc "$([ $now = 1 ] && echo on || echo off)"
		tries=1000
		while [ "$(promiscuous)" != $now ]; do
			tries=$((tries - 1))
			[ $tries -gt 0 ] || { echo "promiscuous: not $now"; return 1; }
		done
	done
	read -r end _ </proc/uptime
	took=$((${end%.*} - ${begin%.*}))
}

check "a host answers" reaches "$PEER0"
own=$(address "$IF0")
ip addr flush dev "$IF0" # nothing else is sent
frames=$(ring "$IF0" RX) packets=$(ring "$IF0" TX) every=$(coalesce "$IF0" tx-frames) usecs=$(coalesce "$IF0" tx-usecs)
check "rings of 16" ethtool -G "$IF0" rx 16 tx 16
check "a late timer" ethtool -C "$IF0" tx-frames 8 tx-usecs $TIMER_US
pg kpktgend_0 "add_device $IF0"
for word in "delay 0" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for tx in $TX_SCHEMES; do
	schemes "$IF0" napi "$tx"
	for word in "count 20" "pkt_size 60"; do pg "$IF0" "$word"; done
	for toggles in 1 2 1; do
		check "$tx: changes and a burst, $toggles" burst $toggles
	done
	[ "$TIMED" = 1 ] || continue # otherwise the ring is never full, and QEMU's model does not dump
	check "$tx: changes while nothing is sent" changes
	alone=$took
	for word in "count 0" "pkt_size 1514"; do pg "$IF0" "$word"; done # the wire is slower than the sender
	pg_on
	usleep 100000
	check "... beside a sender without end" changes
	# On a slow host the commands alone take seconds. A driver that looks for room every 2 seconds needs 8 more.
	check "... soon ($took s, alone $alone s)" [ "$took" -le $((2 * alone + 4)) ]
	pg_off
done
pg kpktgend_0 rem_device_all
ip addr add "$own" dev "$IF0"
check "rings as before" ethtool -G "$IF0" rx "$frames" tx "$packets"
check "the timer, too" ethtool -C "$IF0" tx-frames "$every" tx-usecs "$usecs"
check "a host answers at the end" reaches "$PEER0"
done_testing
