# SPDX-License-Identifier: GPL-2.0-or-later
"""A profiled trial. It executes exactly the same instructions as without profiling; only the host takes longer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import UNSET, Meta, UnsetType

from irqlab import files, units
from irqlab.config.values import Count, Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, catalogue, iperf, throughput
from irqlab.methods.method import Lines, Method
from irqlab.methods.options import MAX_LOAD, check_rate, either, pps
from irqlab.present.columns import to_csv
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.rows import by_test, kpps_text
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.profile import bounces, devices, diff, flamegraph, line_map, line_tables, lines, tree
from irqlab.profile import tables as printed
from irqlab.profile.addresses import addresses
from irqlab.profile.kallsyms import symbols
from irqlab.profile.owners import DRIVER
from irqlab.profile.symbols import Symbols
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.iperf import FOUR, IperfMeasured, IperfTrial
from irqlab.trials.testbed import Testbed
from irqlab.typed import typed

DEFAULT_LOAD = 2.0
"""Relative to the throughput: no idle time, and the driver at its limit."""
TESTS = {test.name.lower().replace(" ", "-"): replace(test, seconds=1) for test in FOUR}
TOP = 60
"""Number of functions in the report."""

Context = Literal["hardirq", "softirq", "process", "idle"]
Per = Literal["forwarded", "offered", "received"]
FORWARDED: Per = "forwarded"
OFFERED: Per = "offered"


@dataclass(frozen=True)
class Options:
    """What is profiled, and what is shown."""

    load: Annotated[
        str | None,
        typer.Option(
            "--load", help=f"Offered load as a multiple of the throughput, which is searched first; default: {DEFAULT_LOAD:g}x."
        ),
    ] = None
    rate: Annotated[
        float | None, typer.Option("--rate", parser=pps, help="Offered load in frames/s per direction (40k), instead of --load.")
    ] = None
    iperf: Annotated[
        str | None,
        typer.Option("--iperf", help=f"Profile an iperf3 test in the DUT instead of forwarding: {', '.join(TESTS)}."),
    ] = None
    diff: Annotated[Path | None, typer.Option("--diff", help="Compare with the profile in this JSON file.")] = None
    flamegraph: Annotated[Path | None, typer.Option("--flamegraph", help="Write a flame graph of the last profile as SVG.")] = (
        None
    )
    top: Annotated[int, typer.Option("--top", help="Number of functions to print.")] = printed.TOP
    memory: Annotated[
        bool,
        typer.Option(
            "--memory",
            help="Count the lines of memory that a frame uses, and cache misses, by function, object and field. The "
            "caches are those of --hardware, if it has any, else common ones that take no time.",
        ),
    ] = False
    fields: Annotated[Path | None, typer.Option("--fields", help="With --memory: write every field that was used as CSV.")] = None

    def __post_init__(self) -> None:
        if self.iperf is not None and (self.load is not None or self.rate is not None):
            raise IrqlabError("--iperf: TCP or line rate determines the load; --load and --rate are for forwarding only")
        if self.iperf is not None and self.iperf not in TESTS:
            raise IrqlabError(f"--iperf {self.iperf}: allowed are {', '.join(TESTS)}")
        if self.fields is not None and not self.memory:
            raise IrqlabError("--fields: fields are only known with --memory")
        if self.top < 1:
            raise IrqlabError(f"--top {self.top}: allowed are 1 or more")
        self.share()
        self.before()

    def share(self) -> float | None:
        """The load as a multiple of the throughput; None if a rate was given. Raises IrqlabError."""
        either("--load", self.load, "--rate", self.rate)
        if self.rate is not None:
            check_rate(self.rate)
            return None
        if self.load is None:
            return DEFAULT_LOAD
        try:
            load = float(self.load.strip().removesuffix("x"))
        except ValueError:
            load = -1.0
        if not 0 < load <= MAX_LOAD:
            raise IrqlabError(
                f"--load {self.load}: allowed are multiples of the throughput up to {MAX_LOAD:g}x, such as 0.5x or 2x"
            )
        return load

    def before(self) -> list[dict[str, Any]]:
        """The profiles to compare with. Raises IrqlabError if the file has none."""
        if self.diff is None:
            return []
        measured = catalogue.read(self.diff)["measured"]["results"]
        rows = [row for row in measured if row["method"] == METHOD.name and row["complete"]]
        if not rows:
            raise IrqlabError(f"{self.diff} holds no profile; irqlab profile --json writes one")
        return rows


@dataclass(frozen=True)
class Sample:
    """A function in a context, with its counts over the whole window. Samples are sorted by instructions, highest first."""

    function: str
    module: str | None
    """null: the kernel image."""
    owner: str
    """The subsystem, as defined in src/irqlab/profile/owners.py."""
    context: Context
    instructions: Count
    """Excluding the functions it calls."""
    entries: Count
    """Number of times it was entered."""


@dataclass(frozen=True)
class Access:
    """Accesses by a function to a device register."""

    function: str
    module: str | None
    context: Context
    device: str
    """The interface name; for other devices the name in /proc/iomem; or `ports`."""
    register: int | None
    """Offset into the device's region; null for ports."""
    reads: Count
    writes: Count


