# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the letter's four tables at two speeds, each measure alone, forwarding, and latency under load."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from irqlab.config.workload import Workload
from irqlab.methods import throughput
from irqlab.reproduce import reference
from irqlab.reproduce.lan78xx import trials
from irqlab.reproduce.lan78xx.configurations import DRIVERS, MEASURES, SPEEDS, Configuration, steps
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.session import Session
from irqlab.runner.jobs import Job
from irqlab.trials.iperf import FOUR, IperfTrial
from irqlab.trials.rrul import RrulTrial

REFERENCE = "lan78xx_iperf3"
SECONDS, QUICK_SECONDS = 2, 1
RRUL = RrulTrial(seconds=2)
FRAME_BYTES = 64
TESTS = {test.name: test for test in FOUR}
STEPS, QUICK_STEPS = tuple(TESTS), ("TCP Rx", "UDP Tx")
"""Of the ablation."""
STEP_MIPS = 250
"""Where the CPU is the limit of every test, and a measure shows in Mbit/s."""
SLOW = "slow"
QUICK_FORWARDING_NS = 100_000_000


def measure(session: Session) -> Tables:
    """The tables by the name of their CSV file."""
    iperf_table = _iperf(session)
    return {
        "iperf": iperf_table,
        "letter": letter(),
        "ratios": ratios(iperf_table, letter()),
        "forwarding": _forwarding(session),
        "rrul": _rrul(session),
        "ablation": _ablation(session),
    }


def _test(name: str, seconds: int) -> IperfTrial:
    return replace(TESTS[name], seconds=seconds)


def _job(session: Session, chosen: Configuration, mips: int, name: str, seconds: int) -> Job[trials.Json]:
    work = partial(trials.throughput, test=_test(name, seconds))
    return Job(f"{chosen.title}, {mips} MIPS, {name}", chosen.testbed(session, mips), work)


def _speeds(session: Session) -> tuple[str, ...]:
    return (SLOW,) if session.quick else tuple(SPEEDS)


def _iperf(session: Session) -> Data:
    """The letter's tables, of the lab."""
    data = Data(
        "iperf3 on the lab's boards: Mbit/s, loss and idle in %",
        ("test", "board", "mips", "driver", "mbps", "loss_percent", "idle_percent", "instructions_per_frame", "retransmits"),
    )
    seconds = QUICK_SECONDS if session.quick else SECONDS
    jobs = {
        (name, speed, driver): _job(session, chosen, SPEEDS[speed], name, seconds)
        for name in TESTS
        for speed in _speeds(session)
        for driver, chosen in DRIVERS.items()
    }
    for (name, speed, driver), found in session.all("the letter's tables", jobs).items():
        figures = {column: found[column] for column in data.columns if column in found}
        data.add(test=name, board=speed, mips=SPEEDS[speed], driver=driver, **figures)
    return data


def letter() -> Data:
    """The letter's own tables, and what NAPI does there: a ratio of throughputs, and idle time in points."""
    data = Data(
        "The letter: four boards, Mbit/s, loss and idle in %",
        ("test", "board", "standard_mbps", "standard_loss_percent", "standard_idle_percent", "napi_mbps", "napi_loss_percent",
         "napi_idle_percent", "ratio", "idle_points"),
    )  # fmt: skip
    for record in reference.records(REFERENCE):
        said = {
            f"{driver}_{ours}": reference.number(record[f"{driver}_{theirs}"])
            for driver in ("standard", "napi")
            for ours, theirs in (("mbps", "mbps"), ("loss_percent", "loss"), ("idle_percent", "idle"))
        }
        before, after = said["standard_mbps"], said["napi_mbps"]
        idle = [said["standard_idle_percent"], said["napi_idle_percent"]]
        data.add(
            test=record["test"],
            board=record["target"],
            **said,
            ratio=round(after / before, 3) if before and after else None,
            idle_points=round(idle[1] - idle[0], 1) if idle[0] is not None and idle[1] is not None else None,
        )
    return data


