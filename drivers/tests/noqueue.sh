#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: pktgen
# may log: ^(Virtual device \S+ asks to queue packet!|net_ratelimit: |pktgen: interface: \S+ is already stopped)
# The interface restarts while packets are sent without a qdisc. Such a sender asks only whether the queue is stopped: it must be,
# until the chip has been started. Debug builds check that.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp
only_with_reset

ip link set "$IF0" up
reaches "$PEER0"
check "no qdisc" tc qdisc replace dev "$IF0" root noqueue
# On another processor, if there is one.
thread=/proc/net/pktgen/kpktgend_1
[ -e $thread ] || thread=/proc/net/pktgen/kpktgend_0
pg "${thread##*/}" "add_device $IF0"
for word in "count 0" "pkt_size 60" "xmit_mode queue_xmit" "dst $PEER0" "dst_mac $MAC0"; do pg "$IF0" "$word"; done
for tx in $TX_SCHEMES; do
	put "$IF0" tx_scheme "$tx" 2>/dev/null || continue
	for i in 1 2 3; do
		pg_on
		usleep 20000
		check "$tx: reset under load, $i" sh -c "echo 1 >$RESET"
		usleep 20000
		pg_off
		check "$tx: a host answers" reaches "$PEER0"
	done
done
pg "${thread##*/}" rem_device_all
check "a qdisc again" tc qdisc replace dev "$IF0" root pfifo_fast
done_testing