@dataclass(frozen=True)
class LinesOfFunction:
    """Lines of memory that a function used in a context, and misses; sums over the intervals of the window."""

    function: str
    module: str | None
    context: Context
    code_lines: Count
    """Distinct lines of instructions in each interval."""
    data_lines: Count
    new_code_lines: Count
    """Those that it was the first to use in the interval; they add up to all distinct lines."""
    new_data_lines: Count
    loads: Count
    stores: Count
    code_misses: list[Count]
    """L1I, then the levels behind it."""
    data_misses: list[Count]
    """L1D, then the levels behind it."""


@dataclass(frozen=True)
class LinesOfField:
    """Accesses to a field of an object."""

    kind: str
    object: str
    line: int
    """Of the object, counted from 0; -1: not known."""
    field: str
    loads: Count
    stores: Count
    lines: Count
    """How often it was the first to use its line in an interval."""
    misses: list[Count]
    """L1D, then the levels behind it."""
    window_lines: Count
    """Distinct lines in the whole window."""
    users: list[str]
    """The functions that access it most often."""


@dataclass(frozen=True)
class Bounced:
    """Accesses to a field whose line another processor had written."""

    kind: str
    object: str
    line: int
    """Of the object, counted from 0; -1: not known."""
    field: str
    function: str
    """Who accessed it."""
    written: str
    """The field of the last write before that."""
    writer: str
    count: Count


@dataclass(frozen=True)
class LinesOfMemory:
    """Lines of memory, and misses of the caches. An interval ends whenever the DUT has sent a frame."""

    hardware: str
    """Whose caches."""
    levels: list[str]
    line_bytes: list[Count]
    """Of instructions and of data."""
    intervals: Count
    functions: list[LinesOfFunction]
    fields: list[LinesOfField]
    objects: dict[str, Count]
    """Object -> distinct lines in the whole window."""
    window_code_lines: dict[str, Count]
    """Module -> distinct lines of instructions in the whole window."""
    lacking: list[str]
    """What could not be found out."""
    bounced: list[Bounced] | UnsetType = UNSET
    """Of several processors, the most frequent first."""


@dataclass(frozen=True, kw_only=True)
class Offered:
    """The offered load, and the frame count that costs are divided by."""

    load: Rate | None
    """As a multiple of the throughput; null if the rate was given."""
    rate_pps: Rate
    """Per direction."""
    frames: Annotated[int, Meta(ge=1)]
    """Divisor for costs per frame: frames forwarded in the window, all directions together."""
    per: Per
    """What `frames` counts. `offered`: no frame was forwarded; `received`: full-size frames of payload received."""
    iperf: IperfMeasured | UnsetType = UNSET
    """The iperf3 test that was profiled."""


Stack = tuple[Annotated[int, Meta(ge=-1)], Count, Count, Count]


@dataclass(frozen=True, kw_only=True)
class Summary(Offered):
    """Totals of the profile."""

    instructions: Count
    """The sum of all samples."""
    residual: int
    """Instructions of QEMU's counter that are missing from the samples."""
    stacks_lost: Count
    """Number of times the caller was unknown; some functions may be attributed to a wrong caller."""
    interrupts: Count
    """Interrupts taken by the CPU, including the timer's."""
    softirqs: Count
    """Runs of softirq processing."""
    by_owner: dict[str, Count]
    by_context: dict[Context, Count]
    stacks: list[Stack]
    """[index of the caller in this list (-1: none), index of the function in samples, instructions, entries]; callers first."""
    nic_reads: Count | UnsetType = UNSET
    """Reads of NIC registers and ports."""
    nic_writes: Count | UnsetType = UNSET
    io: list[Access] | UnsetType = UNSET
    """Device accesses by function and register, most frequent first."""
    memory: LinesOfMemory | UnsetType = UNSET
    """With --memory."""


