# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows that hunt."""

from __future__ import annotations

from types import SimpleNamespace

from irqlab.check.rows.races import kinds_of


def test_the_kinds_of_what_a_hunt_found() -> None:
    def finding(kind: str, what: str, said: str | None = None) -> SimpleNamespace:
        return SimpleNamespace(kind=kind, what=what, said=said)

    warning = "WARNING: CPU: 0 PID: 74 at kernel/irq/manage.c:1887 free_irq+0x1d3/0x340"
    samples = [
        SimpleNamespace(findings=(finding("mtu", "old"), finding("mtu", "old"))),
        SimpleNamespace(findings=(finding("failures-up build_skb", "message", warning),)),
    ]
    assert kinds_of(samples) == [  # type: ignore[arg-type]
        "mtu: old",
        "failures-up build_skb: WARNING at kernel/irq/manage.c free_irq()",
    ]
