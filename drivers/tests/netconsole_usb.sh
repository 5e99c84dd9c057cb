#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: netconsole
# loads: irqmod_loop
# may log: ^(printk: |netpoll: |netconsole: |irqmod_loop: message )
# netconsole by a USB NIC. The xHCI's handler says something while it has the lock that whoever submits a transfer needs.
. "${0%/*}/tap.sh"
only_for irqmod_lan78xx

CONSOLE=/sys/kernel/config/netconsole/test
LOOP=/sys/module/irqmod_loop/parameters
DEBUG=/proc/dynamic_debug/control
MESSAGES=200 # more than one transfer holds
packets() { cat "/sys/class/net/$IF0/statistics/tx_packets"; }
arrive()
{
	before=$(packets)
	echo $MESSAGES >$LOOP/say
	tries=$((PATIENCE * 10))
	while [ "$(($(packets) - before))" -lt $MESSAGES ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "$(($(packets) - before)) packets"; return 1; }
		usleep 100000
	done
}
# Transfers that are cancelled are stopped, and the handler says so.
stopped() { dmesg | grep -c "Stopped on"; }
says_more() { [ "$(stopped)" -gt "$before" ] || { stopped; return 1; }; }

for i in $IF0 $IF1; do ip link set "$i" up; done
reaches "$PEER0"
reaches "$PEER1"
mount -t configfs none /sys/kernel/config 2>/dev/null
mkdir $CONSOLE
echo "$IF0" >$CONSOLE/dev_name
address "$IF0" | sed 's,/.*,,' >$CONSOLE/local_ip
echo "$PEER0" >$CONSOLE/remote_ip
echo "$MAC0" >$CONSOLE/remote_mac
dmesg -n 8
check "netconsole" sh -c "echo 1 >$CONSOLE/enabled"
check "messages with interrupts disabled leave" arrive
check "the host answers" reaches "$PEER0"
if [ -e $DEBUG ]; then
	echo 'file xhci-ring.c format "Stopped on" +p' >$DEBUG
	before=$(stopped)
	check "transfers of the other interface are cancelled" ip link set "$IF1" down
	check "... the xHCI's handler says so" says_more
	check "... the host answers" reaches "$PEER0"
	echo 'file xhci-ring.c format "Stopped on" -p' >$DEBUG
	ip link set "$IF1" up
else
	skip "the xHCI's handler says something" "the kernel has no dynamic debugging"
fi
echo 0 >$CONSOLE/enabled
rmdir $CONSOLE
done_testing
