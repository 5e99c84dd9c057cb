#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# Settings that disable a part of a scheme, to measure its benefit, change at run time, and a host answers with each value.
. "${0%/*}/tap.sh"

# values FILE: all that it allows.
values() { get "$IF0" "$1" | tr -d '[]'; }

# each RX TX FILE
each()
{
	for i in $IF0 $IF1; do schemes "$i" "$1" "$2"; done
	for value in $(values "$3") $(values "$3" | cut -d' ' -f1); do
		for i in $IF0 $IF1; do put "$i" "$3" "$value"; done
		check "$1/$2: $3 is $value" [ "$(chosen "$IF0" "$3")" = "$value" ]
		check "... and a host answers" reaches "$PEER0"
	done
}

if [ ! -e "$(file "$IF0" tx_off_without)" ]; then
	skip "settings of off" "the device has no off"
	done_testing
	exit
fi

each timer off rx_timer_without
each timer off rx_timer_refill
each napi off tx_off_without

for i in $IF0 $IF1; do put "$i" tx_off_without all; done
before=$(counter "$IF0" tx_reclaims_rx)/$(counter "$IF0" tx_reclaims_timer)
check "all: a host answers" reaches "$PEER0"
usleep 50000
check "... and nothing is reclaimed when receiving, or by a timer" \
	[ "$(counter "$IF0" tx_reclaims_rx)/$(counter "$IF0" tx_reclaims_timer)" = "$before" ]
for i in $IF0 $IF1; do put "$i" tx_off_without nothing; done
done_testing
