#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: irqlab_tx_timeout
# may log: the chip does not restart: .*$
# A USB device whose restart after a transmit timeout fails is down, and can be brought up again.
. "${0%/*}/tap.sh"
only_for irqmod_lan78xx

FAIL=/sys/module/irqmod_lan78xx/parameters/fail_control
is_down() { tries=50; while ip link show "$IF0" | grep -q "[<,]UP[,>]"; do tries=$((tries - 1)); [ $tries -gt 0 ] || return 1; usleep 100000; done; }

check "a host answers" reaches "$PEER0"
echo Y >$FAIL
check "a transmit timeout" sh -c "echo $IF0 >/sys/module/irqlab_tx_timeout/parameters/interface"
check "... and the interface is down, since the chip does not restart" is_down
echo N >$FAIL
check "it comes up" ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
done_testing
