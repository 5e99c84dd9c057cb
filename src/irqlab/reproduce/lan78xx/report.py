# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: the letter's tables beside the lab's, in the letter's order."""

from __future__ import annotations

from collections.abc import Callable

from irqlab.present import plots, series
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.series import Bar, BarGroup
from irqlab.reproduce import page
from irqlab.reproduce.lan78xx.configurations import DRIVERS, PAIRS, PATCHES, PROCESSORS, SPEEDS
from irqlab.reproduce.lan78xx.measure import TESTS, Tables

NUMBERS = {driver: number for number, driver in enumerate(DRIVERS)}
"""The style of each driver."""
COMPARED = PAIRS["kernel"]
"""The letter's drivers."""
PUBLISHED_AS = ("standard", "napi")
"""Their names in the letter."""
PUBLISHED = ("hollow", "the letter")
TITLES = tuple(chosen.title for chosen in DRIVERS.values())


def picture(tables: Tables) -> Group:
    """What the series gains here and in the letter: throughput, and CPU time for each bit."""
    return Group(
        plots=[
            _gains("Throughput: after / before the series", tables, lambda mbps, _busy, base_mbps, _base_busy: mbps / base_mbps),
            _gains(
                "CPU time per bit: after / before the series",
                tables,
                lambda mbps, busy, base_mbps, base_busy: (busy / mbps) / (base_busy / base_mbps),
            ),
        ],
        note="Filled: measured here, with the kernel's drivers. Hollow: the letter's boards. Throughput above 1 is more; CPU "
        "time below 1 is less. CPU time is what is not idle; as a ratio it can be compared between one core here and two or four "
        "there.",
    )


Gain = Callable[[float, float, float, float], float]
"""Of Mbit/s and busy per cent after the series, and before."""


def _gains(title: str, tables: Tables, gain: Gain) -> Plot:
    ours = {(row.test, row.board, row.driver): row for row in tables.iperf}
    groups = []
    for test in TESTS:
        bars = []
        for board in dict.fromkeys(row.board for row in tables.iperf):
            before, after = (ours.get((test, board, driver)) for driver in COMPARED)
            if before and after and before.mbps and after.mbps and before.idle_percent < 100:
                value = gain(after.mbps, 100 - after.idle_percent, before.mbps, 100 - before.idle_percent)
                bars.append(_bar(f"lab, {board}", value, f"{value:.2f}  lab, {board}", "in_tree", False))
        for row in tables.letter.by(lambda r: r.test)[test]:
            old, new = row.standard, row.napi
            if old.mbps and new.mbps and old.idle_percent is not None and new.idle_percent is not None:
                value = gain(new.mbps, 100 - new.idle_percent, old.mbps, 100 - old.idle_percent)
                bars.append(_bar(row.board, value, f"{value:.2f}  {row.board}", "in_tree", True))
        groups.append(BarGroup(test, bars))
    return page.plot(title, plots.grouped_bars(groups, title))


def _bar(name: str, value: float, text: str, driver: str, published: bool) -> Bar:
    number = NUMBERS[driver]
    look = series.published_style(number) if published else series.measured_style(number)
    return Bar(f"bar-{number}", name, look, value, text)


def sections(tables: Tables) -> list[Section]:
    """Plots and tables."""
    return [
        *(_test(tables, name) for name in TESTS),
        *page.listing(
            "ratios", "What the series does", "What the series does", "After by before, here and in the letter.", tables.ratios
        ),
        *page.listing(
            "ablation",
            "What each patch does",
            "Patches",
            f"The series' patches in our driver: {'; '.join(f'{patch}: {what}' for patch, what in PATCHES.items())}. Patches 1 "
            "and 4 change nothing that can be measured.",
            tables.ablation,
            note="with: added to standard; up to: in the series' order, against the patches before it; without: napi against "
            "napi without it. Changes are what the patch does.",
        ),
        *page.listing("forwarding", "Forwarding", "Forwarding", "64-byte frames through the DUT.", tables.forwarding),
        *page.listing("rrul", "Latency under load", "Latency", "What the answer to the letter asks for.", tables.rrul),
        *page.listing(
            "causes",
            "UDP under other conditions",
            "UDP",
            "UDP with the kernel's drivers under other conditions, which might explain where the lab and the letter differ.",
            tables.causes,
        ),
        *page.listing(
            "processors",
            "Several processors",
            "Processors",
            f"The letter's tables with {PROCESSORS} processors, as most of its boards have.",
            tables.processors,
        ),
        *page.listing(
            "sending",
            "How packets are sent",
            "Sending",
            "Our driver: each packet at once, and as the series does.",
            tables.sending,
        ),
        *page.listing(
            "hardware",
            "On stated hardware",
            "Hardware",
            "The letter's tests on a machine whose memory takes time, with the kernel's drivers before and after the series.",
            tables.hardware,
        ),
    ]


def _test(tables: Tables, test: str) -> Section:
    """One of the letter's tables, the lab's boards beside the letter's."""
    ours, theirs = tables.iperf.by(lambda r: r.test).get(test, ()), tables.letter.by(lambda r: r.test)[test]
    speed, idle = [], []
    for board in dict.fromkeys(row.board for row in ours):
        rows = [row for row in ours if row.board == board]
        name = f"lab, {board}: {SPEEDS[board]} MIPS"
        speed.append(BarGroup(name, [_bar(r.driver, r.mbps, f"{r.mbps:.0f}", r.driver, False) for r in rows]))
        idle.append(BarGroup(name, [_bar(r.driver, r.idle_percent, f"{r.idle_percent:.1f}", r.driver, False) for r in rows]))
    for row in theirs:
        both = [(driver, said) for driver, said in zip(COMPARED, (row.standard, row.napi), strict=True)]
        bars = [_bar(d, said.mbps, f"{said.mbps:.0f}", d, True) for d, said in both if said.mbps is not None]
        speed.append(BarGroup(row.board, bars))
        bars = [
            _bar(d, said.idle_percent, f"{said.idle_percent:.1f}", d, True) for d, said in both if said.idle_percent is not None
        ]
        idle.append(BarGroup(row.board, bars))
    lost = ("loss_percent",) if test == "UDP Rx" else ()
    values = ("mbps", *lost, "idle_percent")
    group = Group(legend=page.legend(TITLES, PUBLISHED))
    group.plots = [
        page.plot(f"{test}: Mbit/s", plots.grouped_bars(speed, f"{test}: Mbit/s")),
        page.plot(f"{test}: CPU idle, %", plots.grouped_bars(idle, f"{test}: CPU idle, %")),
    ]
    group.tables = [
        page.grid(
            tables.iperf.only(lambda r: r.test == test), "board", "driver", (*values, "instructions_per_frame"), DRIVERS,
            caption="The lab",
        ),
        page.table(
            tables.letter.only(lambda r: r.test == test), "board", *(f"{d}_{v}" for d in PUBLISHED_AS for v in values), "ratio",
            "idle_points", caption="The letter",
        ),
    ]  # fmt: skip
    group.note = "One core here; the letter's idle time is the mean over two or four."
    what = "receives" if test.endswith("Rx") else "sends"
    return Section(test.lower().replace(" ", "-"), test, test, f"The DUT {what}.", [group])
