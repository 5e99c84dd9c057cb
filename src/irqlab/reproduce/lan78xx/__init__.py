# SPDX-License-Identifier: GPL-2.0-or-later
"""'[PATCH net-next 0/6] lan78xx NAPI Performance Improvements' (2021), its four tables measured again."""

from __future__ import annotations

from irqlab.reproduce.claims import Because
from irqlab.reproduce.lan78xx import findings, measure, report
from irqlab.reproduce.lan78xx.configurations import UDP_RX, UDP_TX
from irqlab.reproduce.lan78xx.findings import claim_of
from irqlab.reproduce.paper import Paper

_WHY = {
    UDP_TX: "in part because QEMU's xHCI does not moderate its interrupts ([why](#why-udp-tx-gains-less)); the rest is not "
    "explained",
    UDP_RX: "in part because of GRO ([why](#why-udp-rx-loses)); the rest is not explained",
}

BECAUSE = {claim_of(test): Because("differs", why) for test, why in _WHY.items()} | {
    "Patch 5 (": Because(
        "differs", "GRO merges packets only with patch 6, which comes behind it: [added last](#why-they-differ) it gains"
    ),
    "Moving from a tasklet to NAPI alone": Because(
        "differs", "not explained: TCP Rx is slower, and UDP Rx, of which next to nothing arrives at this speed, faster"
    ),
}

PAPER = Paper(
    name="lan78xx",
    source="J. Efstathiades, [PATCH net-next 0/6] lan78xx NAPI Performance Improvements, netdev, 18 November 2021; and D. Täht's "
    "answer, which asks for rrul.",
    driver="irqmod_lan78xx",
    measure=measure.measure,
    claims=findings.CLAIMS,
    picture=report.picture,
    sections=report.sections,
    lead="The cover letter's four tables and its claims beside what the lab measured.",
    with_hardware=True,
    with_memory=True,
    with_long=True,
    kept_with=("--hardware", "bcm2837", "--long", "--ensemble", "3"),
    because=BECAUSE,
    takes_long="five drivers on two boards, each patch of the series in three ways, rrul of every driver",
    series=report.TITLES,
)
