#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# Byte queue limits count what is on the ring, by default, on a chip whose kernel driver has them: packets wait in the qdisc, where
# they are shared fairly, and not on the ring.
. "${0%/*}/tap.sh"
only_for irqmod_rtl8139cp irqmod_lan78xx

LIMITS=/sys/class/net/$IF0/queues/tx-0/byte_queue_limits
before=$(cat "/sys/class/net/$IF0/statistics/tx_packets")
pg kpktgend_0 "add_device $IF0"
for word in "count 400" "pkt_size 1400" "xmit_mode queue_xmit" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
check "a host answers" reaches "$PEER0"
pg pgctrl start
check "packets are sent" test $(($(cat "/sys/class/net/$IF0/statistics/tx_packets") - before)) -ge 300
check "a limit has been found: $(cat "$LIMITS/limit")" test "$(cat "$LIMITS/limit")" -gt 0
usleep 100000
check "nothing is left" same "$(cat "$LIMITS/inflight")" 0
pg kpktgend_0 rem_device_all
check "a host answers" reaches "$PEER0"
done_testing
