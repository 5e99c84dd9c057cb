#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# A sender that keeps the transmit ring full keeps the wire busy, too: with every transmit scheme, a ring of 64 packets, and a
# driver that frees none of them elsewhere, since nothing is received. 60 bytes take 6.72 us at 100 Mbit/s. QEMU's own NICs are
# done before the doorbell returns: there the CPU is the limit.
. "${0%/*}/tap.sh"

PACKETS=8000
# Of 148809. At the end pktgen waits until its last packet is freed, with ifpoll for 1.7 ms.
LEAST_PPS=145000

if [ "$TIMED" != 1 ]; then
	skip "busy wire" "this NIC transmits in no time"
	done_testing
	exit
fi
ip link set "$IF0" up
reaches "$PEER0"
if [ "$(cat "/sys/class/net/$IF0/speed")" -gt 100 ]; then
	skip "busy wire" "a sender cannot fill a faster wire with such packets: the CPU is the limit"
	done_testing
	exit
fi
ethtool -C "$IF0" tx-frames 32
[ "$(ring "$IF0" TX)" = 64 ] || check "a ring of 64" ethtool -G "$IF0" tx 64
usleep 300000
pg kpktgend_0 "add_device $IF0"
for word in "count $PACKETS" "pkt_size 60" "delay 0" "clone_skb 0" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
# OK: 123(c1+d2) usec, 4000 (60byte,0frags)
took_us() { sed -n 's/^Result: OK: \([0-9]*\)(.*/\1/p' "/proc/net/pktgen/$IF0"; }

# busy RX TX: the sender has the wire's whole rate. It is measured twice if another task has had the CPU for a tick.
busy()
{
	check "$1/$2" schemes "$IF0" "$1" "$2"
	for _ in 1 2; do
		pg pgctrl start
		pps=$((PACKETS * 1000000 / $(took_us)))
		[ "$pps" -lt $LEAST_PPS ] || break
	done
	check "... $pps packets/s, at least $LEAST_PPS" [ "$pps" -ge $LEAST_PPS ]
}

limited() { [ "$(cat "/sys/class/net/$IF0/queues/tx-0/byte_queue_limits/limit")" -gt 0 ]; }

for tx in $TX_SCHEMES; do
	busy napi "$tx"
	if among "$tx" "$LIMITED_TX"; then
		check "... with byte queue limits" limited
	else
		fails "... without byte queue limits" limited
	fi
done
# These depend on the receive scheme, which may keep RX and TX masked for a time.
masked=$(for one in $COMBINATIONS; do among "${one#*/}" "$MASKED_TX" && echo "$one"; done)
for one in $masked; do [ "${one%/*}" = napi ] || busy "${one%/*}" "${one#*/}"; done
ethtool -C "$IF0" rx-usecs 50000 tx-usecs 100000
pg "$IF0" "count $((4 * PACKETS))"
# Above a cliff of 1 packet/s, hybrid pauses for rx-usecs, too, if something is received.
put "$IF0" rx_above paced
put "$IF0" rx_cliff_pps 1
ping -q -i 0.01 "$PEER0" >/dev/null &
pings=$!
for one in $masked; do
	check "$one" schemes "$IF0" "${one%/*}" "${one#*/}"
	pg pgctrl start
	# 215 ms on the wire. The last packet may wait for ifpoll's timer twice.
	check "... no wait for rx-usecs ($(took_us) us)" [ "$(took_us)" -lt 340000 ]
done
kill $pings
put "$IF0" rx_above napi
put "$IF0" rx_cliff_pps 60000

# The scheme changes while the ring is full: the queue must not wait for tx-usecs.
put "$IF0" rx_scheme napi
rm -f /tmp/sent
{ pg pgctrl start; : >/tmp/sent; } &
switches=0
until [ -e /tmp/sent ]; do
	for tx in interrupt off coalesce off; do # a choice
		put "$IF0" tx_scheme "$tx" && switches=$((switches + 1))
		usleep 10000
	done
done
check "the scheme changes while the ring is full ($switches times)" [ "$switches" -ge 4 ]
check "no wait for tx-usecs when the scheme changes ($(took_us) us)" [ "$(took_us)" -lt 300000 ]
ethtool -C "$IF0" tx-usecs 1000

# A part of off is disabled while the ring is full: a queue that is stopped then must not wait for the next transmit.
schemes "$IF0" napi off
pg pgctrl start &
for _ in 1 2 3 4 5 6 7 8; do
	usleep 10000
	put "$IF0" tx_off_without all
	usleep 5000
	put "$IF0" tx_off_without nothing
done
wait
check "off: the wire is not idle when a part is disabled ($(took_us) us)" [ "$(took_us)" -lt 400000 ]
pg kpktgend_0 rem_device_all
done_testing
