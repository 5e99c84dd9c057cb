# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: the paper's figures beside what the lab measured, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irqlab.config.schemes import VARIANTS
from irqlab.config.traffic import wire_rate_pps
from irqlab.present import plots, series
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.series import Line, Point
from irqlab.reproduce import page
from irqlab.reproduce.spanos2008 import curves, phases, throughput
from irqlab.reproduce.spanos2008.curves import CollapseRow, LoadRow
from irqlab.reproduce.spanos2008.measure import RunTables, Tables
from irqlab.reproduce.spanos2008.model import WIRE_BPS, ModelSizeRow
from irqlab.reproduce.spanos2008.throughput import BASE, SCHEMES, ThroughputRow
from irqlab.reproduce.table import Table

MBPS = "Mbit/s per interface"
PUBLISHED = ("published", "the paper")


def picture(tables: Tables) -> Group:
    """Throughput by frame size, measured and published; with the costs of hardware if they were measured."""
    run = tables.hardware or tables
    what = " with the costs of hardware" if tables.hardware else ""
    return Group(
        legend=page.legend(tuple(VARIANTS), PUBLISHED),
        plots=throughput_plots(run.table1_throughput),
        note=f"Figure 4: throughput without loss, both directions at once. Solid: measured{what}. Dashed: the paper. The second "
        f"plot shows frames at which {BASE} and the variant are below the wire's rate in the paper; here that limit is lifted.",
    )


def sections(tables: Tables) -> list[Section]:
    """Tables and plots; with hardware costs each part twice, without them first."""
    runs = list(tables.runs())
    parts = [part(runs) for part in (_throughput, _interrupts, _livelock, _model, _phases)]
    return parts + _hardware(tables) + _causes(tables)


Runs = Sequence[tuple[str, RunTables]]
Value = Callable[[ThroughputRow], float | None]


def _by_variant(first: Table[ThroughputRow], measured: Value, published: Value) -> list[Line]:
    """Two lines per variant over the frame size."""
    lines, by = [], first.by(lambda r: r.variant)
    for number, variant in enumerate(VARIANTS):
        for draw, value in ((page.published, published), (page.line, measured)):
            points: list[Point] = [(r.frame_bytes, value(r)) for r in by.get(variant, ())]
            if any(y is not None for _, y in points):
                lines.append(draw(number, variant, points))
    return lines


def throughput_plots(first: Table[ThroughputRow]) -> list[Plot]:
    """Figure 4, and the same relative to ORIGINAL."""
    absolute = _by_variant(first, lambda r: r.throughput_mbps, lambda r: r.paper_mbps)

    def compared(row: ThroughputRow) -> ThroughputRow | None:
        """ORIGINAL at the same size, where the paper's wire limits neither."""
        base = throughput.base_of(first, row.frame_bytes)
        return None if row.paper_capped or base.paper_capped else base

    def measured(row: ThroughputRow) -> float | None:
        base = compared(row)
        return row.free_mbps / base.free_mbps if base else None

    def published(row: ThroughputRow) -> float | None:
        base = compared(row)
        return row.paper_mbps / base.paper_mbps if base else None

    relative = _by_variant(first, measured, published)
    return [
        page.plot("Throughput", plots.throughput_by_size(absolute, (), MBPS, 105)),
        page.plot(f"Relative to {BASE}", plots.throughput_by_size(relative, (), f"times {BASE}", bottom=0.9)),
    ]