def run(
    runner: TrialRunner, workload: Workload, load: float | None = None, rate_pps: float | None = None, memory: bool = False
) -> MethodResult:
    """Profiles a trial at `rate_pps` frames/s in each direction, or at `load` times the throughput, which is searched first.

    With `memory`, lines of memory are counted, too. If nothing was forwarded, costs are per frame offered. Raises IrqlabError.
    """
    result = runner.result("profile", workload)
    if rate_pps is None:
        load = DEFAULT_LOAD if load is None else load
        base = throughput.run(runner, workload)
        result.copy_throughput(base)
        rate_pps = throughput.rate_per_direction(base) * load
    known = symbols(runner.bench.lab())
    runner.progress(f"counting instructions at {rate_pps / 1e3:.1f} kpps")
    asked = lines.asked(runner.bench.lab(), known) if memory else None
    trial, answer = runner.profile(runner.overload_spec(workload, rate_pps), addresses(known), asked)
    frames, per = trial.total("received_in_window"), FORWARDED
    if not frames:  # livelock is worth profiling too
        frames, per = trial.total("sent"), OFFERED
    if not frames:
        raise IrqlabError(f"{runner.bench.label} was offered no frame at {rate_pps:.0f} frames/s; choose another rate")
    result.copy_per_frame_metrics(trial)
    residual = trial.instructions - answer["instructions"]
    _fill(result, runner.bench.lab(), answer, known, residual, Offered(load=load, rate_pps=rate_pps, frames=frames, per=per))
    result.trials = [trial]
    return result


def run_iperf(runner: TrialRunner, workload: Workload, test: IperfTrial, memory: bool = False) -> MethodResult:
    """Profiles the window of an iperf3 test. Costs are per full-size frame of payload received. Raises IrqlabError."""
    result = runner.result("profile", workload)
    known = symbols(runner.bench.lab())
    runner.progress(f"counting instructions of {test.name}")
    found, answer = runner.profile(test, addresses(known), lines.asked(runner.bench.lab(), known) if memory else None)
    frames = found.full_frames
    if not frames:
        raise IrqlabError(f"{runner.bench.label}: no payload arrived in the window of {test.name}; choose a higher --mips")
    residual, rate_pps = found.instructions - answer["instructions"], frames * 1e9 / found.window_ns
    offered = Offered(load=None, rate_pps=rate_pps, frames=frames, per="received", iperf=iperf.sample_of(found))
    _fill(result, runner.bench.lab(), answer, known, residual, offered)
    return result


def _fill(
    result: MethodResult, testbed: Testbed, answer: dict[str, Any], known: Symbols, residual: int, offered: Offered
) -> None:
    """Fills in the tester's counts, by function and owner."""
    driver = [module.name for module in testbed.modules]
    section = tree.section(answer, known, driver)
    io = devices.accesses(answer, known, devices.Devices.of(testbed), driver)
    result.samples = typed(section["samples"], list[Sample])
    result.summary = Summary(
        **{name: getattr(offered, name) for name in Offered.__dataclass_fields__},
        instructions=answer["instructions"],
        residual=residual,
        stacks_lost=answer["lost"],
        interrupts=section["interrupts"],
        softirqs=section["softirqs"],
        by_owner=tree.totals(section["samples"], "owner"),
        by_context=tree.totals(section["samples"], "context"),  # type: ignore[arg-type]
        stacks=section["stacks"],
        nic_reads=devices.total(io, "reads"),
        nic_writes=devices.total(io, "writes"),
        io=typed(io, list[Access]),
        memory=typed({**found, "hardware": testbed.caches.hardware}, LinesOfMemory)
        if (found := answer.get("lines")) is not None
        else UNSET,
    )


def _run(runner: TrialRunner, workload: Workload, options: Options) -> list[MethodResult]:
    if options.iperf is not None:
        return [run_iperf(runner, workload, TESTS[options.iperf], options.memory)]
    return [run(runner, workload, options.share(), options.rate, options.memory)]


def _tables(row: Row, options: Options) -> Iterable[Table | str]:
    yield printed.functions_table(row.data, options.top)
    yield from printed.totals_tables(row.data)
    yield printed.summary(row.data)
    if "memory" in row.data["summary"]:
        yield line_tables.caches_table(row.data)
        yield from filter(None, [bounces.table(row.data, options.top)])
        yield line_tables.functions_table(row.data, options.top)
        yield line_tables.objects_table(row.data)
        yield line_tables.parts_table(row.data, options.top)
        yield line_tables.summary(row.data)
    if not (before := options.before()):
        return
    old = diff.counterpart(row.data, before)
    if old is None:
        yield "--diff: the file has no profile of this frame size and direction."
        return
    yield f"\nBefore: {printed.title(old)}"
    yield from printed.diff_tables(old, row.data, options.top)


