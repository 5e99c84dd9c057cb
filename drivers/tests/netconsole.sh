#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: netconsole
# loads: irqmod_loop
# may log: ^(printk: |netpoll: |netconsole: |irqmod_loop: message )
# netconsole sends what a kernel says with interrupts disabled, at once, with every combination of schemes: more messages than the
# transmit ring holds. If nothing is reclaimed then, netpoll gives the rest to a work queue, which a kernel that panics never runs.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp # USB: a transfer completes with an interrupt of the host controller

CONSOLE=/sys/kernel/config/netconsole/test
LOOP=/sys/module/irqmod_loop/parameters
RING=16
MESSAGES=40
# The kernel's log does not hold the messages of all its combinations.
if [ "$DRIVER" = irqmod_i82574 ]; then
	RING=$SMALL_RING MESSAGES=76
	COMBINATIONS=$(echo "$COMBINATIONS" | grep -vE '^(itr|howto|ifpoll|shrink|timer)/')
fi

packets() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }
# While the work queue has a packet, netpoll gives it all others too. It sends a ring of them ten times a second.
drained()
{
	tries=$((PATIENCE * 3))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1)) before=$(packets)
		usleep 300000
		[ "$(packets)" != "$before" ] || return 0
	done
	echo "packets are still sent"
	return 1
}
says()
{
	# netpoll cannot poll while another processor does. Without the instruction clock the host may take that one for so long that
	# the work queue gets the messages: not every time.
	left=$((PATIENCE / 2)) sent=
	while
		echo $MESSAGES >$LOOP/say
		# A packet counts when it has been reclaimed.
		now=$(cat $LOOP/said) sent="$sent $now"
		[ "$now" -lt $((MESSAGES - RING)) ]
	do
		left=$((left - 1))
		[ $left -gt 0 ] || { echo "packets:$sent"; return 1; }
		drained || return
	done
	reaches "$PEER0" || { echo "$PEER0 is not reached afterwards"; return 1; }
}

ip link set "$IF0" up
reaches "$PEER0"
ethtool -C "$IF0" tx-frames 8
ethtool -G "$IF0" rx 64 tx $RING
reaches "$PEER0"
mount -t configfs none /sys/kernel/config 2>/dev/null
mkdir $CONSOLE
echo "$IF0" >$CONSOLE/dev_name
ip -4 addr show dev "$IF0" | sed -n 's,.*inet \([0-9.]*\)/.*,\1,p' >$CONSOLE/local_ip
echo "$PEER0" >$CONSOLE/remote_ip
echo "$MAC0" >$CONSOLE/remote_mac
dmesg -n 7
check "netconsole" sh -c "echo 1 >$CONSOLE/enabled"
for one in $COMBINATIONS; do
	check "$one" schemes "$IF0" "${one%/*}" "${one#*/}"
	check "... messages with interrupts disabled leave at once" says
done
echo 0 >$CONSOLE/enabled
rmdir $CONSOLE
done_testing
