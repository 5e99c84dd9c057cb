# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the tables and pictures of the papers' documents from docs/papers, so that no figure is typed.

    python -m tools.paper_tables              # all
    python -m tools.paper_tables rtl8139cp

A table stands between <!-- table NAME --> and <!-- end -->. Tables of a run that is not kept are left as they are. Every
paper has the table `claims`. The tables of salah2009.md are in tools.salah2009_tables; those of cost-model.md are of the
board's file.
tests/unit/test_paper_documents.py fails if a document is not what this script writes.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Sequence
from pathlib import Path

from irqlab import units
from irqlab.config import hardware
from irqlab.config.schemes import VARIANTS
from irqlab.present import series
from irqlab.present.parts import Plot
from irqlab.report.picture import Panel, write
from irqlab.reproduce import PAPERS, find
from irqlab.reproduce.claims import WITH_COSTS
from irqlab.reproduce.lan78xx.configurations import DRIVERS
from irqlab.reproduce.mogul1997.causes import DIP
from irqlab.reproduce.spanos2008 import report
from irqlab.reproduce.spanos2008.curves import CollapseRow, LoadRow
from irqlab.reproduce.spanos2008.differences import WITH_COSTS as BECAUSE_WITH_COSTS
from irqlab.reproduce.spanos2008.model import ModelSizeRow
from irqlab.reproduce.spanos2008.phases import NAMES, PHASES, REST
from irqlab.reproduce.spanos2008.throughput import ThroughputRow
from irqlab.reproduce.table import tables_from
from tools import salah2009_tables
from tools.kept import Kept, read, side_by_side
from tools.pages import DOCS, Row, between

NONE = units.NONE
Cell = Callable[[Row], str]


def number(name: str, digits: int = 1, scale: float = 1.0, sign: bool = False) -> Cell:
    """A column's number with so many digits behind the point, times a factor."""

    def cell(row: Row) -> str:
        if not row[name]:
            return NONE
        return f"{scale * float(row[name]):{'+' if sign else ''},.{digits}f}"

    return cell


def text(name: str) -> Cell:
    """A column as it is."""
    return lambda row: row[name] or NONE


def kpps(name: str) -> Cell:
    """A column in kpps."""
    return number(name, 1, 1e-3)


def percent(name: str) -> Cell:
    """A share in per cent."""
    return number(name, 1, 100)


def both(first: Cell, second: Cell) -> Cell:
    """`first (second)`."""
    return lambda row: f"{first(row)} ({second(row)})"


def rows(found: Sequence[Row], columns: dict[str, Cell], texts: int = 1) -> str:
    """A line for each row. The first `texts` columns are text."""
    out = [f"| {' | '.join(columns)} |", "|" + "---|" * texts + "---:|" * (len(columns) - texts)]
    out += ["| " + " | ".join(cell(row) for cell in columns.values()) + " |" for row in found]
    return "\n".join(out)


