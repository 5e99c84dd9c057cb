#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: modules
# long
# $CYCLES times: load, select the next combination of schemes, bring both interfaces up, reach a host, unload (every other time
# with the interfaces up).
. "${0%/*}/tap.sh"

unload() { rmmod "$DRIVER" && rmmod "$ENGINE"; }
load() { insmod "$MODULES/$ENGINE.ko" && insmod "$MODULES/$DRIVER.ko"; }
free_kb() { sync; echo 3 >/proc/sys/vm/drop_caches; sed -n 's/^MemFree: *\([0-9]*\) kB/\1/p' /proc/meminfo; }

fails "udev loads the driver at boot" grep -qE 'alias=(pci|usb):' "$MODULES/$DRIVER.ko"
check "unload what the lab loaded" unload
# shellcheck disable=SC2086
set -- $COMBINATIONS
cycle=0
first=
while [ $cycle -lt "$CYCLES" ]; do
	cycle=$((cycle + 1))
	combination=$1
	shift
	set -- "$@" "$combination"
	if ! load >$SAID 2>&1; then not_ok "cycle $cycle: load: $(cat $SAID)"; break; fi
	failed=
	for i in $IF0 $IF1; do schemes "$i" "${combination%/*}" "${combination#*/}" || failed="schemes on $i"; done
	ip addr add "${PEER0%.*}.1/24" dev "$IF0"
	for i in $IF0 $IF1; do ip link set "$i" up || failed="$i up"; done
	reaches "$PEER0" || failed="no answer"
	if [ $((cycle % 2)) = 0 ]; then for i in $IF0 $IF1; do ip link set "$i" down; done; fi
	unload >$SAID 2>&1 || failed="unload: $(cat $SAID)"
	if [ -z "$failed" ]; then ok "cycle $cycle, $combination"; else not_ok "cycle $cycle, $combination: $failed"; fi
	# Fewer cycles say nothing: memory varies, and KASAN keeps for some time what was freed.
	if [ $cycle = 20 ] && [ "$CYCLES" -ge 100 ]; then first=$(free_kb); fi
done
last=$(free_kb)
if [ -n "$first" ]; then
	if [ $((first - last)) -lt 1024 ]; then ok "no memory leak"; else not_ok "no memory leak"; fi
	note "free after 20 cycles: $first kB, after $CYCLES: $last kB"
fi
check "load again" load
done_testing
