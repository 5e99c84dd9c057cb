#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# NAPI: more frames than the ring holds find no memory, one after the other. Then there is memory again: the first frame after
# that is received, so that nothing had to bring the ring back: no timer, as NAPI_HOWTO has one, and no further frame.
. "${0%/*}/tap.sh"

FAIL=/sys/module/$ENGINE/parameters/fail_heads
size=$(ring "$IF0" RX)
WHOLE=${size:-512} # USB: more than its transfers hold
dropped() { [ "$(counter "$IF0" rx_no_buffer)" -gt $(($1 + WHOLE)) ] || { counter "$IF0" rx_no_buffer; return 1; }; }

for rx in $NAPI_RX; do
	among "$rx" "$RX_SCHEMES" || continue
	check "$rx" schemes "$IF0" "$rx" "$(chosen "$IF0" tx_scheme)"
	check "$rx: a host answers" reaches "$PEER0"
	had=$(counter "$IF0" rx_no_buffer)
	echo 1 >"$FAIL"
	# What is left of a chunk is memory for some of them.
	ping -q -c $((WHOLE + 100)) -i 0.001 -W 1 "$PEER0" >/dev/null 2>&1
	check "$rx: more than $WHOLE answers find no memory" dropped "$had"
	echo 0 >"$FAIL"
	check "$rx: there is memory again: the first answer is received" ping -q -c 1 -W "$PATIENCE" "$PEER0"
done
done_testing