def grid(found: Sequence[Row], down: str, across: str, cell: Cell, head: str) -> str:
    """A line for each value of one column, a column for each of another."""
    lines, names = (list(dict.fromkeys(row[key] for row in found)) for key in (down, across))
    cells = {(row[down], row[across]): cell(row) for row in found}
    out = [f"| {head} | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    out += [f"| {line} | {' | '.join(cells.get((line, name), NONE) for name in names)} |" for line in lines]
    return "\n".join(out)


def transposed(found: Sequence[Row], by: str, lines: dict[str, Cell]) -> str:
    """A column for each row, a line for each of `lines`."""
    out = [f"| | {' | '.join(row[by] for row in found)} |", f"|---|{'---:|' * len(found)}"]
    out += [f"| {name} | {' | '.join(cell(row) for row in found)} |" for name, cell in lines.items()]
    return "\n".join(out)


def spanos(kept: Kept) -> dict[str, str]:
    """Those of docs/papers/spanos2008.md; a set with the costs of the board, too, named `... (costs)`."""
    found: dict[str, str] = {}
    for end, tail in (("", ""), ("_hardware", " (costs)")):
        first = kept(f"table1_throughput{end}")
        if not first:
            continue
        cell = both(number("throughput_mbps"), lambda r: f"{number('paper_mbps')(r)}, {number('ratio', 2)(r)}")
        found[f"table 1{tail}"] = grid(first, "frame_bytes", "variant", cell, "bytes")
        if not end:
            found["table 1 without the wire"] = grid(first, "frame_bytes", "variant", number("free_mbps"), "bytes")
        cell = lambda r: f"{number('throughput_mbps')(r)} / {number('free_mbps')(r)} ({number('free_ratio', 2)(r)})"  # noqa: E731
        if todays := kept(f"today{end}"):
            found[f"today{tail}"] = grid(todays, "frame_bytes", "schemes", cell, "bytes")
        gains = [r for r in kept(f"table2_improvement{end}") if r["printed_percent"]]
        cell = lambda r: " / ".join(  # noqa: E731
            number(name, 1, 1.0, True)(r) for name in ("improvement_percent", "paper_percent", "printed_percent")
        )
        found[f"table 2{tail}"] = grid(gains, "frame_bytes", "variant", cell, "bytes")
        columns = {"variant": text("variant")}
        for head, name in (("offered", "offered"), ("received", "received"), ("transmitted", "transmitted")):
            columns[head] = number(f"{name}_frames", 0)
        columns |= {"RX interrupts": number("rx_interrupts", 0), "TX interrupts": number("tx_interrupts", 0)}
        columns |= {"paper: transmitted": number("paper_transmitted_frames", 0)}
        columns |= {"RX": number("paper_rx_interrupts", 0), "TX": number("paper_tx_interrupts", 0)}
        found[f"table 3{tail}"] = rows(kept(f"table3_interrupts{end}"), columns)
        columns = {
            "variant": text("variant"), "bytes": text("frame_bytes"), "loss-free, kpps": kpps("loss_free_pps"),
            "most forwarded, kpps": kpps("max_forwarded_pps"), "collapse at, kpps": kpps("collapse_pps"),
            "collapse / loss-free": number("collapse_ratio", 2), "at the wire's rate / most": number("plateau_ratio", 4),
        }  # fmt: skip
        found[f"figure 5{tail}"] = rows(kept(f"figure5_collapse{end}"), columns)
        columns = {
            "variant": text("variant"),
            "T_constant, µs": lambda r: f"{number('t_constant_us', 2)(r)} ± {number('t_constant_error_us', 2)(r)}",
            "paper": number("paper_t_constant_us"),
            "k, ns/byte": lambda r: f"{number('k_us_per_byte', 2, 1e3)(r)} ± {number('k_error_us_per_byte', 2, 1e3)(r)}",
            "paper ": number("paper_k_us_per_byte", 0, 1e3),
            "R²": number("r2", 5), "largest residual, µs": number("max_residual_us", 3),
        }  # fmt: skip
        found[f"table 4{tail}"] = rows(kept(f"table4_model{end}"), columns)
        if not end:
            figure = kept("figure6_model")
            cell = both(number("model_capped_mbps"), number("throughput_mbps"))
            found["figure 6"] = grid(figure, "frame_bytes", "variant", cell, "bytes")
            found["figure 7"] = grid(figure, "frame_bytes", "variant", number("model_mbps"), "bytes")
        every = (*PHASES, REST)
        lines = {
            NAMES[p]: (lambda r, p=p: f"{number(f'{p}_instructions', 0)(r)} / {number(f'{p}_us', 2)(r)}") for p in every
        } | {
            "sum": lambda r: f"{number('sum_instructions', 0)(r)} / {number('sum_us', 2)(r)}",
            "1/rate, µs": number("per_frame_us", 2),
            "sum off by, %": number("sum_error_percent", 2, 1, True),
            "paper's formula, µs": number("paper_total_us", 2),
            "interrupts enabled, at most (phases of the paper's)": lambda r: (
                f"{number('enabled_share', 0, 100)(r)} % ({number('paper_enabled_share', 0, 100)(r)} %)"
            ),
            "interrupts per frame (paper)": both(number("interrupts_per_frame", 4), number("paper_interrupts_per_frame", 4)),
        }  # fmt: skip
        found[f"table 5{tail}"] = transposed(kept(f"table5_phases{end}"), "variant", lines)
    caused = kept("causes_throughput")
    if caused:
        columns = {
            "cause": text("cause"), "setting": text("setting"), "bytes": text("frame_bytes"), "variant": text("variant"),
            "throughput, kpps": kpps("throughput_pps"), "instructions a frame": number("instructions_per_frame", 0),
        }  # fmt: skip
        found["causes"] = rows(caused, columns, 4)
        columns = {
            "condition": text("setting"), "loss-free, kpps": kpps("loss_free_pps"), "collapse at, kpps": kpps("collapse_pps"),
            "collapse / loss-free": number("collapse_ratio", 2), "paper": number("paper_collapse_ratio", 2),
        }  # fmt: skip
        found["collapse under conditions"] = rows(kept("causes_collapse"), columns)
        each = kept("causes_interrupts")
        cell = both(percent("forwarded_share"), percent("paper_forwarded_share"))
        found["table 3 under conditions"] = grid(each, "setting", "variant", cell, "forwarded, % of the frames offered (paper)")
        cell = both(number("rx_interrupts_per_frame", 4), number("paper_rx_interrupts_per_frame", 4))
        found["interrupts under conditions"] = grid(each, "setting", "variant", cell, "RX interrupts a frame (paper)")
    columns = {
        "variant": text("variant"), "trial, s": number("seconds", 0), "short trials, kpps": number("short_pps", 2, 1e-3),
        "offered, kpps": number("offered_pps", 2, 1e-3), "frames": number("sent_frames", 0), "lost": number("lost_frames", 0),
        "forwarded, kpps": number("forwarded_pps", 2, 1e-3),
    }  # fmt: skip
    if kept("long_trials"):
        columns["first lost after, s"] = number("first_lost_s", 2)
        found["long trials"] = rows([{"first_lost_s": ""} | row for row in kept("long_trials")], columns)
    if kept("long_disturbed"):
        columns = {
            "variant": text("variant"), "load, %": number("share", 0, 100), "offered, kpps": number("offered_pps", 2, 1e-3),
            "burst, frames": number("burst_frames", 0), "lost": number("lost_frames", 0),
            "in the last second": number("lost_last_second", 0), "p50, µs": number("latency_p50_us", 0),
            "max, µs": number("latency_max_us", 0), "instructions a frame": number("instructions_per_frame", 0),
        }  # fmt: skip
        found["two states"] = rows(kept("long_disturbed"), columns)
    errors = kept("hardware_errors")
    if errors:
        columns = {
            "cells": text("cells"), "how many": text("count"), "instructions alone, %": number("raw_error_percent"),
            "with costs, %": number("error_percent"),
        }  # fmt: skip
        found["errors"] = rows(errors, columns)
        columns = {
            "": text("term"), "cost, ns": number("cost_ns"), "±": number("standard_error_ns"),
            "left-out error, %": number("left_out_error_percent"),
            "error of predicted cells, %": number("predicted_error_percent"),
        }  # fmt: skip
        found["terms"] = rows(kept("hardware_terms"), columns)
    return found


def spanos_pictures(kept: Kept) -> None:
    """Figures 4 to 7: instructions alone, and with the costs of the board."""
    legend = list(enumerate(VARIANTS))
    for end, name in (("", ""), ("_hardware", "-costs")):
        first = kept.table(f"table1_throughput{end}", ThroughputRow)
        loads, ends = kept.table(f"figure5_curves{end}", LoadRow), kept.table(f"figure5_collapse{end}", CollapseRow)
        model = kept.table(f"figure6_model{end}", ModelSizeRow)
        if not first or not loads or not ends or not model:
            continue
        plots = report.throughput_plots(first)
        titles = ("Figure 4: measured (solid), the paper (dashed)", "Relative to ORIGINAL")
        draw(f"spanos2008-throughput{name}", plots, titles, legend)
        sizes = dict.fromkeys(row.frame_bytes for row in ends)
        plots = [plot for size in sizes for plot in report.overload_plots(loads, ends, size)]
        titles = (f"Figure 5: {plots[0].title}", f"Figure 5: {plots[-1].title}")
        draw(f"spanos2008-overload{name}", (plots[0], plots[-1]), titles, legend)
        plots = report.model_plots(model)
        titles = ("Figure 6: measured (solid), model (dashed)", "Figure 7: the model without the wire")
        draw(f"spanos2008-model{name}", plots, titles, legend)


def first_picture(kept: Kept) -> None:
    """The plots that the paper's report begins with, as docs/images/PAPER; nothing if a table is not kept."""
    paper = find(kept.paper)
    tables = tables_from(typing.get_type_hints(paper.measure)["return"], kept.tables)
    group = paper.picture(tables) if tables else None
    if not group:
        return
    legend = [(int(one.key), one.text) for one in group.legend if one.key.isdigit()]
    last = len(group.plots) - 1
    half = (len(legend) + 1) // 2 if last % 2 else 0
    below = {last - 1: legend[:half], last: legend[half:]}
    panels = [Panel(plot.title, str(plot.svg), below.get(n, ()), series.measured_style) for n, plot in enumerate(group.plots)]
    write(DOCS / "images", kept.paper, panels)


def draw(name: str, plots: Sequence[Plot], titles: Sequence[str], legend: Sequence[tuple[int, str]]) -> None:
    """Two plots side by side, with half of the legend below each."""
    half = len(legend) // 2
    parts = zip(titles, plots, (legend[:half], legend[half:]), strict=True)
    write(DOCS / "images", name, [Panel(title, str(plot.svg), part, series.measured_style) for title, plot, part in parts])


TITLES = {"before": "8139cp (NAPI)", "after": "ours, timer 1 ms", "napi": "ours, NAPI"}


def rtl8139cp(kept: Kept) -> dict[str, str]:
    """Those of docs/papers/rtl8139cp.md."""
    found: dict[str, str] = {}

    def title(row: Row) -> str:
        us = row.get("period_us")
        return f"ours, timer {float(us):,.0f} µs" if us else TITLES[row["configuration"]]

    columns: dict[str, Cell] = {"frame, configuration": lambda r: f"{r['frame_bytes']}, {TITLES[r['configuration']]}"}
    for head, name, theirs in (
        ("received, frames/s", "received_pps", "article_ipps"), ("taken in, of 1,000,000", "frames_per_run", "article_tput"),
        ("RX interrupts", "rx_interrupts_per_run", "article_rxint"),
        ("polls that emptied the ring", "polls_done_per_run", "article_done"),
    ):  # fmt: skip
        columns |= {head: number(name, 0), f"article{' ' * len(columns)}": number(theirs, 0)}
    found["receive"] = rows(kept("receive"), columns | {"frames per poll": number("frames_per_poll", 2)})
    found["capability"] = rows(
        kept("capability"),
        {
            "frame": text("frame_bytes"), "8139cp": number("before_pps", 0), "timer, 1 ms": number("after_pps", 0),
            "our NAPI": number("napi_pps", 0), "timer over 8139cp, %": number("gain_percent", 1, 1, True),
            "article's table, %": number("article_percent", 1, 1, True),
            "timer over our NAPI, %": number("gain_over_own_napi_percent", 1, 1, True),
            "limit": lambda r: "the wire" if r["capped"].lower() == "true" else "",
        },
        0,
    )  # fmt: skip
    found["polls"] = rows(
        kept("polls"),
        {
            "configuration": title, "offered, frames/s": number("offered_pps", 0),
            "frames per poll": number("frames_per_poll", 2),
            "RX interrupts a frame": number("rx_interrupts_per_frame", 3),
        },
    )  # fmt: skip
    found["period"] = rows(
        kept("period"),
        {
            "configuration": title, "p50, µs": number("latency_p50_us"), "p99, µs": number("latency_p99_us"),
            "max, µs": number("latency_max_us"), "frames held": number("held_frames", 2),
            "forwarded of the wire's full rate, frames/s": number("full_rate_forwarded_pps", 0),
            "ring's limit": number("ring_limit_pps", 0),
        },
    )  # fmt: skip
    chips = kept("chips")
    if chips:
        shown = {
            "configuration": text("configuration"),
            "period, µs": text("period_us"),
            "refill": text("refill"),
        }
        gains = {
            "throughput, frames/s": number("throughput_pps", 0),
            "over the kernel's driver, %": number("gain_percent", 1, 1, True),
            "over our NAPI, %": number("gain_over_own_napi_percent", 1, 1, True),
        }
        found["chips"] = rows(chips, {"chip": text("chip")} | shown | gains, 4)
        found["rules"] = rows(
            kept("rules"),
            {
                "refill": text("refill"), "period, µs": text("period_us"), "throughput, frames/s": number("throughput_pps", 0),
                "to the first rule, %": number("gain_percent", 1, 1, True),
                "of the wire's full rate, frames/s": number("full_rate_forwarded_pps", 0), "p50, µs": number("latency_p50_us"),
            },
        )  # fmt: skip
        if kept("cards"):
            found["cards"] = rows(
                kept("cards"),
                {
                    "card": text("card"), "configuration": text("configuration"),
                    "throughput, frames/s": number("throughput_pps", 0),
                    "over the kernel's driver, %": number("gain_percent", 1, 1, True),
                },
                2,
            )  # fmt: skip
        if kept("hardware"):
            more = {"instructions a frame": number("instructions_per_frame", 0)}
            found["hardware"] = rows(kept("hardware"), {"hardware": text("hardware")} | shown | gains | more, 4)
        found["provenance"] = rows(
            kept("provenance"),
            {
                "bytes": text("frame_bytes"), "Ipps: article": number("article_ipps", 0), "HOWTO": number("howto_ipps", 0),
                "Tput: article": number("article_tput", 0), "HOWTO ": number("howto_tput", 0),
                "Rxint: article": number("article_rxint", 0), "HOWTO  ": number("howto_rxint", 0),
                "article's second table": number("second_rxint", 0), "Done: HOWTO": number("howto_done", 0),
                "article's second table ": number("second_done", 0),
            },
            0,
        )  # fmt: skip
    found["ablation"] = rows(
        kept("ablation"),
        {
            "left out": text("what"), "throughput, frames/s": number("throughput_pps", 0),
            "it earns, %": number("earns_percent", 1, 1, True),
            "of the wire's full rate, frames/s": number("full_rate_forwarded_pps", 0),
            "instructions a frame there": number("full_rate_instructions_per_frame", 0), "p50, µs": number("latency_p50_us"),
        },
    )  # fmt: skip
    return found


def lan78xx(kept: Kept) -> dict[str, str]:
    """Those of docs/papers/lan78xx.md."""

    def cell(row: Row) -> str:
        lost = f", {number('loss_percent', 1)(row)} % lost" if float(row["loss_percent"] or 0) else ""
        return f"{number('mbps', 0)(row)}, {number('idle_percent', 1)(row)} %, {number('instructions_per_frame', 0)(row)}{lost}"

    def named(name: str, *keys: str) -> list[Row]:
        """A table's rows with `keys` in one column, and the drivers' titles."""
        return [
            row | {"cell": ", ".join(row[key] for key in keys), "driver": DRIVERS[row["driver"]].title if "driver" in row else ""}
            for row in kept(name)
        ]

    found = {
        "letter": grid(named("iperf", "test", "board"), "cell", "driver", cell, ""),
        "hardware": grid(named("hardware", "nic", "test"), "cell", "driver", cell, ""),
        "ratios": rows(
            kept("ratios"),
            {
                "test": text("test"), "board": text("board"), "drivers": text("drivers"), "after / before": number("ratio", 2),
                "the letter": lambda r: f"{number('letter_ratio_least', 2)(r)} to {number('letter_ratio_most', 2)(r)}",
                "idle, points": number("idle_points", 1, 1, True),
                "the letter ": lambda r: " to ".join(
                    number(f"letter_idle_points_{end}", 1, 1, True)(r) for end in ("least", "most")
                ),
            },
            3,
        ),
    }  # fmt: skip
    changes = ("mbps_change_percent", "idle_change_points", "instructions_change_percent")
    how = {"with": "patch {} added to standard", "up to": "patch {} in the series' order", "without": "patch {} added last"}
    steps = [row | {"cell": how[row["change"]].format(row["patch"])} for row in kept("ablation") if row["patch"] != "0"]
    effect = lambda r: " / ".join(number(name, 1, 1, True)(r) for name in changes)  # noqa: E731
    found["patches"] = grid(sorted(steps, key=lambda r: list(how).index(r["change"])), "cell", "test", effect, "")
    base = [row | {"cell": "standard"} for row in kept("ablation") if row["patch"] == "0"]
    found["standard"] = grid(base, "cell", "test", lambda r: cell(r | {"loss_percent": ""}), "Mbit/s, idle, instructions a frame")
    frames = lambda r: f"{kpps('throughput_pps')(r)}, {number('instructions_per_frame', 0)(r)}"  # noqa: E731
    found["forwarding"] = grid(named("forwarding", "board"), "cell", "driver", frames, "board")

    def trip(what: str) -> Cell:
        return lambda r: f"{number(f'{what}_p50_us', 2, 1e-3)(r)}, {number(f'{what}_p99_us', 2, 1e-3)(r)}"

    found["rrul"] = rows(
        named("rrul"),
        {
            "test": lambda r: f"{r['test']}, {r['seconds']} s",
            "driver": text("driver"), "up, Mbit/s": number("up_mbps", 0), "down": number("down_mbps", 0),
            "idle, %": number("idle_percent"), "UDP BE alone, ms": trip("udp_be_base"), "UDP BE": trip("udp_be_load"),
            "UDP BK": trip("udp_bk_load"), "UDP EF": trip("udp_ef_load"), "ICMP": trip("icmp_load"),
        },
        2,
    )  # fmt: skip

    def caused(row: Row) -> str:
        asked = f", {number('pause_frames', 0)(row)} pause frames" if row.get("pause_frames") else ""
        return f"{cell(row)}, {number('interrupts_per_frame', 2)(row)}{asked}"

    found["causes"] = grid(
        [r | {"cell": f"{r['test']}, {r['board']}: {r['condition']}"} for r in named("causes")],
        "cell", "driver", caused, "",
    )  # fmt: skip
    classes = ("be", "bk", "cs5", "ef")

    def each(way: str) -> Cell:
        return lambda r: ", ".join(number(f"{way}_{name}", 0)(r) for name in classes)

    found["flows"] = rows(
        named("rrul"),
        {"test": lambda r: f"{r['test']}, {r['seconds']} s", "driver": text("driver"), "up": each("up"), "down": each("down")},
        2,
    )  # fmt: skip
    return found


def mogul1997(kept: Kept) -> dict[str, str]:
    """Those of docs/papers/mogul1997.md."""

    def both_of(name: str) -> Cell:
        return both(number(name, 2), number(f"paper_{name}", 2))

    columns = {
        "screend": lambda r: "yes" if r["screend"] == "True" else "no", "kernel": text("configuration"),
        "without loss up to (the paper)": both_of("lossless"), "peak": both_of("peak"),
        "mean from twice the peak on": both_of("overload"),
        "of its own peak, %": both(percent("overload_to_peak"), percent("paper_overload_to_peak")),
    }  # fmt: skip
    every = [row | {"paper_overload_to_peak": row["paper_overload_to_peak"] or ""} for row in kept("curves")]
    found = {"curves": rows(every, columns, 2)}
    last = {(row["threshold_percent"], row["process"]): row for row in kept("cpu")}
    found["cpu"] = rows(
        list(last.values()),
        {
            "limit, % of the CPU": text("threshold_percent"), "the process is": text("process"),
            "offered, peaks": number("offered_to_peak", 2), "forwarded, kpps": kpps("output_pps"),
            "left for the process, %": number("cpu_percent"),
        },
        2,
    )  # fmt: skip
    causes = [row for row in kept("causes") if row["cause"] != DIP]
    dips = [row for row in kept("causes") if row["cause"] == DIP]
    dips = [row | {"at": f"left at {float(row['offered_to_peak']):.2f} peaks, %"} for row in dips]
    if dips:
        found["dip"] = grid(dips, "setting", "at", number("cpu_left", 1, 100), "cost of an interrupt")
    most: dict[tuple[str, str, str], float] = {}
    for row in causes:
        key = (row["cause"], row["setting"], row["configuration"])
        most[key] = max(most.get(key, 0.0), float(row["output_to_peak"]))
    lines = [
        {"cause": cause, "setting": setting, "configuration": configuration, "output": str(output)}
        for (cause, setting, configuration), output in most.items()
    ]
    found["causes"] = rows(
        lines,
        {
            "cause": text("cause"), "setting": text("setting"), "kernel": text("configuration"),
            "most output, peaks": number("output", 3),
        },
        3,
    )  # fmt: skip
    return found


def cost_model(_: Kept) -> dict[str, str]:
    """Those of docs/use/cost-model.md, from the file that `irqlab calibrate` wrote."""
    board = hardware.load("mpc8250")
    fitted = board.fitted

    def share(value: float | None) -> str:
        return NONE if value is None else f"{100 * value:.1f} %"

    terms = [
        {"": f"`{name}`", "cost": f"{ns:,.1f}", "error": f"{fitted['standard_errors_ns'][name]:,.1f}",
         "without": share(fitted["left_out_error_without"][name])}
        for name, ns in board.costs.nonzero().items()
    ]  # fmt: skip
    terms.append({"": "(both charged)", "cost": "", "error": "", "without": share(fitted["left_out_error"])})
    shares = ("fitted", "sizes", "variants")
    skill = [
        {name: str(one[name]) for name in ("name", "numbers")} | {name: share(one[name]) for name in shares}
        for one in fitted["skill"]
    ]
    return {
        "fit": rows(terms, {
            "cost": text(""), "ns": text("cost"), "standard error": text("error"),
            "left-out error of the fitted cells without it": text("without"),
        }),
        "skill": rows(skill, {
            "prediction": text("name"), "numbers fitted": text("numbers"), "fitted cells": text("fitted"),
            "other sizes": text("sizes"), "variant left out": text("variants"),
        }),
    }  # fmt: skip


TABLES: dict[str, Callable[[Kept], dict[str, str]]] = {
    "spanos2008": spanos,
    "rtl8139cp": rtl8139cp,
    "lan78xx": lan78xx,
    "mogul1997": mogul1997,
    "salah2009": lambda kept: salah2009_tables.tables(kept, of("hybrid")),
    "cost-model": cost_model,
}
"""By document."""


def of(paper: str) -> Kept:
    """What is kept of a paper, which may be nothing."""
    return read(paper) or Kept(paper, {}, {})


def claims(kept: Kept) -> dict[str, str]:
    """A paper's claims beside what was found; those that were tested with costs, too, by themselves."""
    every = kept.findings
    charged = [one for one in every if one["found"].startswith(WITH_COSTS)]
    found = {"claims": side_by_side([one for one in every if one not in charged], find(kept.paper).because)}
    if charged:
        plain = [one | {"found": one["found"].removeprefix(WITH_COSTS)} for one in charged]
        found["claims (costs)"] = side_by_side(plain, BECAUSE_WITH_COSTS)
    return found


def page_of(name: str) -> Path:
    """Where a document is."""
    return DOCS / ("papers" if name in PAPERS else "use") / f"{name}.md"


def write_page(name: str) -> None:
    """Writes the tables of a document, and its pictures. Raises IrqlabError if the page lacks a table."""
    kept, page = of(name), page_of(name)
    text = page.read_text()
    made = TABLES[name](kept) | (claims(kept) if name in PAPERS else {})
    for key in re.findall(r"<!-- table (.*?) -->", text):
        if key not in made:
            print(f"paper_tables: {page.name}: table {key} is not kept", file=sys.stderr)
    for key, table in made.items():
        text = between(text, f"table {key}", f"\n{table}\n\n")
    page.write_text(text)
    if name == "spanos2008":
        spanos_pictures(kept)
    elif name in PAPERS:
        first_picture(kept)
    if name == "salah2009":
        first_picture(of("hybrid"))
        salah2009_tables.pictures(kept)


def main(names: Sequence[str]) -> int:
    """Returns the exit code."""
    for name in names or TABLES:
        if name not in TABLES:
            print(f"paper_tables: {name}: there are {', '.join(TABLES)}", file=sys.stderr)
            return 2
        write_page(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
