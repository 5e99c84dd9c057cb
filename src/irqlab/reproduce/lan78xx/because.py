# SPDX-License-Identifier: GPL-2.0-or-later
"""Why what was measured differs from the letter: the experiments, by the claim that they explain (docs/papers/lan78xx.md)."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.lan78xx.configurations import UDP_RX, UDP_TX
from irqlab.reproduce.lan78xx.findings import claim_of

_WHY = {
    UDP_TX: "in part because QEMU's xHCI does not moderate its interrupts ([why](#why-udp-tx-gains-less)); the rest is not "
    "explained",
    UDP_RX: "in part because of GRO ([why](#why-udp-rx-loses)); the rest is not explained",
}

BECAUSE = {claim_of(test): Because("differs", why) for test, why in _WHY.items()} | {
    "Moving from a tasklet to NAPI alone": Because("differs", "not explained: TCP Rx is slower, by more than the 2 % that count"),
}
