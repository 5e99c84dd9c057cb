#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A USB device sleeps while its interface is down; ethtool wakes it, and so does the interface.
. "${0%/*}/tap.sh"
only_for irqmod_lan78xx

usb=/sys/class/net/$IF0/device/..
status() { cat "$usb/power/runtime_status"; }
# becomes STATUS: within some seconds.
becomes()
{
	tries=$((PATIENCE * 10))
	while [ $tries -gt 0 ]; do
		[ "$(status)" != "$1" ] || return 0
		tries=$((tries - 1))
		usleep 200000
	done
	status
	return 1
}

check "a host answers" reaches "$PEER0"
ethtool -e "$IF0" length 16 >/tmp/eeprom
echo 100 >"$usb/power/autosuspend_delay_ms"
echo auto >"$usb/power/control"
check "awake while the interface is up" same "$(status)" active
ip link set "$IF0" down
check "asleep" becomes suspended
check "the EEPROM is read" sh -c "ethtool -e $IF0 length 16 >/tmp/eeprom.asleep"
check "... as before" cmp /tmp/eeprom.asleep /tmp/eeprom
check "asleep again" becomes suspended
check "pause frames" ethtool -a "$IF0"
check "statistics" ethtool -S "$IF0"
check "up" ip link set "$IF0" up
check "... awake" becomes active
check "... a host answers" reaches "$PEER0"
echo on >"$usb/power/control"
done_testing
