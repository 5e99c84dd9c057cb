#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# may log: eeprom_93cx6_write: timeout$
# The EEPROM is read and written, byte by byte and word by word; what is written stays, and on the 8255x the checksum follows.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

case $DRIVER in
irqmod_i8255x) magic=0x1234 mac=0 ;;
*) magic=0x8139 mac=14 ;;
esac
size=$(ethtool -e "$IF0" raw on | wc -c)
at() { bytes "$1" "$2" ethtool -e "$IF0" raw on; }
write() { ethtool -E "$IF0" magic $magic offset "$1" value "$2"; }
# The sum of all words, which are little-endian.
sum()
{
	ethtool -e "$IF0" raw on | hexdump -v -e '1/2 "%u\n"' | { total=0; while read -r word; do total=$((total + word)); done
		echo $((total & 0xffff)); }
}

check "the EEPROM is a 93C46" same "$size" 128
check "it has our address" same "$(at $mac 6)" "$(tr -d : <"/sys/class/net/$IF0/address")"
fails "a write without the magic number" ethtool -E "$IF0" magic 0x1 offset 64 value 1
fails "a write behind the end" ethtool -E "$IF0" magic $magic offset 128 value 1
if [ "$TIMED" = 0 ]; then
	skip "writes" "QEMU's models cannot, or only clear bits"
	fails "a write that has no effect" write 65 0xa5
	check "a host answers" reaches "$PEER0"
	done_testing
	exit
fi
check "an odd byte is written" write 65 0xa5
check "... an even one" write 64 0x5a
check "... and both are there" same "$(at 64 2)" 5aa5
check "a byte beside them is as it was" same "$(at 66 1)" 00
check "they are written again" write 64 0xff
check "... with bits that were 0" same "$(at 64 2)" ffa5
if [ "$DRIVER" = irqmod_i8255x ]; then check "the checksum is right" same "$(sum)" $((0xbaba)); fi
check "the interface goes down" ip link set "$IF0" down
check "the EEPROM is read meanwhile" same "$(at 64 2)" ffa5
check "... and written" write 65 0
check "the interface comes up" ip link set "$IF0" up
check "what was written is there" same "$(at 64 2)" ff00
if [ "$DRIVER" = irqmod_i8255x ]; then check "the checksum is right again" same "$(sum)" $((0xbaba)); fi
check "a host answers" reaches "$PEER0"
done_testing
