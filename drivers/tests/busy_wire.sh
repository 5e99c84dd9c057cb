#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# A sender that keeps the transmit ring full keeps the wire busy, too: with every transmit scheme, a ring of 64 packets, and a
# driver that frees none of them elsewhere, since nothing is received. 60 bytes take 6.72 us at 100 Mbit/s. QEMU's own NICs are
# done before the doorbell returns: there the CPU is the limit.
. "${0%/*}/tap.sh"

PACKETS=8000
LEAST_PPS=146000 # of 148809: the first packets and the last ones

if [ "$TIMED" != 1 ]; then
	skip "busy wire" "this NIC transmits in no time"
	done_testing
	exit
fi
ip link set "$IF0" up
reaches "$PEER0"
ethtool -C "$IF0" tx-frames 32
[ "$(ring "$IF0" TX)" = 64 ] || check "a ring of 64" ethtool -G "$IF0" tx 64
usleep 300000
pg kpktgend_0 "add_device $IF0"
for word in "count $PACKETS" "pkt_size 60" "delay 0" "clone_skb 1000" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for tx in $TX_SCHEMES; do
	schemes "$IF0" napi "$tx"
	pg pgctrl start
	# OK: 123(c1+d2) usec, 4000 (60byte,0frags)
	took_us=$(sed -n 's/^Result: OK: \([0-9]*\)(.*/\1/p' "/proc/net/pktgen/$IF0")
	pps=$((PACKETS * 1000000 / took_us))
	if [ "$pps" -ge $LEAST_PPS ]; then ok "$tx: $pps packets/s"; else not_ok "$tx: $pps packets/s, at least $LEAST_PPS expected"; fi
done

# A part of off is disabled while the ring is full: a queue that is stopped then must not wait for the next transmit.
schemes "$IF0" napi off
pg "$IF0" "count $((4 * PACKETS))"
pg pgctrl start &
for _ in 1 2 3 4 5 6 7 8; do
	usleep 10000
	put "$IF0" tx_off_without all
	usleep 5000
	put "$IF0" tx_off_without nothing
done
wait
took_us=$(sed -n 's/^Result: OK: \([0-9]*\)(.*/\1/p' "/proc/net/pktgen/$IF0")
check "off: the wire is not idle when a part is disabled ($took_us us)" [ "$took_us" -lt 400000 ]
pg kpktgend_0 rem_device_all
done_testing
