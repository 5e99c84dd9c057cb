# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the letter's four tables at two speeds, each patch, forwarding, and latency under load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from irqlab.config.hardware import Hardware
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.present.columns import Col, Nested
from irqlab.reproduce import reference
from irqlab.reproduce.lan78xx import trials
from irqlab.reproduce.lan78xx.configurations import (
    CONDITIONS,
    DRIVERS,
    KERNELS,
    NIC,
    OWN,
    PAIRS,
    PATCHES,
    PLACED,
    PROCESSORS,
    SERIES,
    SPEEDS,
    UDP_RX,
    UDP_TX,
    USB2,
    WITH,
    WITHOUT,
    Configuration,
    buildable,
    looked_at,
    steps,
)
from irqlab.reproduce.lan78xx.trials import Flows, Probe
from irqlab.reproduce.session import QUICK_NS, QUICK_WIDTH, Grid, Session, cases, measured
from irqlab.reproduce.table import Table, row_of
from irqlab.runner.jobs import Job
from irqlab.trials.iperf import FOUR, IperfTrial
from irqlab.trials.rrul import RRUL, RRUL_BE, RrulTrial

REFERENCE = "lan78xx_iperf3"
SECONDS, QUICK_SECONDS = 2, 1
RRUL_SECONDS = 5
FLENT = RrulTrial(seconds=60, idle_s=5, interval_ns=200_000_000)
"""As flent makes the test: its length, delay and step."""
FRAME_BYTES = 64
TESTS = {test.name: test for test in FOUR}
STEP_MIPS = 250
"""Where the CPU is the limit of every test, and a patch shows in Mbit/s."""
SLOW = "slow"
STANDARD = 0
"""In place of a patch: none."""
QUICK_STEPS = {
    "TCP Rx": ((WITH, 6), (WITHOUT, 3), (WITHOUT, 5)),
    "UDP Tx": ((WITH, 6), (WITHOUT, 2)),
}
"""Patches of a quick look, by test: NAPI alone, of which the letter says something, and each other where it matters most."""


def _title(driver: str) -> str:
    return (DRIVERS | SERIES)[driver].title


@dataclass(frozen=True)
class IperfRow:
    """A cell of the letter's tables, measured."""

    test: Annotated[str, Col("Test")]
    board: Annotated[str, Col("Board")]
    mips: Annotated[int, Col("Speed", "MIPS")]
    driver: Annotated[str, Col("Driver", format=_title)]
    mbps: Annotated[float, Col("Mbit/s")]
    loss_percent: Annotated[float | None, Col("lost", "%")]
    idle_percent: Annotated[float, Col("idle", "%")]
    instructions_per_frame: Annotated[int | None, Col("instructions a frame")]
    retransmits: Annotated[int | None, Col("segments sent again")]


@dataclass(frozen=True)
class ProcessorRow(IperfRow):
    """The same with several processors."""

    iperf3: Annotated[str, Col("iperf3 runs")]


@dataclass(frozen=True)
class Published:
    """What the letter says of one driver on one board; None: nothing."""

    mbps: Annotated[float | None, Col("Mbit/s")]
    loss_percent: Annotated[float | None, Col("lost", "%")]
    idle_percent: Annotated[float | None, Col("idle", "%")]


@dataclass(frozen=True)
class LetterRow:
    """A row of the letter's tables, and what NAPI does there."""

    test: Annotated[str, Col("Test")]
    board: Annotated[str, Col("Board")]
    standard: Annotated[Published, Nested("standard, ")]
    napi: Annotated[Published, Nested("napi, ")]
    ratio: Annotated[float | None, Col("napi / standard")]
    """Of the throughputs."""
    idle_points: Annotated[float | None, Col("idle", "points")]
    """What napi is idle more."""


@dataclass(frozen=True)
class RatioRow:
    """What the series does here and on the letter's boards: throughput after by that before, and how much more it is idle."""

    test: Annotated[str, Col("Test")]
    board: Annotated[str, Col("Board")]
    drivers: Annotated[str, Col("Drivers", title="kernel: lan78xx of Linux 5.10 and in-tree; ours: standard and napi")]
    ratio: Annotated[float, Col("after / before")]
    idle_points: Annotated[float, Col("idle", "points")]
    letter_ratio_least: Annotated[float, Col("the letter: least ratio")]
    letter_ratio_most: Annotated[float, Col("most")]
    letter_idle_points_least: Annotated[float, Col("least idle", "points")]
    letter_idle_points_most: Annotated[float, Col("most", "points")]


