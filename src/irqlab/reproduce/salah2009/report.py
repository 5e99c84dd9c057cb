# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections, in the paper's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irqlab.present import plots
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.plots import Line
from irqlab.reproduce import page
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.salah2009 import rows

LOW_KPPS = 2.5
"""Figure 7(d) ends here."""
Record = Mapping[str, Any]


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    return [_cliff(tables), _budget(tables), _figure7(tables), _ping(tables), _switching(tables), _today(tables), _why(tables)]


def _lines(data: Data, y: str, scale: float = 1.0, only: Sequence[str] = rows.SERIES, driver: str | None = None) -> list[Line]:
    """One line per scheme over the offered kpps; the style is that of the scheme's place in SERIES."""
    found = []
    for number, scheme in enumerate(rows.SERIES):
        where = {"scheme": scheme} | ({"driver": driver} if driver else {})
        points = sorted(
            (r["offered_pps"] / 1e3, None if r[y] is None else r[y] * scale) for r in data.records(**where) if scheme in only
        )
        if points:
            found.append(Line(f"series-{number}", scheme, plots.style(number), points))
    return found


def _cut(lines: Sequence[Line], most_kpps: float) -> list[Line]:
    return [Line(one.gid, one.name, one.look, [p for p in one.points if p[0] <= most_kpps]) for one in lines]


def _over_load(title: str, lines: Sequence[Line], label: str, top: float | None = None) -> Plot:
    return page.plot(title, plots.over_load(lines, label, title, None, top))


def _driver(data: Data) -> str:
    """The paper's driver: the first in the table."""
    return str(next(data.records())["driver"])


def _all(data: Data) -> dict[str, str]:
    return {name: name.replace("_", " ") for name in data.columns}


def _cliff(tables: Tables) -> Section:
    sweep = tables["cliff_sweep"]
    lines = []
    for number, (name, what) in enumerate((("application_pps", "received, kpps"), ("cpu_used", "CPU used, %"))):
        scale = 1e-3 if number == 0 else 100
        points = [(r["offered_pps"] / 1e3, r[name] * scale) for r in sweep.records(application="receives")]
        lines.append(Line(f"series-{number}", what, plots.style(number), points))
    group = Group(
        plots=[_over_load("The application receives", lines[:1], "kpps"), _over_load("CPU used", lines[1:], "%", 105)],
        tables=[
            page.table(tables["cliff"], _all(tables["cliff"])),
            page.table(tables["cliff_costs"], _all(tables["cliff_costs"])),
            page.table(sweep, _all(sweep), folded=True),
        ],
    )
    intro = (
        "Section 4.2: with disable-enable, from outside by three signs (the CPU's is chosen, as in "
        "the paper), each found to 1 %, "
        "and from inside by the costs of an interrupt and of a packet."
    )
    return Section("cliff", "The cliff", "The cliff", intro, [group])


def _budget(tables: Tables) -> Section:
    receiving, echoing = tables["budget"], tables["budget_round_trip"]
    lines = []
    trips = []
    for number, scheme in enumerate(dict.fromkeys(r["scheme"] for r in receiving.records())):
        style = plots.style(number)
        points = [(r["offered_pps"] / 1e3, r["application_pps"] / 1e3) for r in receiving.records(scheme=scheme)]
        lines.append(Line(f"budget-{number}", scheme, style, points))
        times = [(r["offered_pps"] / 1e3, r["p50_ns"] / 1e3 if r["p50_ns"] else None) for r in echoing.records(scheme=scheme)]
        trips.append(Line(f"trip-{number}", scheme, style, times))
    group = Group(
        plots=[_over_load("Figure 6(a): received", lines, "kpps"), _over_load("Figure 6(b): round trip, median", trips, "µs")],
        tables=[page.table(receiving, _all(receiving)), page.table(echoing, _all(echoing), folded=True)],
        note="Lines in the order of the table: the smallest budget first. Of a budget below 64 the poll's weight is lowered with "
        "it; the last row is the sysctl alone, which today's net_rx_action looks at between polls only.",
    )
    return Section("budget", "NAPI's budget (figure 6)", "Budget", "net.core.netdev_budget under the application.", [group])


