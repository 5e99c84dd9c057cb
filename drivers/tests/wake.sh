#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each kind of wake-up is set in the chip. Wake-up by magic packet is kept, and armed when the machine suspends, with the
# interface up and down. What the driver has written then is read while the interface is down: bringing it up writes anew.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

# bits OFFSET MASK: of a register, in hexadecimal digits.
bits() { printf %02x $((0x$(register "$IF0" "$1" 1) & $2)); }
# written WHAT KINDS: these, and no other, wake the machine. CONFIG3 and CONFIG5 of the C+ have a bit for each kind.
written()
{
	config3=0 config5=0
	for kind in $2; do
		case $kind in
		p) config3=$((config3 | 0x10)) ;;
		g) config3=$((config3 | 0x20)) ;;
		u) config5=$((config5 | 0x10)) ;;
		m) config5=$((config5 | 0x20)) ;;
		b) config5=$((config5 | 0x40)) ;;
		esac
	done
	check "$1" same "$(bits 89 0x30) $(bits 216 0x70)" "$(printf '%02x %02x' $config3 $config5)"
}
# no_magic WHAT VALUE: bit 1 of byte 19 of the configuration of the 8255x: a magic packet does not wake the machine.
no_magic() { check "$1" same "$(bits $((120 + 19)) 2)" "$2"; }

# CONFIG1.PMEn. QEMU's model has it off after a reset.
[ "$DRIVER" = irqmod_i8255x ] || check "power management is on in the chip" same "$(bits 82 1)" 01
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
if [ "$DRIVER" = irqmod_rtl8139cp ]; then
	for kinds in p u m b "p u m b g" g; do
		check "by $kinds" ethtool -s "$IF0" wol "$(echo "$kinds" | tr -d ' ')"
		written "... is written" "$kinds"
	done
else
	no_magic "... but not while the interface is up" 02
fi
fails "by ARP" ethtool -s "$IF0" wol a
check "... changes nothing" same "$(now)" g
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
check "suspend and resume" sh -c 'echo mem >/sys/power/state'
check "kept" same "$(now)" g
check "a host answers" reaches "$PEER0"
ip link set "$IF0" down
# The chip does not know this address yet.
mac=$(cat "/sys/class/net/$IF0/address")
ip link set "$IF0" address 02:00:00:00:12:34
check "suspend and resume, down" sh -c 'echo mem >/sys/power/state'
if [ "$DRIVER" = irqmod_rtl8139cp ]; then
	written "... magic packet is written" g
	check "... frames to us, to all and to groups are received" same "$(register "$IF0" 68 1)" 0e
	check "... to any group" same "$(register "$IF0" 8 8)" ffffffffffffffff
	at=0
else
	no_magic "... a magic packet wakes the machine" 00
	at=$((120 + 39))
fi
check "... the chip has our address" same "$(register "$IF0" $at 6)" 020000001234
ip link set "$IF0" address "$mac"
ip link set "$IF0" up
check "kept after that" same "$(now)" g
check "a host answers after that" reaches "$PEER0"
[ "$DRIVER" = irqmod_rtl8139cp ] || no_magic "up: a magic packet does not wake the machine" 02
check "none" ethtool -s "$IF0" wol d
check "... is set" same "$(now)" d
check "... and the machine is not woken" same "$(enabled)" disabled
[ "$DRIVER" = irqmod_i8255x ] || written "... is written" ""
done_testing