@dataclass(frozen=True)
class ForwardingRow:
    """Forwarding without loss."""

    board: Annotated[str, Col("Board")]
    driver: Annotated[str, Col("Driver", format=_title)]
    throughput_pps: Annotated[float, Col("Throughput", "frames/s")]
    instructions_per_frame: Annotated[int | None, Col("Instructions a frame")]


@dataclass(frozen=True)
class RrulRow:
    """Latency under load."""

    test: Annotated[str, Col("Test", title="rrul: flows and probes have the DSCP of their class; rrul_be: nothing is marked")]
    seconds: Annotated[int, Col("Flows", "s")]
    driver: Annotated[str, Col("Driver", format=_title)]
    up_mbps: Annotated[float, Col("Up", "Mbit/s")]
    down_mbps: Annotated[float, Col("Down", "Mbit/s")]
    idle_percent: Annotated[float, Col("idle", "%")]
    up: Annotated[Flows, Nested("up, ")]
    down: Annotated[Flows, Nested("down, ")]
    udp_ef: Annotated[Probe, Nested("UDP EF ")]
    udp_bk: Annotated[Probe, Nested("UDP BK ")]
    udp_be: Annotated[Probe, Nested("UDP BE ")]
    icmp: Annotated[Probe, Nested("ICMP ")]


@dataclass(frozen=True)
class StepRow:
    """A patch of the series. Changes are what the patch does: against the same driver without it; None: not to be compared."""

    change: Annotated[
        str,
        Col("Change", title="with: added to standard; up to: in the series' order; without: napi is compared with napi less it"),
    ]
    patch: Annotated[int, Col("Patch")]
    what: Annotated[str, Col("")]
    test: Annotated[str, Col("Test")]
    mbps: Annotated[float, Col("Mbit/s")]
    """In the window, once the flow has settled."""
    loss_percent: Annotated[float | None, Col("lost", "%", optional=True)]
    idle_percent: Annotated[float, Col("idle", "%")]
    instructions_per_frame: Annotated[int | None, Col("instructions a frame")]
    mbps_change_percent: Annotated[float | None, Col("Mbit/s: change", "%")]
    idle_change_points: Annotated[float, Col("idle: change", "points")]
    instructions_change_percent: Annotated[float | None, Col("instructions: change", "%")]


@dataclass(frozen=True)
class HardwareRow:
    """iperf3 on hardware that is stated (`--hardware`)."""

    hardware: Annotated[str, Col("Hardware")]
    nic: Annotated[str, Col("NIC")]
    test: Annotated[str, Col("Test")]
    driver: Annotated[str, Col("Driver", format=_title)]
    mbps: Annotated[float, Col("Mbit/s")]
    loss_percent: Annotated[float | None, Col("lost", "%")]
    idle_percent: Annotated[float, Col("idle", "%")]
    instructions_per_frame: Annotated[int | None, Col("instructions a frame")]


@dataclass(frozen=True)
class CauseRow:
    """A UDP test under another condition."""

    condition: Annotated[str, Col("Condition")]
    test: Annotated[str, Col("Test")]
    board: Annotated[str, Col("Board")]
    driver: Annotated[str, Col("Driver", format=_title)]
    mbps: Annotated[float, Col("Mbit/s")]
    """In the window, once the flow has settled."""
    loss_percent: Annotated[float | None, Col("lost", "%")]
    idle_percent: Annotated[float, Col("idle", "%")]
    instructions_per_frame: Annotated[int | None, Col("instructions a frame")]
    interrupts_per_frame: Annotated[float | None, Col("interrupts a frame", title="of the frames that the driver handled")]
    pause_frames: Annotated[int | None, Col("pause frames sent")] = None
    """None: the link partner does not offer them."""


@dataclass(frozen=True)
class Tables:
    """The tables of the reproduction; their fields' names are those of the CSV files."""

    iperf: Table[IperfRow]
    letter: Table[LetterRow]
    ratios: Table[RatioRow]
    forwarding: Table[ForwardingRow]
    ablation: Table[StepRow]
    rrul: Table[RrulRow] | None = None
    """None: not in a quick look."""
    causes: Table[CauseRow] | None = None
    """None: not in a quick look."""
    processors: Table[ProcessorRow] | None = None
    """The letter's tables with several processors, of the kernel's drivers. None: not in a quick look."""
    sending: Table[IperfRow] | None = None
    """UDP sent as the series does and as ours does. None: not in a quick look."""
    hardware: Table[HardwareRow] | None = None
    """None: not asked for (`--hardware`)."""


