#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# A queue keeps its NAPI, with its ID, settings and thread, over a change of the scheme, of the rings, a reset, and while the
# interface is down. netlink tells which queue and which interrupt it has.
. "${0%/*}/tap.sh"

THREADED=/sys/class/net/$IF0/threaded

if ! irqlab-guest napi "$IF0" >$SAID 2>&1; then
	skip "napi_kept" "this kernel has no netlink for NAPIs"
	done_testing
	exit
fi
napis() { irqlab-guest napi "$IF0"; }
field() { napis | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
thread() { field pid; }

ip link set "$IF0" up
before=$(napis)
note "$before"
[ "$DRIVER" = irqmod_lan78xx ] || check "the interrupt" test "$(field irq)" -gt 0
check "a setting of the NAPI" irqlab-guest napi "$IF0" --set gro-flush-timeout=12345
check "in a thread" sh -c "echo 1 >$THREADED"
check "... there is one" test "$(thread)" -gt 0
before=$(napis)
id=$(field id)
kept()
{
	same "$(napis)" "$before"
}
# Twice: a NAPI of before may have had a setting of after.
for rx in $RX_SCHEMES napi; do
	check "$rx" schemes "$IF0" "$rx" "$(among "$rx/off" "$(echo "$COMBINATIONS" | tr '\n' ' ')" && echo off || echo interrupt)"
	check "... has the NAPI of before" kept
done
most=$(ring_max "$IF0" RX)
if [ "$most" -gt 16 ]; then
	check "a ring of $SMALL_RING" ethtool -G "$IF0" rx $SMALL_RING
	check "... has the NAPI of before" kept
	check "a ring of $most" ethtool -G "$IF0" rx "$most"
	check "... has the NAPI of before" kept
fi
check "down" ip link set "$IF0" down
check "... in softirq" sh -c "echo 0 >$THREADED"
check "... in a thread again" sh -c "echo 1 >$THREADED"
check "up" ip link set "$IF0" up
check "... has the NAPI of before, with another thread" same "$(field id) $(field gro-flush-timeout)" "$id 12345"
check "down and up" sh -c "ip link set $IF0 down; ip link set $IF0 up"
before=$(napis)
check "... has the thread of before, too" kept
check "a host answers" reaches "$PEER0"
check "in softirq again" sh -c "echo 0 >$THREADED"
check "a host answers" reaches "$PEER0"
done_testing
