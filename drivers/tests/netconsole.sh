#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: netconsole
# loads: irqmod_loop
# may log: ^(printk: |netpoll: |netconsole: |irqmod_loop: message )
# netconsole sends what a kernel says with interrupts disabled, at once, with every combination of schemes: more messages than the
# transmit ring holds. If nothing is reclaimed then, netpoll waits for a tick with each message, and gives it to a work queue.
. "${0%/*}/tap.sh"

CONSOLE=/sys/kernel/config/netconsole/test
LOOP=/sys/module/irqmod_loop/parameters
MESSAGES=40
MOST_US=48000 # of the 96000 that waiting for a tick of 4 ms with each that does not fit into the ring takes

says()
{
	before=$(cat "/sys/class/net/$IF0/statistics/tx_packets")
	echo $MESSAGES >$LOOP/say
	took=$(cat $LOOP/said_us)
	[ "$took" -lt $MOST_US ] || { echo "$took us"; return 1; }
	reaches "$PEER0" || { echo "$PEER0 is not reached afterwards"; return 1; }
	sent=$(($(cat "/sys/class/net/$IF0/statistics/tx_packets") - before))
	[ $sent -ge $MESSAGES ] || { echo "$sent packets"; return 1; }
}

ip link set "$IF0" up
reaches "$PEER0"
ethtool -C "$IF0" tx-frames 8
ethtool -G "$IF0" rx 64 tx 16
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