def _figure7(tables: Tables) -> Section:
    data, trips = tables["application"], tables["round_trip"]
    driver = _driver(data)
    only = (rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, rows.ADAPTIVE)
    times = _lines(trips, "p50_ns", 1e-3, only, driver)
    group = Group(
        legend=page.legend(rows.SERIES[:5]),
        plots=[
            _over_load("Figure 7(a): received by the application", _lines(data, "application_pps", 1e-3, only, driver), "kpps"),
            _over_load("Figure 7(b): lost", _lines(data, "loss_ratio", 100, only, driver), "%", 105),
            _over_load("Figure 7(c): round trip, median", times, "µs"),
            _over_load("Figure 7(d): at low rates", _cut(times, LOW_KPPS), "µs"),
            _over_load("Figure 7(e): interrupts", _lines(data, "interrupts_per_s", 1e-3, only, driver), "thousand/s"),
            _over_load("Figure 7(f): CPU left", _lines(data, "cpu_available", 100, only, driver), "%", 105),
            _over_load("ksoftirqd's run time", _lines(data, "ksoftirqd_share", 100, only, driver), "%", 105),
            _over_load("Round trip, p99", _lines(trips, "p99_ns", 1e-3, only, driver), "µs"),
        ],
        tables=[page.table(data, _all(data), folded=True), page.table(trips, _all(trips), folded=True)],
    )
    return Section("figure7", "The receiving application (figure 7)", "Figure 7", "Hybrid leaves DE at the cliff.", [group])


def _ping(tables: Tables) -> Section:
    data = tables["ping"]
    lines = _lines(data, "mean_ns", 1e-3)
    group = Group(
        legend=page.legend(rows.SERIES[:5]),
        plots=[_over_load("Figure 8(a)", lines, "µs"), _over_load("Figure 8(b)", _cut(lines, LOW_KPPS), "µs")],
        tables=[page.table(data, _all(data), folded=True)],
    )
    return Section("ping", "Pings (figure 8)", "Figure 8", "Mean round trip of ICMP echoes, which the kernel answers.", [group])


def _switching(tables: Tables) -> Section:
    names = ("switches", "settling", "estimator")
    group = Group(
        tables=[page.table(tables[name], _all(tables[name])) for name in names],
        note="Bursts: 10 ms on at twice the mean, 10 ms off. `windows`: the shortest burst after "
        "which hybrid had switched. `taken`: off the ring; `missed`: what the NIC had no room for; the driver counts both.",
    )
    intro = "At the cliff, after steps, and the estimate of a constant load."
    return Section("switching", "Hybrid's switching", "Switching", intro, [group])


def _today(tables: Tables) -> Section:
    data, trips = tables["application"], tables["round_trip"]
    groups = []
    for driver in dict.fromkeys(r["driver"] for r in data.records()):
        only = (rows.NAPI, rows.HYBRID, rows.ADAPTIVE, rows.THREADED, rows.DEFERRED, rows.BUSY)
        groups.append(
            Group(
                heading=str(driver),
                legend=page.legend(rows.SERIES),
                plots=[
                    _over_load("Received by the application", _lines(data, "application_pps", 1e-3, only, driver), "kpps"),
                    _over_load("Round trip, median", _lines(trips, "p50_ns", 1e-3, only, driver), "µs"),
                    _over_load("Interrupts", _lines(data, "interrupts_per_s", 1e-3, only, driver), "thousand/s"),
                    _over_load("CPU left", _lines(data, "cpu_available", 100, only, driver), "%", 105),
                ],
            )
        )
    sweep, sweep_trips = tables["sweep"], tables["sweep_round_trip"]
    tail = [page.table(sweep, _all(sweep), folded=True), page.table(sweep_trips, _all(sweep_trips), folded=True)]
    groups.append(Group(heading="Settings swept", tables=tail))
    intro = (
        "Threaded NAPI, napi_defer_hard_irqs with gro_flush_timeout, busy polling; of each the "
        "setting with which the application "
        "receives most in sum at 1, 2 and 4 times the cliff. IRQ suspension came with Linux "
        "6.13 and is in neither kernel measured here."
    )
    return Section("today", "The schemes of today's kernel", "Today", intro, groups)


def _why(tables: Tables) -> Section:
    names = ("overload", "starvation")
    group = Group(tables=[page.table(tables[name], _all(tables[name])) for name in names])
    intro = "Where the instructions go under overload, as shares of the window, and what is left of an application over seconds."
    return Section("why", "Why", "Why", intro, [group])
