#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: modules
# may log: NETDEV WATCHDOG|WARNING: CPU|Modules linked in|CPU: |Hardware name|RIP: |Code: |RSP: |R[A-Z0-9]*: |FS: |CS: |CR2: |DR0: |DR3: |Call Trace|<.*>|\+0x|---\[|transmit timeout|cut here|Tainted
# The transmit queue stalls, the kernel's watchdog reports it, the driver resets the chip, and traffic resumes. For drivers
# that can omit doorbells (module parameter lost_doorbells).
. "${0%/*}/tap.sh"

# The watchdog looks every few seconds.
timeout_logged()
{
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		sleep 1
		dmesg | grep -q 'NETDEV WATCHDOG\|transmit timeout\|timed out' && return 0
	done
	return 1
}

# A reset takes the link down for some time.
linked()
{
	tries=$((PATIENCE * 20))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		{ read -r carrier <"/sys/class/net/$IF0/carrier"; } 2>/dev/null && [ "$carrier" = 1 ] && return
		usleep 100000
	done
	return 1
}

unload() { rmmod "$DRIVER" && rmmod "$ENGINE"; }
load() { insmod "$MODULES/$ENGINE.ko" && insmod "$MODULES/$DRIVER.ko" "$@"; }

if [ ! -e "/sys/module/$DRIVER/parameters/lost_doorbells" ]; then
	skip "tx_timeout" "$DRIVER has no module parameter lost_doorbells: nothing in QEMU makes its transmitter hang"
	done_testing
	exit
fi
# The watchdog only checks stopped queues: fill a small ring, and omit more doorbells than that takes. The 82574 stops a queue
# when 26 of its descriptors are free, too few for the largest packet; of its queues one is used. Byte queue limits stop it at the
# first packet.
for tx in $TX_SCHEMES; do
	omitted=$((SMALL_RING + 4))
	if [ "$DRIVER" = irqmod_i82574 ]; then
		omitted=$((SMALL_RING - 26))
		! among "$tx" "$LIMITED_TX" || omitted=1
	fi
	check "$tx: unload" unload
	check "$tx: load, omitting doorbells" load lost_doorbells=$omitted
	[ "$DRIVER" != irqmod_i82574 ] || check "$tx: one queue" ethtool -L "$IF0" combined 1
	schemes "$IF0" napi "$tx"
	ethtool -C "$IF0" tx-frames 8
	ethtool -G "$IF0" rx $SMALL_RING tx $SMALL_RING
	ip addr add "${PEER0%.*}.1/24" dev "$IF0"
	ip link set "$IF0" up
	ip neigh replace "$PEER0" lladdr "$MAC0" dev "$IF0"
	check "$tx: a link" linked
	dmesg -c >/dev/null
	for _ in $(seq $((SMALL_RING + 4))); do ping -c 1 -W 1 "$PEER0" >/dev/null 2>&1 & done
	check "$tx: transmit timeout" timeout_logged
	check "$tx: a link again" linked
	check "$tx: a host answers again" reaches "$PEER0"
done
done_testing
