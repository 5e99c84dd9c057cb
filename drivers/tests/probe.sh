#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: modules
# loads: e100
# loads: 8139cp
# may log: the EEPROM has a wrong checksum$|probe (of|with) .* failed with error -11$
# A loaded driver leaves the kernel's its devices, takes the one that it is told to take (driver_override), and gives it back. An
# 8255x whose EEPROM has a wrong checksum is refused, unless a parameter of the driver allows it.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

case $DRIVER in
irqmod_i8255x) theirs=e100 ;;
*) theirs=8139cp ;;
esac
function=$(device "$IF0") was=$(address "$IF0")
there=/sys/bus/pci/devices/$function
bound() { same "$(basename "$(readlink "$there/driver")")" "$1"; }
unbound() { [ ! -e "$there/driver" ]; }
# probed DRIVER: as drivers/README.md says, with this in driver_override.
probed()
{
	echo "$1" >"$there/driver_override"
	echo "$function" >"$there/driver/unbind"
	echo "$function" >/sys/bus/pci/drivers_probe
}
loaded() { insmod "$MODULES/$DRIVER.ko" "$@"; }
# works: the interface of the function is up, and a host answers.
works() { ip addr add "$was" dev "$IF0" && ip link set "$IF0" up && reaches "$PEER0"; }

check "unload what the lab loaded" rmmod "$DRIVER"
rmmod $theirs && insmod "$MODULES/$theirs.ko"
check "$theirs has the device" bound $theirs
check "load" loaded
check "$theirs still has it" bound $theirs
check "driver_override" probed "$DRIVER"
check "... we have it" bound "$DRIVER"
check "... a host answers" works
check "reverted" probed ""
check "... $theirs has it" bound $theirs
check "driver_override again" probed "$DRIVER"
check "... we have it again" bound "$DRIVER"
check "unload" rmmod "$DRIVER"
check "... nobody has it" unbound
echo >"$there/driver_override"
rmmod $theirs

if [ "$DRIVER/$TIMED" != irqmod_i8255x/1 ]; then
	[ "$DRIVER" != irqmod_i8255x ] || skip "a wrong checksum" "QEMU's model writes the right one at each reset"
	check "load again" loaded
	done_testing
	exit
fi
# The driver's writes keep the checksum right, so write to the EEPROM by its pins: clock 1, select 2, data 4.
pins() { printf %b "\\0$1\\00" | dd of="$there/resource1" bs=2 seek=7 conv=notrunc 2>/dev/null; }
# command BITS, from the start bit on.
command()
{
	pins 2
	for bit in $(echo "$1" | sed 's/./& /g'); do
		pins $((2 + 4 * bit))
		pins $((3 + 4 * bit))
	done
	pins 2
	pins 0
	usleep 20000
}
owns() { grep -c "$DRIVER" /proc/iomem; } # registers of functions
echo 1 >"$there/enable"
command 100110000 # writes are enabled
command 1011111110000000000000000 # the last word, the checksum, is 0
echo 0 >"$there/enable"
check "the checksum is wrong: load" loaded
check "... it is said" sh -c "dmesg | grep -q '$function: the EEPROM has a wrong checksum'"
check "... nobody has the device" unbound
check "... it has no interface" test ! -e "$there/net"
check "... we own the registers of the other one only" same "$(owns)" 1
check "unload" rmmod "$DRIVER"
check "load with eeprom_bad_csum_allow" loaded eeprom_bad_csum_allow=1
check "... we have the device" bound "$DRIVER"
check "... a host answers" works
check "a write makes the checksum right" ethtool -E "$IF0" magic 0x1234 offset 64 value 0
check "unload" rmmod "$DRIVER"
check "load again" loaded
check "... we have the device" bound "$DRIVER"
check "... a host answers" works
done_testing
