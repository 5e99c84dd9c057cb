#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x
# long
# Several processes at once, under load, read counters and change schemes, rings, the receive mode, and the state of both
# interfaces. What fails because another process was faster is expected; afterwards frames arrive.
. "${0%/*}/tap.sh"

RUNS=/tmp/together.runs
LASTS=${LASTS:-12} # seconds

# again COMMAND...: repeats it until the end.
again() { while [ -e $RUNS ]; do "$@"; done >/dev/null 2>&1; }

read_counters()
{
	for i in $IF0 $IF1; do
		ip -s link show "$i"
		ethtool -S "$i"
		get "$i" rx_rate_pps
		ethtool "$i"
	done
}

# every INTERFACE FILE: each scheme in turn.
every() { for name in $(get "$1" "$2" | tr -d '[]'); do put "$1" "$2" "$name"; done; }

change_rx() { for i in $IF0 $IF1; do every "$i" rx_scheme; done; }
change_tx() { for i in $IF0 $IF1; do every "$i" tx_scheme; done; }

change_rings()
{
	for size in 32 64; do
		for i in $IF0 $IF1; do ethtool -G "$i" rx $size tx $size; done
	done
}

change_mode()
{
	for i in $IF0 $IF1; do
		ip link set "$i" promisc on
		ip link set "$i" promisc off
		ip link set "$i" allmulticast on
		ip link set "$i" allmulticast off
	done
}

up_and_down()
{
	for i in $IF0 $IF1; do
		ip link set "$i" down
		ip link set "$i" up
		sleep 3
	done
}

for i in $IF0 $IF1; do ethtool -C "$i" tx-frames 8; done
: >$RUNS
for what in read_counters change_rx change_tx change_rings change_mode up_and_down; do again $what & done
sleep "$LASTS"
rm $RUNS
wait
for i in $IF0 $IF1; do check "$i is up" ip link set "$i" up; done
frames_arrive "frames arrive afterwards"
for i in $IF0 $IF1; do check "$i: one pair of schemes" schemes "$i" napi interrupt; done
frames_arrive "frames arrive with napi"
check "a host answers" reaches "$PEER1"
done_testing