def measure(session: Session) -> Tables:
    """All tables; of an ensemble's further members the letter's only. Raises IrqlabError for hardware without a memory model."""
    if session.hardware and session.hardware.memory is None:
        name = session.hardware.name
        raise IrqlabError(f"--hardware {name}: it has no memory model, and iperf3 tests cannot charge other costs")
    measured = iperf(session)
    if not session.first:
        nothing = Table("", ForwardingRow, ()), Table("", StepRow, ())
        return Tables(measured, letter(), ratios(measured, letter()), *nothing)
    return Tables(
        iperf=measured,
        letter=letter(),
        ratios=ratios(measured, letter()),
        forwarding=forwarding(session),
        ablation=ablation(session),
        rrul=None if session.quick else rrul(session),
        causes=None if session.quick else causes(session),
        processors=None if session.quick else processors(session),
        sending=None if session.quick else sending(session),
        hardware=hardware(session, session.hardware) if session.hardware else None,
    )


def _test(name: str, seconds: int) -> IperfTrial:
    return replace(TESTS[name], seconds=seconds)


def _job(session: Session, chosen: Configuration, mips: int, name: str, seconds: int) -> Job[trials.Throughput]:
    work = partial(trials.throughput, test=_test(name, seconds))
    return Job(f"{chosen.title}, {mips} MIPS, {name}", chosen.testbed(session, mips), work)


def _speeds(session: Session) -> tuple[str, ...]:
    return (SLOW,) if session.quick else tuple(SPEEDS)


def iperf(session: Session) -> Table[IperfRow]:
    """The letter's tables, of the lab."""
    seconds = QUICK_SECONDS if session.quick else SECONDS
    return _iperf_table(
        measured(
            session,
            "the letter's tables",
            cases(test=TESTS, board=_speeds(session), driver=looked_at(session)),
            lambda test, board, driver: _job(session, DRIVERS[driver], SPEEDS[board], test, seconds),
        ),
        "iperf3 on the lab's boards: Mbit/s, loss and idle in %",
    )


def _iperf_table(found: Grid[trials.Throughput], title: str) -> Table[IperfRow]:
    return found.table(title, IperfRow, lambda one, board, **_: (one, {"mips": SPEEDS[board]}))


def processors(session: Session) -> Table[ProcessorRow]:
    """The letter's tables on boards with several processors, with the kernel's drivers before and after the series."""
    drivers = [driver for driver in PAIRS["kernel"] if driver in buildable(session)]

    def job(iperf3: str, test: str, board: str, driver: str) -> Job[trials.Throughput]:
        bed = DRIVERS[driver].testbed(session, SPEEDS[board], cpus=PROCESSORS, placement=PLACED[iperf3])
        work = partial(trials.throughput, test=_test(test, QUICK_SECONDS))
        return Job(f"{DRIVERS[driver].title}, {PROCESSORS} processors, {SPEEDS[board]} MIPS, {test}, {iperf3}", bed, work)

    every = cases(iperf3=(OWN,), test=TESTS, board=SPEEDS, driver=drivers)
    every += cases(iperf3=(KERNELS,), test=(UDP_RX, UDP_TX), board=(SLOW,), driver=drivers)
    return measured(session, f"{PROCESSORS} processors", every, job).table(
        f"iperf3 on boards with {PROCESSORS} processors: Mbit/s, loss and idle in %",
        ProcessorRow,
        lambda one, board, **_: (one, {"mips": SPEEDS[board]}),
    )


def of_own(tables: Tables) -> tuple[ProcessorRow, ...]:
    """The cells with several processors, iperf3 on one of its own."""
    return tables.processors.where(lambda r: r.iperf3 == OWN) if tables.processors else ()


def sending(session: Session) -> Table[IperfRow]:
    """UDP sent by our driver: each packet at once, and from a queue as the series does."""
    compared = {"napi": DRIVERS["napi"], **SERIES}
    return _iperf_table(
        measured(
            session,
            "how packets are sent",
            cases(test=(UDP_TX,), board=SPEEDS, driver=compared),
            lambda test, board, driver: _job(session, compared[driver], SPEEDS[board], test, SECONDS),
        ),
        f"{UDP_TX}, packets sent at once and from a queue: Mbit/s, idle in %",
    )


