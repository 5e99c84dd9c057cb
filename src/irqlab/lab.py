# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API.

    from irqlab import Lab

    with Lab(driver="8139cp", mips=250) as lab:
        print(lab.throughput(size=64).total_throughput_pps)
        print(lab.trial(rate_pps=40_000, size=64).instructions_per_frame)
        print(lab.hunt(instants=3_000).summary.missed)
        with Lab(driver="build/8139cp.ko", mips=250) as other:
            print(*(line.verdict for line in lab.compare(other)))

Everything is deterministic: the same calls give the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike, fspath
from types import TracebackType
from typing import Any

from irqlab.compare import loads, verdict
from irqlab.compare.verdict import Line
from irqlab.config import hardware as boards
from irqlab.config.ensemble import Ensemble
from irqlab.config.placement import Placement
from irqlab.config.schemes import Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import burst, catalogue, latency, loss, recovery, throughput
from irqlab.methods import profile as profiling
from irqlab.methods.options import check_rate
from irqlab.perturb import catalogue as perturbations
from irqlab.profile import Profile
from irqlab.results.document import MethodResult
from irqlab.runner.measure import measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed


class Lab:
    """A driver under test. `driver` is the name of a module, ours or in-tree, or the path of a .ko. Raises IrqlabError.

    The schemes of a driver built on irqmod: `rx` and `tx`, or `variant`, one of the first paper's six
    (irqlab.config.schemes.VARIANTS). `settings`: the other fields of irqlab.config.schemes.Schemes, such as weight, cliff_pps
    and rx_usecs.

    `hardware`: a board's speed, and its costs or memory, by name or file (irqlab list hardware); it sets `mips`.

    `may_log`: regular expressions of kernel messages that are no problem. `jobs`: trials that run at the same time.

    `cpus`: processors of the DUT; `quantum_ns` and `placement` (irqlab.config.placement): docs/use/processors.md.

    `cached`: reuse cached results of earlier trials (irqlab.trials.cache); False: run every trial.

    Keyword arguments of the methods are the fields of `irqlab.config.workload.Workload`: size (bytes, FCS counted, or "imix"),
    bidirectional, arrivals, duration_ns, warmup_ns, above_line_rate, seed, loss_tolerance, histogram, capture.
    """

    def __init__(
        self,
        driver: str | PathLike[str],
        *,
        nic: str | None = None,
        kernel: str | None = None,
        mips: int = 250,
        ring: int | None = None,
        lsm: str = "",
        sysctls: Mapping[str, str] | None = None,
        module_parameters: str = "",
        rx: str | None = None,
        tx: str | None = None,
        variant: str | None = None,
        hardware: str | None = None,
        may_log: Sequence[str] = (),
        jobs: int = 1,
        cached: bool = True,
        qemu: str | None = None,
        cpus: int = 1,
        quantum_ns: int | None = None,
        placement: Placement | None = None,
        **settings: int,
    ) -> None:
        unknown = settings.keys() - Schemes.__dataclass_fields__.keys()
        if unknown:
            raise TypeError(f"Lab() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        chosen = combine(variant, rx, tx, **settings)
        if len(chosen) > 1:
            raise IrqlabError(f"a Lab takes one pair of schemes, not {len(chosen)}")
        if jobs < 1:
            raise IrqlabError(f"jobs {jobs}: allowed are 1 or more")
        dut = DutConfig(
            ring=ring,
            sysctls=tuple((name, str(value)) for name, value in (sysctls or {}).items()),
            module_parameters=module_parameters,
            schemes=chosen[0],
            may_log=tuple(may_log),
        )
        board = boards.choose(hardware, None, mips)
        self._costs, self._jobs = board.costs, jobs
        config = TestbedConfig(
            fspath(driver), nic, qemu, kernel, mips=board.mips, lsm=lsm, dut=dut, cached=cached, cpus=cpus, quantum_ns=quantum_ns
        )
        config = replace(config, placement=placement or Placement())
        self.testbed = Testbed.resolve(replace(config, cost_model=board.costs is not None, memory=board.memory))
        self._runner = TrialRunner(self.testbed, threading.Semaphore(jobs))

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.testbed.close()

    def trial(self, rate_pps: float, **workload: Any) -> ForwardingResult:
        """One trial at `rate_pps` frames/s in each direction."""
        check_rate(rate_pps)
        return self._runner.trial(self._runner.spec(self._workload(workload), rate_pps))

    def throughput(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.1."""
        return throughput.run(self._runner, self._workload(workload))

    def latency(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.2."""
        return latency.run(self._runner, self._workload(workload))

    def loss(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.3."""
        return loss.run(self._runner, self._workload(workload))

    def burst(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.4."""
        return burst.run(self._runner, self._workload(workload))

    def recovery(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.5."""
        return recovery.run(self._runner, self._workload(workload))

    def profile(self, load: float | None = None, rate_pps: float | None = None, **workload: Any) -> Profile:
        """Where a frame's instructions go, at `rate_pps` in each direction or at `load` times the throughput (default: 2)."""
        profiling.Options(load=None if load is None else f"{load:g}", rate=rate_pps)  # checks them
        return Profile(profiling.run(self._runner, self._workload(workload), load, rate_pps))

    def measure(self, command: str, **given: Any) -> list[MethodResult]:
        """The results of a method, by the name of its command.

        `given`: its options by their names in Python, such as `instants` of hunt, and fields of Workload. Raises IrqlabError.
        """
        methods = {name: method for name, method in catalogue.methods().items() if method.run is not None}
        if command not in methods:
            raise IrqlabError(f"method {command}: allowed are {', '.join(methods)}")
        run, options = methods[command].run, methods[command].options
        assert run is not None
        own = {field.name: given.pop(field.name) for field in fields(options) if field.name in given}
        return run(self._runner, self._workload(given), options(**own))

    def hunt(self, **given: Any) -> MethodResult:
        """A race hunt (irqlab.methods.hunt): `summary.missed` counts what went wrong, `samples` have the findings."""
        (found,) = self.measure("hunt", **given)
        return found

    def application(self, **given: Any) -> list[MethodResult]:
        """A receiving application over offered load (irqlab.methods.application): a result for each way of waiting."""
        return self.measure("application", **given)

    def compare(self, other: Lab, *, memory: bool = False, fail_above: float | None = None, **workload: Any) -> list[Line]:
        """What `other` costs against this one: a line with a verdict for each figure, as of `irqlab compare`.

        `memory`: lines of memory, too. `fail_above`: share by which a figure may be worse. Raises IrqlabError.
        """
        offered = self._workload(workload)
        ensemble = Ensemble(loads.MEMBERS, perturbations.parse(None), offered.seed, loads.BOOTS)
        method, sides = loads.method(2, [offered.size], memory=memory), [self.testbed, other.testbed]
        outcome = measure(sides, [offered], self._jobs, method, "compare", throughput.METHOD.name, [ensemble] * 2)
        if outcome.error is not None:
            raise outcome.error
        before, after = verdict.measured(outcome.document)
        return verdict.lines(before, after, fail_above)

    def _workload(self, given: Mapping[str, Any]) -> Workload:
        return Workload(**{"costs": self._costs, **given})
