#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# Every driver built on irqmod has these files and counters, and every scheme can be selected while the interface is up or down.
. "${0%/*}/tap.sh"

for i in $IF0 $IF1; do
	check "$i: a receive scheme is chosen" test -n "$(chosen "$i" rx_scheme)"
	check "$i: a transmit scheme is chosen" test -n "$(chosen "$i" tx_scheme)"
	read_only=$(files "$i" ! -perm -200)
	check "$i: there are figures" test -n "$read_only"
	for name in $read_only; do
		check "$i: $name" get "$i" "$name"
		fails "$i: ... cannot be written" put "$i" "$name" 5
	done
	for setting in tx-usecs:500 tx-frames:8; do
		name=${setting%:*} value=${setting#*:}
		check "$i: $name is set" ethtool -C "$i" "$name" "$value"
		check "$i: ... and kept" same "$(coalesce "$i" "$name")" "$value"
	done
	for name in rx_interrupts tx_interrupts rx_polls rx_polls_done rx_no_buffer rx_backlog_drops \
		tx_reclaims_xmit tx_reclaims_rx tx_reclaims_timer tx_reclaims_irq; do
		check "$i: counter $name" test -n "$(counter "$i" $name)"
	done
done

# A receive scheme without a period shows 0, says so, and keeps the value for one that has a period. A USB chip always waits.
if [ "$(coalesce "$IF0" rx-usecs)" = 0 ]; then
	warned=$(ethtool -C "$IF0" rx-usecs 200 2>&1)
	check "rx-usecs of a scheme without a period warns" same "${warned##*: }" "kept; this rx_scheme has no period"
	check "... and shows 0" same "$(coalesce "$IF0" rx-usecs)" 0
	check "a scheme with a period" put "$IF0" rx_scheme hybrid
else
	check "rx-usecs is set" ethtool -C "$IF0" rx-usecs 200
fi
check "... has it" same "$(coalesce "$IF0" rx-usecs)" 200

choose()
{
	schemes "$1" "$2" "$3" && same "$(chosen "$1" rx_scheme)/$(chosen "$1" tx_scheme)" "$2/$3"
}

for one in $COMBINATIONS; do
	rx=${one%/*} tx=${one#*/}
	check "$one: selected while up" choose "$IF0" "$rx" "$tx"
	check "$one: a host answers" reaches "$PEER0"
	ip link set "$IF0" down
	check "$one: selected while down" choose "$IF0" "$rx" "$tx"
	ip link set "$IF0" up
	check "$one: kept, and a host answers" reaches "$PEER0"
	check "$one: still the same" same "$(chosen "$IF0" rx_scheme)/$(chosen "$IF0" tx_scheme)" "$one"
done
# A ring that is too small for tx-frames lowers it.
most=$(ring_max "$IF0" TX)
for state in up down; do
	ip link set "$IF0" $state
	[ "$(ring "$IF0" TX)" = "$most" ] || check "$state: a ring of $most" ethtool -G "$IF0" tx "$most"
	check "$state: tx-frames $((most / 2))" ethtool -C "$IF0" tx-frames $((most / 2))
	check "$state: a ring of $SMALL_RING" ethtool -G "$IF0" tx $SMALL_RING
	check "... and tx-frames follows" same "$(coalesce "$IF0" tx-frames)" $((SMALL_RING / 2))
done
ip link set "$IF0" up
# Two that do not go together refuse each other.
for tx in $TX_SCHEMES; do
	for rx in $RX_SCHEMES; do
		echo "$COMBINATIONS" | grep -qxF "$rx/$tx" && continue
		schemes "$IF0" napi "$tx"
		fails "$rx does not mask RX, which $tx needs" put "$IF0" rx_scheme "$rx"
		check "... and the log says so" dmesg_ends "rx_scheme $rx does not mask RX, which tx_scheme $tx needs"
		schemes "$IF0" "$rx" interrupt
		fails "$tx needs a receive scheme that masks RX, not $rx" put "$IF0" tx_scheme "$tx"
		check "... and the log says so" dmesg_ends "rx_scheme $rx does not mask RX, which tx_scheme $tx needs"
	done
done
done_testing