def hardware(session: Session, board: Hardware) -> Table[HardwareRow]:
    """The letter's tests on a machine whose memory takes time, with the kernel's drivers before and after the series."""
    drivers = [driver for driver in PAIRS["kernel"] if driver in buildable(session)]
    nics = (session.config.nic,) if session.config.nic else (USB2,) if session.quick else (USB2, NIC)

    def job(hardware: str, nic: str, test: str, driver: str) -> Job[trials.Throughput]:
        bed = DRIVERS[driver].testbed(session, board.mips, memory=board.memory, nic=nic)
        work = partial(trials.throughput, test=_test(test, QUICK_SECONDS))
        return Job(f"{hardware}, {nic}, {DRIVERS[driver].title}, {test}", bed, work)

    every = cases(hardware=(board.name,), nic=nics, test=TESTS, driver=drivers)
    return measured(session, f"the letter's tests, {board.name}", every, job).table(f"iperf3 on {board.name}", HardwareRow)


def letter() -> Table[LetterRow]:
    """The letter's own tables."""

    def row(record: reference.Record) -> LetterRow:
        before, after = (
            Published(*(reference.number(record[f"{driver}_{name}"]) for name in ("mbps", "loss", "idle")))
            for driver in ("standard", "napi")
        )
        ratio = round(after.mbps / before.mbps, 3) if before.mbps and after.mbps else None
        points = _points(after.idle_percent, before.idle_percent)
        return LetterRow(record["test"], record["target"], before, after, ratio, points)

    rows = map(row, reference.records(REFERENCE))
    return Table("The letter: four boards, Mbit/s, loss and idle in %", LetterRow, tuple(rows))


def _points(value: float | None, base: float | None) -> float | None:
    return round(value - base, 1) if value is not None and base is not None else None


def ratio_of(after: IperfRow, before: IperfRow) -> float:
    """Throughput after the series by that before, as the tables have it; 0 if there was none before."""
    return round(after.mbps / before.mbps, 4) if before.mbps else 0.0


def ratios(ours: Table[IperfRow], theirs: Table[LetterRow]) -> Table[RatioRow]:
    """What the series does, here and in the letter."""
    rows = []
    cells = {(row.test, row.board, row.driver): row for row in ours}
    for test, board in dict.fromkeys((row.test, row.board) for row in ours):
        boards = [row for row in theirs if row.test == test]
        throughputs = [row.ratio for row in boards if row.ratio is not None]
        points = [row.idle_points for row in boards if row.idle_points is not None]
        for drivers, (old, new) in PAIRS.items():
            before, after = cells.get((test, board, old)), cells.get((test, board, new))
            if before is None or after is None:
                continue
            row = RatioRow(
                test=test,
                board=board,
                drivers=drivers,
                ratio=ratio_of(after, before),
                idle_points=round(after.idle_percent - before.idle_percent, 1),
                letter_ratio_least=min(throughputs),
                letter_ratio_most=max(throughputs),
                letter_idle_points_least=min(points),
                letter_idle_points_most=max(points),
            )
            rows.append(row)
    title = "After the series by before: Mbit/s as a ratio, idle time in points; the letter's boards, least and most"
    return Table(title, RatioRow, tuple(rows))


def ablation(session: Session) -> Table[StepRow]:
    """Each patch: alone, in the series' order, and left out of the whole.

    Throughput is the window's: a timeout of TCP's at the start costs a fifth of a second, whatever the driver does later.
    """
    seconds = QUICK_SECONDS if session.quick else SECONDS
    pairs = {(WITH, STANDARD): (DRIVERS["standard"], DRIVERS["standard"]), **steps()}
    asked = QUICK_STEPS if session.quick else {test: tuple(steps()) for test in TESTS}
    wanted = [(how, patch, test) for test, keys in asked.items() for how, patch in ((WITH, STANDARD), *keys)]
    chosen = {one.key: one for pair in pairs.values() for one in pair}
    found = measured(
        session,
        "each patch",
        [{"patches": one.key, "test": test} for how, patch, test in wanted for one in pairs[how, patch]],
        lambda patches, test: _job(session, chosen[patches], STEP_MIPS, test, seconds),
    )
    rows = [
        _step(how, patch, test, *(found.of(patches=one.key, test=test) for one in pairs[how, patch]))
        for how, patch, test in wanted
    ]
    return Table(f"Each patch, at {STEP_MIPS} MIPS: Mbit/s once the flow has settled", StepRow, tuple(rows))


