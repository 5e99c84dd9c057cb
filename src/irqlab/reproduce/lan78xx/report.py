# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections, in the letter's order."""

from __future__ import annotations

from dataclasses import replace

from irqlab.present.parts import Group, Section
from irqlab.reproduce import page
from irqlab.reproduce.lan78xx.configurations import DRIVERS, SPEEDS
from irqlab.reproduce.lan78xx.measure import TESTS
from irqlab.reproduce.paper import Data, Tables

NAMES = {driver: chosen.title for driver, chosen in DRIVERS.items()}
VALUES = {"mbps": "Mbit/s", "loss_percent": "lost, %", "idle_percent": "idle, %"}


def sections(tables: Tables) -> list[Section]:
    """Tables."""
    return [
        *(_test(tables, name) for name in TESTS),
        _plain("ratios", "What NAPI does", "napi by standard, here and in the letter.", tables["ratios"]),
        _ablation(tables["ablation"]),
        _plain("forwarding", "Forwarding", "64-byte frames through the DUT.", _named(tables["forwarding"])),
        _plain("rrul", "Latency under load", "What the answer to the letter asks for.", _named(tables["rrul"])),
    ]


def _named(data: Data) -> Data:
    """The table with drivers by their names for people."""
    at = data.columns.index("driver")
    rows = [[NAMES.get(str(v), v) if n == at else v for n, v in enumerate(row)] for row in data.rows]
    return Data(data.title, data.columns, rows)


def _of(data: Data, test: str) -> Data:
    at = data.columns.index("test")
    return Data(data.title, data.columns, [row for row in data.rows if row[at] == test])


def _test(tables: Tables, name: str) -> Section:
    """One of the letter's tables, the lab's boards above the letter's."""
    values = VALUES if name == "UDP Rx" else {key: text for key, text in VALUES.items() if key != "loss_percent"}
    ours = page.grid(
        _named(_of(tables["iperf"], name)), ("board", "Board"), {**values, "instructions_per_frame": "instructions a frame"},
        NAMES.values(), by="driver", caption="The lab",
    )  # fmt: skip
    headings = {"board": "Board"}
    for driver in ("standard", "napi"):
        headings |= {f"{driver}_{key}": f"{driver}, {text}" for key, text in values.items()}
    headings |= {"ratio": "napi / standard", "idle_points": "idle, points"}
    theirs = replace(page.table(_of(tables["letter"], name), headings), caption="The letter")
    boards = ", ".join(f"{board}: {mips} MIPS" for board, mips in SPEEDS.items())
    group = Group(tables=[ours, theirs])
    group.note = f"One core here ({boards}); the letter's idle time is the mean over two or four."
    what = "receives" if name.endswith("Rx") else "sends"
    return Section(name.lower().replace(" ", "-"), name, name, f"The DUT {what}.", [group])


def _ablation(data: Data) -> Section:
    headings = {
        "change": "change", "measure": "measure", "what": "", "test": "test",
        "mbps": "Mbit/s", "mbps_change_percent": "change, %",
        "idle_percent": "idle, %", "idle_change_points": "change, points", "instructions_per_frame": "instructions a frame",
        "instructions_change_percent": "change, %",
    }  # fmt: skip
    group = Group(tables=[page.table(data, headings)])
    group.note = "without: left out of napi; with: added to standard. Changes are against napi and standard with nothing changed."
    return Section("ablation", "Which measure earns what", "Measures", "Each of the series' measures alone.", [group])


def _plain(key: str, title: str, lead: str, data: Data) -> Section:
    headings = {column: column.replace("_", " ") for column in data.columns}
    return Section(key, title, title, lead, [Group(tables=[page.table(data, headings)])])