def _throughput(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        first, second = tables.table1_throughput, tables.table2_improvement
        group = Group(name, legend=page.legend(tuple(VARIANTS), PUBLISHED))
        group.plots = throughput_plots(first) if len(runs) > 1 else []
        group.legend = group.legend if group.plots else []
        across = ("frame_bytes", "variant")
        group.tables = [
            page.grid(first, *across, ("throughput_mbps", "paper_mbps", "ratio"), VARIANTS),
            page.grid(second, *across, ("improvement_percent", "paper_percent", "printed_percent"), tuple(VARIANTS)[1:]),
            page.grid(first, *across, ("free_mbps",), VARIANTS, True, f"Without the wire's limit, {MBPS}"),
        ]
        if tables.today:
            shown = ("throughput_mbps", "free_mbps", "free_ratio")
            group.tables.append(page.grid(tables.today, "frame_bytes", "schemes", shown, tuple(SCHEMES)))
        group.note = (
            "No loss, both directions at once, per interface, preamble and gap counted; 100 Mbit/s is what the wire carries. "
            "Improvement: measured; by the paper's table 1; as its table 2 prints it, with NAPI and TX-OFF swapped."
        )
        if tables.today:
            group.note += f" Schemes of today: up to the wire's rate; without this limit; relative to {BASE} without it."
        groups.append(group)
    intro = f"Tables 1 and 2, figure 4: the highest rate at which no frame is lost, and what each variant gains over {BASE}."
    return Section("throughput", "Throughput", "Throughput", intro, groups)


def _interrupts(runs: Runs) -> Section:
    shown = (
        "variant", "offered_frames", "received_frames", "paper_received_frames", "transmitted_frames", "paper_transmitted_frames",
        "rx_interrupts", "paper_rx_interrupts", "tx_interrupts", "paper_tx_interrupts", "idle_ratio",
    )  # fmt: skip
    groups = []
    for name, tables in runs:
        data = tables.table3_interrupts
        group = Group(name, tables=[page.table(data, *shown)])
        first = data.rows[0]
        if first.offered_frames != first.paper.offered_frames:
            group.note = (
                f"Only {first.offered_frames:,} frames were offered, not the paper's {first.paper.offered_frames:,}. Compare "
                "proportions, not counts."
            )
        groups.append(group)
    intro = "Table 3: what the driver received and sent, and with how many interrupts, over the whole trial."
    return Section("interrupts", "Interrupts under full load", "Interrupts", intro, groups)


def _livelock(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        group = Group(name, legend=page.legend(tuple(VARIANTS), ("grey", "nothing lost"), ("cross", "collapse in the paper")))
        sizes = dict.fromkeys(row.frame_bytes for row in tables.figure5_curves)
        group.plots = [plot for size in sizes for plot in overload_plots(tables.figure5_curves, tables.figure5_collapse, size)]
        group.tables = [page.table(tables.figure5_collapse), page.table(tables.figure5_curves, folded=True)]
        group.note = (
            f"Collapse: the lowest load from which on less than {100 * curves.COLLAPSED:g} % of the maximum is forwarded, found "
            f"to {100 * curves.PRECISION:g} % by bisection ({100 * curves.QUICK_PRECISION:g} % with --quick). The paper tells "
            f"where {BASE} collapses with 64-byte frames; in the relative plot that point is comparable."
        )
        groups.append(group)
    intro = "Figure 5: forwarded over offered load, both directions together, up to the wire's rate; receive livelock."
    return Section("livelock", "Overload", "Overload", intro, groups)


def overload_plots(loads: Table[LoadRow], ends: Table[CollapseRow], size: int) -> list[Plot]:
    """Figure 5: a size in frames/s; and in shares of the rate without loss, where the paper tells of a collapse."""
    absolute, relative, told = [], [], False
    curve = loads.by(lambda r: (r.frame_bytes, r.variant))
    for end in ends.where(lambda r: r.frame_bytes == size):
        variant, number = end.variant, list(VARIANTS).index(end.variant)
        rows = curve[size, variant]
        at = (end.paper_collapse_pps / 1e3, 0.0) if end.paper_collapse_pps else None
        absolute.append(page.line(number, variant, [(r.offered_pps / 1e3, r.forwarded_pps / 1e3) for r in rows], at))
        ratio = (end.paper_collapse_ratio, 0.0) if end.paper_collapse_ratio else None
        shares: list[Point] = [(r.offered_pps / end.loss_free_pps, r.forwarded_pps / end.loss_free_pps) for r in rows]
        relative.append(page.line(number, variant, shares, ratio))
        told = told or bool(ratio)
    found = [page.plot(f"{size}-byte frames", plots.forwarding(absolute, 2 * wire_rate_pps(size, WIRE_BPS) / 1e3))]
    if told:
        drawn = plots.over_load(relative, "forwarded / loss-free", "Forwarded over load", None, x_label="offered / loss-free")
        found.append(page.plot(f"{size}-byte frames, relative to each variant's loss-free rate", drawn))
    return found


def _model(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        fitted, figure = tables.table4_model, tables.figure6_model
        group = Group(name, legend=page.legend(tuple(VARIANTS), ("published", "the model")))
        group.plots = model_plots(figure)
        across = ("frame_bytes", "variant")
        group.tables = [
            page.table(fitted),
            page.grid(figure, *across, ("model_capped_mbps", "throughput_mbps", "error_percent"), VARIANTS, folded=True),
            page.grid(figure, *across, ("residual_us",), VARIANTS, True, "Residuals of the fit, µs per frame"),
        ]
        group.note = "±: standard error. A line through two sizes has none."
        groups.append(group)
    intro = "Table 4, figures 6 and 7: the time per frame as a constant and a part per byte, without the wire's limit."
    return Section("model", "The linear model", "Model", intro, groups)


def model_plots(figure: Table[ModelSizeRow]) -> list[Plot]:
    """Figure 6 (the model up to the wire's rate, beside what was measured) and 7 (the model alone, without the wire)."""
    return [
        page.plot("Figure 6: measured, and the model up to the wire's rate", _model_drawing(figure, True)),
        page.plot("Figure 7: the model without the wire", _model_drawing(figure, False)),
    ]


def _model_drawing(figure: Table[ModelSizeRow], capped: bool) -> str:
    lines, by = [], figure.by(lambda r: r.variant)
    for number, variant in enumerate(VARIANTS):
        rows = by.get(variant, ())
        model: list[Point] = [(r.frame_bytes, r.model_capped_mbps if capped else r.model_mbps) for r in rows]
        measured: list[Point] = [(r.frame_bytes, r.throughput_mbps) for r in rows if r.throughput_mbps is not None]
        if model:
            lines.append(Line(f"series-{number}-model", f"{variant}, model", series.published_style(number), model))
        if capped and measured:
            lines.append(page.line(number, variant, measured))
    return plots.throughput_by_size(lines, (), MBPS, 105 if capped else None)


def _phases(runs: Runs) -> Section:
    groups = []
    for name, tables in runs:
        data = tables.table5_phases
        every = (*phases.PHASES, phases.REST)
        shown = [f"{phase}_{unit}" for unit in ("instructions", "us") for phase in every]
        group = Group(name)
        group.tables = [
            page.transposed(data, "variant", (*shown, *_SUMS), "Per forwarded frame"),
            page.table(data, "variant", "paper_total", "paper_total_us", "sum_us", caption="The paper's formulas"),
        ]
        group.note = (
            "Rest: what the phases leave out (dispatch of softirqs, the clock, the scheduler). Interrupts enabled: instructions "
            "outside hard interrupts. That is an upper bound, since locks taken with interrupts disabled are not seen. Beside it "
            "stands the share of the phases that the paper names."
        )
        groups.append(group)
    intro = (
        "Table 5, measured: a profile at the throughput. Each instruction counts for the phase of the innermost function that "
        "has one (src/irqlab/reproduce/spanos2008/phases.py)."
    )
    return Section("phases", "What a frame costs, by phase", "Phases", intro, groups)


_SUMS = (
    "sum_instructions", "sum_us", "per_frame_us", "sum_error_percent", "enabled_share", "paper_enabled_share",
    "interrupts_per_frame", "paper_interrupts_per_frame", "interrupts_per_s",
)  # fmt: skip


def _hardware(tables: Tables) -> list[Section]:
    """How good the predictions with the costs of hardware are."""
    return page.listing(
        "hardware",
        "Hardware costs",
        "Hardware",
        "Table 1 once more with the costs of hardware: fitted to some cells, the others predicted.",
        tables.hardware_errors,
        tables.hardware_terms,
        tables.hardware_cells,
        note="Left-out errors are those of the fit: a variant's cells (with fewer than four variants, one cell) are predicted by "
        "a fit to the others. The errors of the predicted cells are with the other terms as they are.",
    )


def _causes(tables: Tables) -> list[Section]:
    """Experiments, and long trials."""
    return page.listing(
        "causes",
        "Why figures differ",
        "Causes",
        "Where figures differ from the paper's: experiments that turn one cause on and off.",
        tables.causes_throughput,
        tables.causes_collapse,
        tables.causes_interrupts,
        tables.long_trials,
        tables.long_disturbed,
        note="Freeing of sent packets: ours frees eight at a time, also when receiving and by a timer; the paper's driver before "
        "each transmit. Lists: NAPI passes the frames of a poll to the stack as one list, or one by one. Costs: in the handler, "
        "an earlier fit with a cost for each frame put on the backlog.",
    )