def _step(how: str, patch: int, test: str, less: trials.Throughput, more: trials.Throughput) -> StepRow:
    """What a patch does. The row's own figures are those of the driver that is named: without the patch, or with it."""
    shown = less if how == WITHOUT else more
    return row_of(
        StepRow,
        shown,
        change=how,
        patch=patch,
        what=PATCHES.get(patch, "standard"),
        test=test,
        mbps=shown.window_mbps,
        mbps_change_percent=_percent(more.window_mbps, less.window_mbps),
        idle_change_points=round(more.idle_percent - less.idle_percent, 1),
        instructions_change_percent=_percent(more.instructions_per_frame, less.instructions_per_frame),
    )


def _percent(value: float | None, base: float | None) -> float | None:
    return round(100 * (value / base - 1), 1) if value is not None and base else None


def forwarding(session: Session) -> Table[ForwardingRow]:
    """64-byte frames through the DUT, with one flow and no loss."""
    workload = Workload(size=FRAME_BYTES)
    if session.quick:
        workload = replace(workload, duration_ns=QUICK_NS, relative_width=QUICK_WIDTH)
    work = partial(throughput.run, workload=workload)
    return measured(
        session,
        "forwarding",
        cases(board=_speeds(session), driver=looked_at(session)),
        lambda board, driver: Job(f"{DRIVERS[driver].title} {board}", DRIVERS[driver].testbed(session, SPEEDS[board]), work),
    ).table(
        f"Forwarding {FRAME_BYTES}-byte frames without loss (RFC 2544)",
        ForwardingRow,
        lambda found, **_: {
            "throughput_pps": round(found.total_throughput_pps or 0.0, 1),
            "instructions_per_frame": found.instructions_per_frame and round(found.instructions_per_frame),
        },
    )


def causes(session: Session) -> Table[CauseRow]:
    """UDP with the kernel's drivers, under conditions that might explain where the lab and the letter differ."""
    built, by = buildable(session), {(one.what, one.test): one for one in CONDITIONS}

    def job(condition: str, test: str, board: str, driver: str) -> Job[trials.Throughput]:
        one = by[condition, test]
        costs = one.costs is not None
        bed = built[driver].testbed(session, SPEEDS[board], dut=one.dut, cost_model=costs, modules=one.modules)
        work = partial(trials.throughput, test=one.trial(_test(test, SECONDS)))
        return Job(f"{condition}, {test}, {board}, {DRIVERS[driver].title}", bed, work)

    every = [
        {"condition": one.what, "test": one.test, "board": board, "driver": driver}
        for one in CONDITIONS
        for board in one.boards
        for driver in one.drivers
        if driver in built
    ]
    return measured(session, "UDP under other conditions", every, job).table(
        "UDP under other conditions, with the kernel's drivers",
        CauseRow,
        lambda found, **_: ({"mbps": found.window_mbps}, found),
    )


def rrul(session: Session) -> Table[RrulRow]:
    """Latency under load, as the answer to the letter asks for it; with --long also of flent's length (the kernel's drivers)."""
    short = RrulTrial(seconds=RRUL_SECONDS)
    drivers = buildable(session)
    every = cases(test=(short, replace(short, test=RRUL_BE)), driver=drivers)
    if session.long:
        every += cases(test=(FLENT,), driver=[driver for driver in PAIRS["kernel"] if driver in drivers])

    def job(test: RrulTrial, driver: str) -> Job[trials.Responsiveness]:
        bed = drivers[driver].testbed(session, SPEEDS[SLOW])
        return Job(f"{test.test}, {test.seconds} s, {drivers[driver].title}", bed, partial(trials.latency, test=test))

    return measured(session, "rrul", every, job).table(
        f"rrul, {short.flows} TCP flows each way, on the {SLOW} board: round trips in µs, alone and loaded",
        RrulRow,
        lambda found, test, **_: (found, test),
    )


def marked(table: Table[RrulRow]) -> dict[str, RrulRow]:
    """The rows of rrul (not rrul_be) that there are of every driver, by driver."""
    return {row.driver: row for row in table.where(lambda r: r.test == RRUL and r.seconds != FLENT.seconds)}
