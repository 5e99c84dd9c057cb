# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections, in the paper's order: what it says beside what the lab measured."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.schemes import VARIANTS
from irqlab.config.traffic import wire_rate_pps
from irqlab.present import plots
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.plots import Line
from irqlab.reproduce import page
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.spanos2008 import phases
from irqlab.reproduce.spanos2008.measure import WITH_COSTS

WIRE_BPS = 100e6


def sections(tables: Tables) -> list[Section]:
    """Tables and plots; with hardware costs each part twice, without them first."""
    runs = [name for name in ("", WITH_COSTS) if f"table1_throughput{name}" in tables]
    parts = (_throughput, _interrupts, _livelock, _model, _phases)
    found = [part([(_run_name(run, len(runs)), _of(tables, run)) for run in runs]) for part in parts]
    return [*found, *_hardware(tables)]


def _of(tables: Tables, run: str) -> Tables:
    """The tables of one run, by the names they have without costs."""
    return {
        name.removesuffix(run): data
        for name, data in tables.items()
        if (name.endswith(run) if run else not name.endswith(WITH_COSTS))
    }


def _run_name(run: str, runs: int) -> str:
    if runs == 1:
        return ""
    return "With the costs of hardware" if run else "Instructions alone"


Runs = Sequence[tuple[str, Tables]]


def _lines(data: Data, x: str, y: str, scale: float = 1.0, x_scale: float = 1.0, **where: object) -> list[Line]:
    """One line per variant."""
    lines = []
    for number, variant in enumerate(VARIANTS):
        records = data.records(variant=variant, **where)  # type: ignore[arg-type]
        points = [(r[x] * x_scale, None if r[y] is None else r[y] * scale) for r in records]
        if points:
            lines.append(Line(f"series-{number}", variant, plots.style(number), points))
    return lines


def _by_size(title: str, data: Data, column: str, top: float | None = None) -> Plot:
    return page.plot(title, plots.throughput_by_size(_lines(data, "frame_bytes", column), (), "Mbit/s per interface", top))


