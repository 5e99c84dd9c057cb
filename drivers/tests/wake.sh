#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# may log: random: crng reseeded on system resumption
# Wake-up by magic packet is set, kept, and armed when the machine suspends, with the interface up and down.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

supported=$(ethtool "$IF0" | sed -n 's/^[[:space:]]*Supports Wake-on: //p')
if [ "$supported" = d ]; then
	skip "wake-up" "this chip cannot"
	done_testing
	exit
fi
now() { ethtool "$IF0" | sed -n 's/^[[:space:]]*Wake-on: //p'; }
enabled() { cat "/sys/class/net/$IF0/device/power/wakeup"; }

check "off at first" same "$(now)" d
check "... and the machine is not woken" same "$(enabled)" disabled
check "by magic packet" ethtool -s "$IF0" wol g
check "... is set" same "$(now)" g
check "... and the machine is woken" same "$(enabled)" enabled
fails "by ARP" ethtool -s "$IF0" wol a
check "... changes nothing" same "$(now)" g
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
check "suspend and resume" sh -c 'echo mem >/sys/power/state'
check "kept" same "$(now)" g
check "a host answers" reaches "$PEER0"
ip link set "$IF0" down
check "suspend and resume, down" sh -c 'echo mem >/sys/power/state'
ip link set "$IF0" up
check "kept after that" same "$(now)" g
check "a host answers after that" reaches "$PEER0"
check "none" ethtool -s "$IF0" wol d
check "... is set" same "$(now)" d
check "... and the machine is not woken" same "$(enabled)" disabled
done_testing
