#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The PHY of the USB NIC: what it advertises without a link, what it may wake the machine for, and what it is told when the machine
# resumes. The last two are read from the kernel's trace of the MDIO bus.
. "${0%/*}/tap.sh"
only_for irqmod_lan78xx

TRACE=/sys/kernel/tracing
MASK=0x19
shown() { ethtool -a "$IF0" | sed -n "s/^$1:[[:space:]]*//p"; }
wakes() { ethtool "$IF0" | sed -n 's/^[[:space:]]*Wake-on: //p'; }
# writes: "REGISTER VALUE" of all since the trace was cleared.
writes() { sed -n 's/.* write phy:0x[0-9a-f]* reg:\(0x[0-9a-f]*\) val:\(0x[0-9a-f]*\).*/\1 \2/p' $TRACE/trace; }
# Its driver begins with this register; it also does so when the link comes up.
initializations() { writes | grep -c "^0x11 0xb00a"; }
suspends() { : >$TRACE/trace; echo mem >/sys/power/state; }

ip link set "$IF0" down
check "pause, without a link: none" ethtool -A "$IF0" rx off tx off
check "... is what is reported" same "$(shown RX) $(shown TX)" "off off"
check "pause: both" ethtool -A "$IF0" rx on tx on
check "... is what is reported" same "$(shown RX) $(shown TX)" "on on"
check "pause: received only" ethtool -A "$IF0" rx on tx off
check "... is what is reported" same "$(shown RX) $(shown TX)" "on off"
check "pause: both again" ethtool -A "$IF0" rx on tx on
ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
check "... and the same is reported" same "$(shown RX) $(shown TX)" "on on"

mount -t tracefs none $TRACE 2>/dev/null
if [ ! -e $TRACE/events/mdio ]; then
	skip "wake-up and resume" "this kernel does not trace MDIO"
	done_testing
	exit
fi
echo 1 >$TRACE/events/mdio/enable
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
check "wake-up by the PHY" ethtool -s "$IF0" wol p
check "... is set" same "$(wakes)" p
check "... and by magic packet" ethtool -s "$IF0" wol pg
check "... suspend and resume" suspends
check "... the PHY may interrupt while the machine sleeps" same "$(writes | sed -n "s/^$MASK //p" | head -n 1)" 0xa000
check "... a host answers" reaches "$PEER0"
check "no wake-up" ethtool -s "$IF0" wol d
check "... suspend and resume" suspends
check "... a host answers" reaches "$PEER0"
up=$(initializations)
ip link set "$IF0" down
check "suspend and resume, down" suspends
ip link set "$IF0" up
check "... a host answers" reaches "$PEER0"
check "... the PHY is initialized as often as after one that was up" same "$(initializations)" "$up"
echo 0 >$TRACE/events/mdio/enable
done_testing