def _throughput(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        first, second = tables["table1_throughput"], tables["table2_improvement"]
        group = Group(name, legend=page.legend(tuple(VARIANTS)))
        group.plots = [
            _by_size("Measured", first, "throughput_mbps", 105),
            _by_size("The paper", first, "paper_mbps", 105),
        ]
        sizes, values = (
            ("frame_bytes", "Frame, bytes"),
            {"throughput_mbps": "", "paper_mbps": "paper", "ratio": "ratio"},
        )
        group.tables = [page.grid(first, sizes, values, VARIANTS)]
        gains = {"improvement_percent": "", "paper_percent": "paper"}
        group.tables.append(page.grid(second, sizes, gains, tuple(VARIANTS)[1:]))
        free = "Without the wire's ceiling, Mbit/s per interface"
        group.tables.append(page.grid(first, sizes, {"free_mbps": ""}, VARIANTS, folded=True, caption=free))
        group.note = (
            "Zero loss, both directions at once, per interface, preamble and gap counted; 100 Mbit/s is what the wire carries. "
            "The paper's table 2 is printed with the columns NAPI and TX-OFF swapped; here it is computed from its table 1."
        )
        groups.append(group)
    intro = "Tables 1 and 2, figure 4: the highest rate at which no frame is lost, and what each variant gains over ORIGINAL."
    return Section("throughput", "Throughput", "Throughput", intro, groups)


def _interrupts(runs: Runs) -> Section:
    headings = {
        "variant": "Variant", "offered_frames": "Offered", "received_frames": "Received", "paper_received_frames": "paper",
        "transmitted_frames": "Transmitted", "paper_transmitted_frames": "paper", "rx_interrupts": "RX interrupts",
        "paper_rx_interrupts": "paper", "tx_interrupts": "TX interrupts", "paper_tx_interrupts": "paper",
        "idle_ratio": "CPU idle (ratio)",
    }  # fmt: skip
    groups = []
    for name, tables in runs:
        data = tables["table3_interrupts"]
        offered = next(data.records())
        group = Group(name, tables=[page.table(data, headings)])
        if offered["offered_frames"] != offered["paper_offered_frames"]:
            group.note = (
                f"Only {offered['offered_frames']} frames were offered, not the paper's {offered['paper_offered_frames']}: "
                "the counts are not to be compared, their proportions are."
            )
        groups.append(group)
    intro = "Table 3: what the driver received and sent, and with how many interrupts, over the whole trial."
    return Section("interrupts", "Interrupts under full load", "Interrupts", intro, groups)


def _livelock(runs: Runs) -> Section:
    headings = {
        "frame_bytes": "Frame, bytes", "variant": "Variant", "loss_free_pps": "Loss-free, frames/s",
        "paper_loss_free_pps": "paper", "max_forwarded_pps": "Most forwarded, frames/s", "collapse_pps": "Collapse at, frames/s",
        "paper_collapse_pps": "paper", "collapse_ratio": "Collapse / loss-free", "paper_collapse_ratio": "paper",
        "plateau_ratio": "Forwarded at the wire's rate / most",
    }  # fmt: skip
    groups = []
    for name, tables in runs:
        curves, found = tables["figure5_curves"], tables["figure5_collapse"]
        group = Group(name, legend=page.legend(tuple(VARIANTS), ("grey", "nothing lost")))
        for size in dict.fromkeys(r["frame_bytes"] for r in curves.records()):
            lines = _lines(curves, "offered_pps", "forwarded_pps", 1e-3, 1e-3, frame_bytes=size)
            group.plots.append(page.plot(f"{size}-byte frames", plots.forwarding(lines, 2 * wire_rate_pps(size, WIRE_BPS) / 1e3)))
        group.tables = [page.table(found, headings, digits=4), page.table(curves, {n: n for n in curves.columns}, folded=True)]
        group.note = "Collapse: the lowest load from which on less than 2 % of the most is forwarded, found to 1 % by bisection."
        groups.append(group)
    intro = "Figure 5: forwarded over offered load, both directions together, up to the wire's rate; receive livelock."
    return Section("livelock", "Overload", "Overload", intro, groups)


def _model(runs: Runs) -> Section:
    headings = {
        "variant": "Variant", "t_constant_us": "T_constant, µs", "t_constant_error_us": "±", "paper_t_constant_us": "paper",
        "k_us_per_byte": "k, µs/byte", "k_error_us_per_byte": "±", "paper_k_us_per_byte": "paper", "r2": "R²",
        "max_residual_us": "Largest residual, µs", "sizes": "Fitted sizes, bytes",
    }  # fmt: skip
    groups = []
    for name, tables in runs:
        fitted, figure = tables["table4_model"], tables["figure6_model"]
        group = Group(name, legend=page.legend(tuple(VARIANTS)))
        group.plots = [
            _by_size("Figure 6: measured", figure, "throughput_mbps", 105),
            _by_size("Figure 6: the model, up to the wire's rate", figure, "model_capped_mbps", 105),
            _by_size("Figure 7: the model without the wire", figure, "model_mbps"),
        ]
        values = {"model_capped_mbps": "model", "throughput_mbps": "measured", "error_percent": "error, %"}
        sizes = ("frame_bytes", "Frame, bytes")
        group.tables = [
            page.table(fitted, headings, digits=4),
            page.grid(figure, sizes, values, VARIANTS, folded=True),
            page.grid(figure, sizes, {"residual_us": ""}, VARIANTS, folded=True, caption="Residuals of the fit, µs per frame"),
        ]
        group.note = "±: standard error. With two sizes the line goes through both, and there are no errors to tell."
        groups.append(group)
    intro = "Table 4, figures 6 and 7: the time per frame as a constant and a part per byte, without the wire's ceiling."
    return Section("model", "The linear model", "Model", intro, groups)


def _phases(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        data = tables["table5_phases"]
        group = Group(name)
        every = (*phases.PHASES, phases.REST)
        rows = {f"{phase}_{unit}": f"{phases.NAMES[phase]}, {text}" for unit, text in _UNITS for phase in every}
        group.tables = [page.transposed(data, "variant", rows | _SUMS, "Per forwarded frame"), page.table(data, _FORMULAS)]
        group.note = (
            "Rest: what the phases leave out (dispatch of softirqs, the clock, the scheduler). Interrupts enabled: instructions "
            "outside hard interrupts, an upper bound, since locks taken with interrupts disabled are not seen; beside it the "
            "share of the phases that the paper names. The paper's total: its formula, with the phases measured here."
        )
        groups.append(group)
    intro = (
        "Table 5, measured: a profile at the throughput, every instruction counted in the phase of the innermost function that "
        "has one (src/irqlab/reproduce/spanos2008/phases.py)."
    )
    return Section("phases", "What a frame costs, by phase", "Phases", intro, groups)


_UNITS = (("instructions", "instructions"), ("us", "µs"))
_SUMS = {
    "sum_instructions": "sum, instructions",
    "sum_us": "sum, µs",
    "per_frame_us": "1/rate, µs",
    "sum_error_percent": "sum against 1/rate, %",
    "enabled_share": "interrupts enabled, share",
    "paper_enabled_share": "share of the paper's phases",
    "interrupts_per_frame": "interrupts per frame",
    "paper_interrupts_per_frame": "the paper's",
    "interrupts_per_s": "interrupts per second",
}
_FORMULAS = {
    "variant": "Variant",
    "paper_total": "The paper's total packet process time",
    "paper_total_us": "with the phases above, µs",
    "sum_us": "measured, µs",
}


def _hardware(tables: Tables) -> list[Section]:
    """How good the predictions with the costs of hardware are."""
    if "hardware_cells" not in tables:
        return []
    cells, headings = tables["hardware_cells"], _CELL_HEADINGS
    group = Group()
    group.tables = [
        page.table(tables["hardware_errors"], _ERROR_HEADINGS),
        page.table(tables["hardware_terms"], _TERM_HEADINGS),
        page.table(cells, headings, digits=4),
    ]
    group.note = (
        "Errors with a cell left out are of the fit, the other terms fitted again without the one taken away; the error of the "
        "predicted cells is with the other terms as they are."
    )
    intro = "Table 1 once more with the costs of hardware: fitted to some cells, the others predicted."
    return [Section("hardware", "Hardware costs", "Hardware", intro, [group])]


_ERROR_HEADINGS = {
    "cells": "Cells",
    "count": "How many",
    "raw_error_percent": "Instructions alone",
    "error_percent": "With costs",
}
_TERM_HEADINGS = {
    "term": "Term", "cost_ns": "Cost, ns", "standard_error_ns": "±", "left_out_error_percent": "Error with a cell left out, %",
    "predicted_error_percent": "Error of predicted cells, %",
}  # fmt: skip
_CELL_HEADINGS = {
    "frame_bytes": "Frame, bytes", "variant": "Variant", "cell": "Cell", "paper_mbps": "The paper",
    "raw_mbps": "Instructions alone", "raw_ratio": "ratio", "throughput_mbps": "With costs", "ratio": "ratio",
}  # fmt: skip
