#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# An invalid setting is rejected with a message that lists the valid ones, and the old setting is kept.
. "${0%/*}/tap.sh"

# refused FILE VALUE
refused()
{
	before=$(get "$IF0" "$1")
	dmesg -c >/dev/null
	if put "$IF0" "$1" "$2" 2>$SAID; then
		not_ok "$1 '$2' is rejected"
	elif ! grep -q 'Invalid argument' $SAID; then
		not_ok "$1 '$2' is EINVAL: $(cat $SAID)"
	else
		ok "$1 '$2' is EINVAL"
	fi
	if [ "$(get "$IF0" "$1")" = "$before" ]; then ok "... and $before is kept"; else not_ok "... and $before is kept"; fi
	said=$(dmesg | grep "$1")
	if [ -n "$said" ]; then ok "... and the log has: ${said##*: }"; else not_ok "... and the log lists the valid values"; fi
}

# ethtool_refuses SHOW SET...: ethtool fails with a message; the settings it shows are unchanged.
ethtool_refuses()
{
	show=$1
	shift
	before=$(ethtool "$show" "$IF0")
	if ethtool "$@" >$SAID 2>&1; then not_ok "ethtool $*: rejected"; else ok "ethtool $*: rejected: $(head -n 1 $SAID)"; fi
	if [ "$(ethtool "$show" "$IF0")" = "$before" ]; then ok "... and nothing changed"; else not_ok "... and nothing changed"; fi
}

for direction in rx tx; do
	for value in nonsense NAPI 'napi off' 1; do refused ${direction}_scheme "$value"; done
done
for value in 0 -1 x 100000; do refused rx_weight $value; done
for value in 0 -1 x; do refused rx_cliff_pps $value; done
for value in 1000 -1 x; do refused rx_epsilon_permille $value; done
for value in 0 -1 x; do refused rx_rate_window_ms $value; done
for value in -1 x 100001; do refused rx_quota $value; done
for value in -1 x 97; do refused rx_queue_high $value; done
for value in -1 x 96; do refused rx_queue_low $value; done
for value in 0 101 x; do refused rx_cpu_percent $value; done
for value in -1 100 x; do refused rx_user_percent $value; done
for value in nonsense 1 NOTHING; do refused rx_timer_without $value; done
for value in nonsense 1 napi; do refused rx_timer_refill $value; done
for value in nonsense 1 refill; do refused tx_off_without $value; done

for which in rx tx; do
	ethtool_refuses -g -G "$IF0" $which 3
	ethtool_refuses -g -G "$IF0" $which 0
	ethtool_refuses -g -G "$IF0" $which $(($(ring_max "$IF0" RX) + 1))
done
ethtool_refuses -c -C "$IF0" tx-frames 0
ethtool_refuses -c -C "$IF0" tx-frames $(($(ring "$IF0" TX) + 1))
ethtool_refuses -c -C "$IF0" rx-usecs 0
ethtool_refuses -c -C "$IF0" tx-usecs 0
check "a host still answers" reaches "$PEER0"
done_testing
