#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# NAPI in a thread of its own (/sys/class/net/ETH/threaded), switched on and off with every combination of schemes. Those without
# NAPI reject it.
. "${0%/*}/tap.sh"

THREADED=/sys/class/net/$IF0/threaded

# threaded 0|1: the switch is kept, and a host answers.
threaded()
{
	echo "$1" >"$THREADED" && same "$(cat "$THREADED")" "$1" && reaches "$PEER0"
}
# refused 0|1: it cannot be written.
refused() { (echo "$1" >"$THREADED") 2>&1 | grep "not supported"; }
rejected() { refused 1 && reaches "$PEER0"; }
# Whether the scheme has a NAPI. A USB NIC's transmitter has one with every scheme.
polls() { among "${one%/*}" "$NAPI_RX" || [ "$DRIVER" = irqmod_lan78xx ]; }

ip link set "$IF0" up
for one in $COMBINATIONS; do
	check "$one" schemes "$IF0" "${one%/*}" "${one#*/}"
	if polls; then
		check "... in a thread" threaded 1
		check "... and in softirq again" threaded 0
	else
		check "... not in a thread" rejected
	fi
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
check "threaded: rejected while it is down" refused 0
ip link set "$IF0" up
check "threaded: kept when it is up again" same "$(cat "$THREADED")" 1
check "... a host answers" reaches "$PEER0"
threaded 0
done_testing