def _write(rows: Sequence[Row], options: Options) -> None:
    if options.flamegraph is not None and rows:
        files.write_atomically(options.flamegraph, flamegraph.file(rows[-1].data).encode())
    if options.fields is not None and rows:
        found = line_tables.field_lines(rows[-1].data)
        files.write_atomically(options.fields, to_csv(line_tables.FieldLine, found).encode())


def _sections(rows: Sequence[Row], number: Numbers) -> list[Section]:
    """One flame graph per profile."""
    groups = [_group(row, heading, number) for heading, same in by_test(rows) for row in same]
    return [METHOD.page_section(groups)] if groups else []


def _group(row: Row, heading: str, number: Numbers) -> Group:
    drawn = number.plot("Flame graph", flamegraph.svg(row.data, f"Flame graph, {row.variant.label}"), wide=True)
    count = len(row.samples)
    caption = f"The {TOP} most expensive of {count} functions" if count > TOP else "Functions"
    functions = printed.functions_table(row.data, TOP, caption, folded=True)
    note = f"{printed.title(row.data)}. {printed.summary(row.data)}"
    plots, shown = [drawn], [*printed.totals_tables(row.data), functions]
    if "memory" in row.data["summary"]:
        plots.append(number.plot("Lines of data", line_map.svg(row.data, f"Lines of data, {row.variant.label}"), wide=True))
        shown += [
            line_tables.caches_table(row.data),
            *filter(None, [bounces.table(row.data, TOP)]),
            line_tables.objects_table(row.data),
            line_tables.parts_table(row.data, TOP, folded=True),
            line_tables.functions_table(row.data, TOP, folded=True),
        ]
        note += f" {line_tables.summary(row.data)}"
    return Group(f"{row.variant.label}, {heading}", plots=plots, note=note, tables=shown)


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Instructions per frame, the driver's share, and the function that takes most."""

    def each(row: Row) -> float:
        return float(row.summary.instructions / row.summary.frames)

    def drivers(row: Row) -> float:
        return float(row.summary.by_owner.get(DRIVER, 0) / row.summary.instructions)

    def most(row: Row) -> str:
        sums: dict[str, int] = {}
        for sample in row.samples:
            name = sample.function + (f" [{sample.module}]" if sample.module else "")
            sums[name] = sums.get(name, 0) + sample.instructions
        first = max(sums, key=lambda name: sums[name])
        return f"{first} {units.percent(sums[first] / row.summary.instructions)}"

    def said(row: Row) -> str:
        found = row.summary
        per = {FORWARDED: "frame", OFFERED: "frame offered, and none was forwarded,"}.get(found.per, "full-size frame received")
        return (
            f"{answers.spread(row, each, units.whole)} instructions per {per} at {kpps_text(found.rate_pps)}; the driver's are "
            f"{answers.spread(row, drivers, units.percent)}; most: {most(row)}"
        )

    told = answers.by_row(rows, said, "Instructions per frame", each, units.whole)
    found = [bounces.verdict(row.data) for row in rows if "memory" in row.data["summary"]]
    return [*told, *(f"{one}." for one in found if one)]


METHOD = Method(
    name="profile",
    place=60,
    title="Where the instructions go",
    short="Profile",
    help="Count the exact number of instructions per frame by function, context and owner.",
    intro="Every instruction that the CPU executed in the measurement window, by function and context, per frame forwarded. In "
    "the flame graph, a box is a function; its width is the instructions of the function and its callees, which are above it. "
    "Hard IRQ: from interrupt entry to return, without softirqs run on exit.",
    sample=Sample,
    summary=Summary,
    lines=Lines("Functions", printed.FunctionLine, lambda row: printed.function_lines(row.data)),
    print_lines=False,
    run=_run,
    options=Options,
    sizes=lambda options: (iperf.FRAME_BYTES,) if options.iperf is not None else None,
    outputs=lambda options: (options.flamegraph, options.fields),
    write=_write,
    tables=_tables,
    draws=_sections,
    lead="Profile: where the instructions of a frame go",
    verdicts=_verdicts,
)
