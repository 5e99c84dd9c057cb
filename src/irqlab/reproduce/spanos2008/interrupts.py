# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 3: interrupts while 512-byte frames arrive at the wire's rate at both interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.reproduce import reference
from irqlab.reproduce.paper import Data
from irqlab.reproduce.spanos2008.run import Run
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

FRAMES = 1_000_000
"""Per interface, as in the paper."""
QUICK_FRAMES = 10_000
FRAME_BYTES = 512
VARIANTS = ("ORIGINAL", "TX-OFF", "NAPI", "NAPI-TX-OFF")
"""Those of the paper's table 3."""


def _arrivals(runner: TrialRunner, workload: Workload, frames: int) -> ForwardingResult:
    """All frames, from the first to the last, at the wire's rate; nothing is offered before or after them."""
    rate_pps = runner.wire_pps(workload)
    spec = ForwardingTrial(
        loads=(Load(rate_pps=rate_pps, size=FRAME_BYTES, count=frames),),
        bidirectional=True,
        warmup_ns=0,
        duration_ns=round(frames / rate_pps * 1e9) + 1_000_000,
        costs=workload.costs,
    )
    trial = runner.trial(spec)
    runner.progress(f"{frames} frames")
    return trial


def measure(run: Run) -> dict[str, ForwardingResult]:
    """One trial per variant. The whole count is offered: a livelock's shares need not be those of a shorter one."""
    work = partial(_arrivals, workload=run.workload(FRAME_BYTES), frames=QUICK_FRAMES if run.quick else FRAMES)
    return run.session.all(f"interrupts{run.label}", {v: Job(v, run.testbed(v), work) for v in VARIANTS})


def table3(found: Mapping[str, ForwardingResult]) -> Data:
    """Counts over the whole trial, both interfaces together, beside the paper's and per frame offered."""
    counts = ("received_frames", "transmitted_frames", "rx_interrupts", "tx_interrupts")
    data = Data(
        "Table 3: interrupts while 512-byte frames arrive at 100 Mbit/s at both interfaces",
        ("variant", "offered_frames", *counts, "paper_offered_frames", *(f"paper_{name}" for name in counts), "idle_ratio"),
    )
    paper = reference.by("spanos2008_table3_interrupts", "driver")
    for variant, trial in found.items():
        said = {f"paper_{name}": int(paper[variant][name]) for name in counts}
        data.add(
            variant=variant,
            offered_frames=trial.total("sent"),
            **_counted(trial),
            paper_offered_frames=2 * FRAMES,
            **said,
            idle_ratio=round(trial.idle_ns / trial.spec.duration_ns, 4),
        )
    return data


def _counted(trial: ForwardingResult) -> dict[str, int | None]:
    """Received: handed to the kernel, by the interfaces' counters. Interrupts by cause: None if the driver does not tell."""
    interfaces, driver = trial.counters.interfaces.values(), trial.counters.driver.values()

    def caused(name: str) -> int | None:
        values = [counted[name] for counted in driver if name in counted]
        return sum(values) if values else None

    return {
        "received_frames": sum(counted["rx_packets"] for counted in interfaces),
        "transmitted_frames": trial.total("received"),
        "rx_interrupts": caused("rx_interrupts"),
        "tx_interrupts": caused("tx_interrupts"),
    }
