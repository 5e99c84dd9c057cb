# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's claims, and what was measured of them."""

from __future__ import annotations

from irqlab.reproduce.claims import Claim, Finding, findings_of
from irqlab.reproduce.mogul1997.measure import Tables


def findings(tables: Tables) -> list[Finding]:
    """In the paper's order."""
    return findings_of(CLAIMS, tables)


CLAIMS: tuple[Claim[Tables, object], ...] = ()
