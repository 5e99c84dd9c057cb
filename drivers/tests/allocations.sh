#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# may log: ^(ref_tracker: |Microchip |mdio_bus |irqmod_\S+ \S+: (probe |BAR |no )|kobject: |sysctl |SLUB: |  (cache|node \d): )
# long
# The kernel's fault injection lets allocations of the driver and of the engine fail: first those that a command makes, one at a
# time; then some of all, at random, while commands are given and frames arrive. A command that fails can be repeated, and leaves
# the interface as it was.
. "${0%/*}/tap.sh"

DEBUG=/sys/kernel/debug
FAULTS="$DEBUG/failslab $DEBUG/fail_page_alloc"
FAR=32
NEAR=12 # a probe has hundreds of allocations, most of them in register_netdev()
MOST=3000 # allocations of a command
DEBUG_SIZE=4096
debugs=$(sed -n 's/^\([0-9a-f]*\) . add_dma_entry$/0x\1/p' /proc/kallsyms)
if [ ! -e /proc/self/fail-nth ] || [ ! -e $DEBUG/failslab ]; then
	skip "allocations fail" "the kernel has no fault injection (CONFIG_FAULT_INJECTION_DEBUG_FS, FAILSLAB, FAIL_PAGE_ALLOC)"
	done_testing
	exit
fi

# of MODULE DEPTH: only allocations with a function of this module among so many callers fail. Not those of DMA debugging, which
# would end it.
of()
{
	read -r _ size _ _ _ start _ <<-END
		$(grep "^$1 " /proc/modules)
	END
	for at in $FAULTS; do
		echo "$2" >"$at/stacktrace-depth"
		echo "${debugs:-0}" >"$at/reject-start"
		printf '0x%x\n' $((${debugs:-0} + DEBUG_SIZE)) >"$at/reject-end"
		echo "$start" >"$at/require-start"
		printf '0x%x\n' $((start + size)) >"$at/require-end"
	done
}

# at_random PERCENT: of those allocations; 0: none.
at_random() { for at in $FAULTS; do echo "$1" >"$at/probability"; done; }

# How often allocations fail, -1: without limit. The kernel counts down, also what fails by /proc/self/fail-nth.
limit() { for at in $FAULTS; do echo "$1" >"$at/times"; done; }
one_failed() { grep -qx 0 $DEBUG/failslab/times $DEBUG/fail_page_alloc/times; }

# each WHAT COMMAND AFTER [AS_BEFORE]: allocations of COMMAND fail, one at a time: each of the first $each_of, then more and more
# rarely (with USB each access to a register makes some). If COMMAND fails, AS_BEFORE says whether all is as before, and COMMAND
# must succeed when it is repeated. AFTER then says whether all is well, and makes COMMAND possible again. These are functions;
# COMMAND runs in a process of its own.
each()
{
	nth=0 tries=0 failures=0 failed=0
	while [ $nth -lt $MOST ]; do
		nth=$((nth + 1 + nth / each_of)) tries=$((tries + 1))
		limit 1
		if (echo $nth >/proc/self/fail-nth; $2) >$SAID 2>&1; then failed=0; else failed=1; fi
		if ! one_failed; then
			[ $failed = 0 ] && break
			not_ok "$1: fails, but no allocation did"
			sed 's/^/# /' $SAID
			return
		fi
		failures=$((failures + failed))
		if ! { [ $failed = 0 ] || { ${4:-true} && ($2); }; } >$SAID 2>&1; then
			not_ok "$1: allocation $nth: not as before, or the command fails once more"
			sed 's/^/# /' $SAID
			return
		fi
		if ! $3 >$SAID 2>&1; then
			not_ok "$1: allocation $nth, failed: $failed: what follows"
			sed 's/^/# /' $SAID
			return
		fi
	done
	$3 >/dev/null 2>&1
	if [ $nth -ge $MOST ]; then
		not_ok "$1: more than $MOST allocations"
		return
	fi
	ok "$1: $((tries - 1)) allocations, for $failures of them the command fails"
}

# Waits for the link, which takes long with USB: only if an allocation failed and the command did not.
works() { [ $failed = 1 ] || answers; }

answers() { reaches "$PEER0"; }

up() { exec /bin/ip link set "$IF0" up; }
bring_up() { ip link set "$IF0" up; }
down() { works && ip link set "$IF0" down; }

other_ring() { if [ "$(ring "$IF0" RX)" = 32 ]; then echo 64; else echo 32; fi; }
resize() { exec ethtool -G "$IF0" rx "$to"; }
resized() { answers && to=$(other_ring); }

device=$(basename "$(readlink -f "/sys/class/net/$IF0/device")")
driver=$(readlink -f "/sys/class/net/$IF0/device/driver")
was=$(ip -4 addr show dev "$IF0" | sed -n 's/^ *inet \([^ ]*\).*/\1/p')
bind() { echo "$device" >"$driver/bind"; }
bound() { ip addr add "$was" dev "$IF0"; bring_up && works && echo "$device" >"$driver/unbind"; }

switch() { echo "$scheme" >"$(file "$IF0" rx_scheme)"; }
switched() { answers && schemes "$IF0" napi $with; }

# with: a transmit scheme that goes with every receive scheme.
case $DRIVER in
*lan78xx) with=interrupt each_of=2 ;;
*) with=off each_of=32 ;;
esac
for at in $FAULTS; do
	echo N >"$at/ignore-gfp-wait"
	echo 0 >"$at/verbose"
done
echo 0 >$DEBUG/fail_page_alloc/min-order
schemes "$IF0" napi $with
check "a host answers" answers

of "$DRIVER" $FAR
ip link set "$IF0" down
each "up" up down
check "... an allocation failed" test $tries -gt 1
check "up again" bring_up
to=$(other_ring)
[ -z "$(ring "$IF0" RX)" ] || each "rings" resize resized answers
echo "$device" >"$driver/unbind"
of "$DRIVER" $NEAR
each "bind" bind bound
check "... an allocation failed" test $tries -gt 1
bind
bound_again() { ip addr add "$was" dev "$IF0"; bring_up && schemes "$IF0" napi $with && answers; }
check "bound again: a host answers" bound_again
of "$ENGINE" $FAR
for scheme in $RX_SCHEMES; do
	[ "$scheme" = napi ] || each "$scheme" switch switched answers
done

# xHCI: to cancel a transfer takes memory, too. Without it the transfer stays, and who cancels it waits for ever.
case $DRIVER in *lan78xx)
	skip "some allocations fail at random" "Linux's xHCI does not survive it (docs/use/findings.md)"
	done_testing
	exit
	;;
esac
limit -1
for module in $DRIVER $ENGINE; do
	of "$module" $FAR
	while :; do ping -q -c 100 -i 0.005 "$PEER0" || sleep 0.1; done >/dev/null 2>&1 &
	pings=$!
	at_random 10
	for one in $COMBINATIONS; do
		schemes "$IF0" "${one%/*}" "${one#*/}"
		ethtool -G "$IF0" rx "$(other_ring)"
		ip link set "$IF0" down
		ip link set "$IF0" up
	done >/dev/null 2>&1
	at_random 0
	kill $pings
	wait $pings 2>/dev/null
	bring_up
	check "some allocations of $module failed at random: a host answers afterwards" answers
done
done_testing