def ratios(ours: Data, theirs: Data) -> Data:
    """What NAPI does, here and on the letter's boards: napi's throughput by standard's, and idle time more, in points."""
    data = Data(
        "napi by standard: Mbit/s as a ratio, idle time in points; the letter's boards, least and most",
        ("test", "board", "ratio", "idle_points", "letter_ratio_least", "letter_ratio_most", "letter_idle_points_least",
         "letter_idle_points_most"),
    )  # fmt: skip
    for after in ours.records(driver="napi"):
        before = ours.one(driver="standard", test=after["test"], board=after["board"])
        boards = list(theirs.records(test=after["test"]))
        said = [[row[name] for row in boards if row[name] is not None] for name in ("ratio", "idle_points")]
        data.add(
            test=after["test"],
            board=after["board"],
            ratio=round(after["mbps"] / before["mbps"], 3),
            idle_points=round(after["idle_percent"] - before["idle_percent"], 1),
            letter_ratio_least=min(said[0]),
            letter_ratio_most=max(said[0]),
            letter_idle_points_least=min(said[1]),
            letter_idle_points_most=max(said[1]),
        )
    return data


def _ablation(session: Session) -> Data:
    """Each measure alone, left out of napi and added to standard.

    A quick look adds (a) alone to standard: the letter says something of it. Throughput is the window's: a timeout of TCP's at
    the start costs a fifth of a second, whatever the driver does later.
    """
    data = Data(
        f"Each measure alone, at {STEP_MIPS} MIPS: Mbit/s once the flow has settled",
        ("change", "measure", "what", "test", "mbps", "loss_percent", "idle_percent", "instructions_per_frame",
         "mbps_change_percent", "idle_change_points", "instructions_change_percent"),
    )  # fmt: skip
    names, seconds = (QUICK_STEPS, QUICK_SECONDS) if session.quick else (STEPS, SECONDS)
    wanted = {("without", "none"): DRIVERS["napi"], ("with", "none"): DRIVERS["standard"], **steps()}
    if session.quick:
        wanted = {(change, key): one for (change, key), one in wanted.items() if change == "without" or key in ("none", "a")}
    jobs = {
        (change, key, name): _job(session, chosen, STEP_MIPS, name, seconds)
        for (change, key), chosen in wanted.items()
        for name in names
    }
    found = session.all("each measure alone", jobs)
    for change, key, name in jobs:
        point, base = found[change, key, name], found[change, "none", name]
        data.add(
            change=change, measure=key, what=MEASURES.get(key, "nothing"), test=name,
            mbps=point["window_mbps"],
            **{column: point[column] for column in ("loss_percent", "idle_percent", "instructions_per_frame")},
            mbps_change_percent=_percent(point["window_mbps"], base["window_mbps"]),
            idle_change_points=round(point["idle_percent"] - base["idle_percent"], 1),
            instructions_change_percent=_percent(point["instructions_per_frame"], base["instructions_per_frame"]),
        )  # fmt: skip
    return data


def _percent(value: float | None, base: float | None) -> float | None:
    return round(100 * (value / base - 1), 1) if value is not None and base else None


def _forwarding(session: Session) -> Data:
    """64-byte frames through the DUT, with one flow and no loss."""
    data = Data(
        f"Forwarding {FRAME_BYTES}-byte frames without loss (RFC 2544)",
        ("board", "driver", "throughput_pps", "instructions_per_frame"),
    )
    workload = Workload(size=FRAME_BYTES, duration_ns=QUICK_FORWARDING_NS) if session.quick else Workload(size=FRAME_BYTES)
    jobs = {
        (speed, driver): Job(
            f"{chosen.title} {speed}", chosen.testbed(session, SPEEDS[speed]), partial(throughput.run, workload=workload)
        )
        for speed in _speeds(session)
        for driver, chosen in DRIVERS.items()
    }
    for (speed, driver), found in session.all("forwarding", jobs).items():
        per_frame = found.instructions_per_frame
        data.add(
            board=speed,
            driver=driver,
            throughput_pps=round(found.total_throughput_pps or 0.0, 1),
            instructions_per_frame=None if per_frame is None else round(per_frame),
        )
    return data


def _rrul(session: Session) -> Data:
    """Latency under load, as the answer to the letter asks for it."""
    kinds = [f"{kind}_{when}_{name}_us" for kind in ("udp", "icmp") for when in ("base", "load") for name in ("p50", "p99")]
    data = Data(
        f"rrul, four TCP flows each way, on the {SLOW} board: round trips in µs, alone and loaded",
        ("driver", "up_mbps", "down_mbps", "idle_percent", *kinds),
    )
    jobs = {
        driver: Job(chosen.title, chosen.testbed(session, SPEEDS[SLOW]), partial(trials.latency, test=RRUL))
        for driver, chosen in DRIVERS.items()
    }
    for driver, found in session.all("rrul", jobs).items():
        data.add(driver=driver, **found)
    return data
