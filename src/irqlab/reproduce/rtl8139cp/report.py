# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections, in the article's order."""

from __future__ import annotations

from irqlab.present import plots
from irqlab.present.parts import Group, Section
from irqlab.present.plots import Line
from irqlab.reproduce import page
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.rtl8139cp.configurations import NAMES


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    return [_receive(tables), _period(tables["period"]), _ablation(tables["ablation"]), _costs(tables)]


def _named(data: Data, column: str = "configuration") -> Data:
    """The table with configurations by their names for people."""
    at = data.columns.index(column)
    rows = [[NAMES.get(str(v), v) if n == at else v for n, v in enumerate(row)] for row in data.rows]
    return Data(data.title, data.columns, rows)


def _receive(tables: Tables) -> Section:
    data, capability = tables["receive"], tables["capability"]
    lines = []
    for number, name in enumerate(NAMES):
        points = [(float(r["frame_bytes"]), r[f"{name}_pps"] / 1e3) for r in capability.records()]
        lines.append(Line(f"series-{number}", NAMES[name], plots.style(number), points))
    group = Group(legend=page.legend(tuple(NAMES.values())))
    group.plots = [page.plot("Throughput without loss", plots.throughput_by_size(lines, ()))]
    headings = {
        "frame_bytes": "Frame, bytes", "configuration": "", "received_pps": "received, frames/s", "article_ipps": "article",
        "frames_per_run": "frames per run", "article_tput": "article", "rx_interrupts_per_run": "RX interrupts",
        "article_rxint": "article", "polls_done_per_run": "polls that emptied the ring", "article_done": "article",
        "frames_per_poll": "frames per poll",
    }  # fmt: skip
    gains = {
        "frame_bytes": "Frame, bytes", "before_pps": NAMES["before"], "after_pps": NAMES["after"], "napi_pps": NAMES["napi"],
        "gain_percent": "timer over 8139cp, %", "article_percent": "article's table, %",
        "gain_over_own_napi_percent": "timer over own NAPI, %", "capped": "wire is the limit",
    }  # fmt: skip
    polls = {
        "configuration": "", "offered_pps": "offered, frames/s", "frames_per_poll": "frames per poll",
        "rx_interrupts_per_frame": "RX interrupts a frame",
    }  # fmt: skip
    group.tables = [page.table(_named(data), headings), page.table(capability, gains), page.table(_named(tables["polls"]), polls)]
    group.note = (
        "Frame sizes are the article's, without the FCS. A run is of 1,000,000 frames offered at the wire's full rate, "
        "scaled from a "
        "shorter trial: there is no noise. The article's rates are beyond a 100 Mbit/s wire; see the findings."
    )
    return Section("receive", "Receiving", "Receiving", "The article's two tables, and the gain it claims.", [group])


def _period(data: Data) -> Section:
    headings = {
        "configuration": "", "period_us": "period, µs", "latency_p50_us": "p50, µs", "latency_p99_us": "p99, µs",
        "latency_max_us": "max, µs", "held_frames": "frames held", "loss_ratio": "loss",
        "full_rate_forwarded_pps": "forwarded at the wire's full rate, frames/s", "ring_limit_pps": "ring's limit, frames/s",
    }  # fmt: skip
    group = Group(tables=[page.table(_named(data), headings)])
    group.note = (
        "Frames held: the mean number of frames in the DUT, by Little's law (rate times mean latency). That is the memory the "
        "timer needs besides the ring. The ring's limit: descriptors per period."
    )
    return Section("period", "The timer's period", "Period", "What a longer period costs.", [group])


def _ablation(data: Data) -> Section:
    headings = {
        "what": "left out", "throughput_pps": "throughput, frames/s", "earns_percent": "it earns, %",
        "full_rate_forwarded_pps": "forwarded at the wire's full rate",
        "full_rate_instructions_per_frame": "instructions a frame there",
        "latency_p50_us": "p50, µs", "latency_max_us": "max, µs", "held_frames": "frames held",
    }  # fmt: skip
    group = Group(tables=[page.table(data, headings)])
    return Section("ablation", "Which measure earns what", "Measures", "Each of the article's measures left out alone.", [group])


def _costs(tables: Tables) -> Section:
    headings = {"configuration": "", "by": "by", "name": "", "instructions_per_frame": "instructions a frame"}
    group = Group(tables=[page.table(_named(tables["profile"]), headings)])
    return Section("costs", "Where the instructions go", "Instructions", "Short frames at the wire's full rate.", [group])
