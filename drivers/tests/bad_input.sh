#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# An invalid setting is rejected with a message that lists the valid ones, and the old setting is kept. The bounds are valid.
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
	before=$(ethtool "$show" "$IF0" 2>&1)
	if ethtool "$@" >$SAID 2>&1; then not_ok "ethtool $*: rejected"; else ok "ethtool $*: rejected: $(head -n 1 $SAID)"; fi
	if [ "$(ethtool "$show" "$IF0" 2>&1)" = "$before" ]; then ok "... and nothing changed"; else not_ok "... and nothing changed"; fi
}

# Every file that can be written. $said is what the log lists as valid: "LOW to HIGH", or names.
settings=$(files "$IF0" -perm -200)
check "there are settings" test -n "$settings"
for setting in $settings; do
	shown=$(get "$IF0" "$setting")
	refused "$setting" nonsense
	valid=${said##*"$setting": }
	case $valid in
	*[0-9]" to "[0-9]*)
		least=${valid% to *} greatest=${valid#* to }
		for value in -1 $((least - 1)) $((greatest + 1)) ''; do refused "$setting" "$value"; done
		for value in "$least" "$greatest" "$shown"; do
			check "$setting $value is set" put "$IF0" "$setting" "$value"
			check "... and kept" same "$(get "$IF0" "$setting")" "$value"
		done
		;;
	*)
		check "$setting: the log lists what the file shows" same "$valid" "$(echo "$shown" | tr -d '[]')"
		for value in 1 "$(echo "${valid%% *}" | tr '[:lower:]' '[:upper:]')" "$valid $valid" ''; do refused "$setting" "$value"; done
		;;
	esac
done

for which in rx tx; do
	ethtool_refuses -g -G "$IF0" $which 3
	ethtool_refuses -g -G "$IF0" $which 0
	ethtool_refuses -g -G "$IF0" $which $(($(ring_max "$IF0" RX) + 1))
done
ethtool_refuses -c -C "$IF0" tx-frames 0
ethtool_refuses -c -C "$IF0" tx-frames $(($(ring "$IF0" TX) + 1))
ethtool_refuses -c -C "$IF0" rx-usecs 9
ethtool_refuses -c -C "$IF0" tx-usecs 0
check "a host still answers" reaches "$PEER0"
done_testing
