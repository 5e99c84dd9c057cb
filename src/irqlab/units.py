# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers as an engineer writes them: 55.5 kpps, 4 430 instructions, 12.3 µs. Shared by the tables and the report.

Digits are grouped and units attached with a narrow no-break space; `plain` replaces it by an ordinary space, for a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from irqlab.errors import IrqlabError

NARROW = "\u202f"
"""NARROW NO-BREAK SPACE."""
NONE = "\u2013"
"""Shown where there is no value."""
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LEAST_S = 10.0
"""Of host time that a user may ask for."""


def plain(text: str) -> str:
    """The text with ordinary spaces."""
    return text.replace(NARROW, " ")


def grouped(value: float) -> str:
    """A whole number with its digits in groups of three: 4 430."""
    return f"{round(value):,}".replace(",", NARROW)


def figures(value: float, digits: int = 3) -> str:
    """A number rounded to `digits` significant figures; digits before the decimal point are always kept."""
    if value == 0:
        return "0"
    decimals = min(6, max(0, digits - 1 - _magnitude(value, digits)))
    return f"{value:,.{decimals}f}".replace(",", NARROW)


def _magnitude(value: float, digits: int) -> int:
    """The power of ten of the first digit, after rounding: 2 for 99.97 at three figures."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2])


def _rate(value: float) -> str:
    """Three figures, and at least one decimal below a thousand: 8.13, 55.5, 148.8, 1 488."""
    return f"{value:.1f}" if 99.95 <= abs(value) < 999.95 else figures(value)


def kpps(pps: float | None) -> str:
    """A frame rate in kpps, without the unit."""
    return NONE if pps is None else _rate(pps / 1e3)


def mbps(value: float | None) -> str:
    """A bit rate, without the unit."""
    return NONE if value is None else _rate(value)


def bit_rate(bps: float) -> str:
    """A line rate: 100 Mbit/s, 1 Gbit/s."""
    return f"{bps / 1e9:g}{NARROW}Gbit/s" if bps >= 1e9 else f"{bps / 1e6:g}{NARROW}Mbit/s"


def per_frame(value: float | None) -> str:
    """Interrupts per frame: 0, 0.012, 1.03, 41.2."""
    if value is None:
        return NONE
    return figures(value, 2 if abs(value) < 0.995 else 3)


def whole(value: float | None) -> str:
    """A value rounded to a whole number: counts, and quantities large enough to need no decimals."""
    return NONE if value is None else grouped(value)


def percent(ratio: float | None) -> str:
    """A share: 0 %, 0.12 %, 98.7 %, 100 %. Only exactly 0 and 1 are shown as 0 % and 100 %."""
    if ratio is None:
        return NONE
    value = ratio * 100
    if 0 < value < 0.01:
        text = "<0.01"
    elif 99.95 <= value < 100:
        text = ">99.9"
    else:
        text = "100" if value == 100 else "0" if value == 0 else f"{value:.2f}" if value < 1 else f"{value:.1f}"
    return f"{text}{NARROW}%"


def share(ratio: float) -> str:
    """A load relative to the throughput: 25 %, 110 %; from twice the throughput on, 2x, 4x."""
    return f"{ratio:g}{NARROW}\N{MULTIPLICATION SIGN}" if ratio >= 2 else f"{ratio * 100:g}{NARROW}%"


def share_near(ratio: float) -> str:
    """As `share`, of a ratio that was not asked for: 63.4 %."""
    return share(round(ratio, 3))


def share_of(ratio: float, what: str = "the throughput") -> str:
    """The same in a sentence: 110 % of the throughput, 4x the throughput."""
    return f"{share(ratio)}{' ' if ratio >= 2 else ' of '}{what}"


def duration(ns: float | None, digits: int = 3) -> str:
    """A time in the unit that suits it: 850 ns, 12.3 µs, 1.25 ms, 2.00 s."""
    if ns is None:
        return NONE
    if ns == 0:
        return "0"
    step = max(0, min(3, _magnitude(ns, digits) // 3))
    if step == 0 and float(ns).is_integer():
        return f"{ns:.0f}{NARROW}ns"
    return f"{figures(ns / 1000**step, digits)}{NARROW}{('ns', 'µs', 'ms', 's')[step]}"


def bytes_of(frame: int | str) -> str:
    """A frame size."""
    return "IMIX" if frame == "imix" else f"{frame}"


def direction(bidirectional: bool) -> str:
    """Which directions carry traffic."""
    return "both ways" if bidirectional else "one way"


def driver_of(row: Mapping[str, Any]) -> str:
    """A driver and its schemes, as the paper's variant or as receive/transmit: i8255x NAPI-TX-OFF, i8255x de/off."""
    rx, tx, variant = row.get("rx_scheme"), row.get("tx_scheme"), row.get("variant")
    if rx is None and tx is None:
        return str(row["driver"])
    return f"{str(row['driver']).removeprefix('irqmod_')} {variant or f'{rx or NONE}/{tx or NONE}'}"


def host_seconds(text: str, option: str) -> float:
    """A time of the host from an option: 300, 90s, 5m, 1h, 1d. Raises IrqlabError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    found = float(match[1]) * UNITS_S[match[2] or "s"] if match else 0.0
    if not match or found < LEAST_S:
        raise IrqlabError(f"{option} {text}: must be a time of at least {LEAST_S:.0f} s, for example 90s, 5m or 1h")
    return found
