#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# NAPI in a thread of its own (/sys/class/net/ETH/threaded), switched on and off with every combination of schemes, also of those
# that take no frames in it, and while the interface is down.
. "${0%/*}/tap.sh"

THREADED=/sys/class/net/$IF0/threaded

# threaded 0|1: the switch is kept, and a host answers.
threaded()
{
	echo "$1" >"$THREADED" && same "$(cat "$THREADED")" "$1" && reaches "$PEER0"
}
ip link set "$IF0" up
for one in $COMBINATIONS; do
	check "$one" schemes "$IF0" "${one%/*}" "${one#*/}"
	check "... in a thread" threaded 1
	check "... and in softirq again" threaded 0
done
# A scheme is chosen, and the interface goes down and up, while NAPI is in a thread.
schemes "$IF0" napi "$(chosen "$IF0" tx_scheme)"
threaded 1
for one in $COMBINATIONS; do
	check "threaded: $one" schemes "$IF0" "${one%/*}" "${one#*/}"
	check "... a host answers" reaches "$PEER0"
done
schemes "$IF0" napi "$(chosen "$IF0" tx_scheme)"
ip link set "$IF0" down
check "threaded: off while it is down" sh -c "echo 0 >$THREADED"
check "threaded: on while it is down" sh -c "echo 1 >$THREADED"
ip link set "$IF0" up
check "threaded: kept when it is up again" same "$(cat "$THREADED")" 1
check "... a host answers" reaches "$PEER0"
threaded 0
done_testing
