# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API.

    from irqlab import Lab

    with Lab(driver="8139cp", mips=250) as lab:
        print(lab.throughput(size=64).total_throughput_pps)
        print(lab.trial(rate_pps=40_000, size=64).instructions_per_frame)

Everything is deterministic: the same calls give the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any

from irqlab.config.schemes import Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import burst, latency, loss, recovery, throughput
from irqlab.methods import profile as method
from irqlab.methods.options import check_rate
from irqlab.profile import Profile
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed


class Lab:
    """A driver under test. `driver` is the name of a module, ours or in-tree, or the path of a .ko. Raises IrqlabError.

    The schemes of a driver built on irqmod: `rx` and `tx`, or `variant`, one of the first paper's six
    (irqlab.config.schemes.VARIANTS). `settings`: the other fields of irqlab.config.schemes.Schemes, such as weight, cliff_pps
    and rx_usecs.

    `may_log`: regular expressions of kernel messages that are no problem. `jobs`: trials that run at the same time.

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
        may_log: Sequence[str] = (),
        jobs: int = 1,
        cached: bool = True,
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
        self.testbed = Testbed.resolve(TestbedConfig(fspath(driver), nic, kernel, mips=mips, lsm=lsm, dut=dut, cached=cached))
        self._runner = TrialRunner(self.testbed, threading.Semaphore(jobs))

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.testbed.close()

    def trial(self, rate_pps: float, **workload: Any) -> ForwardingResult:
        """One trial at `rate_pps` frames/s in each direction."""
        check_rate(rate_pps)
        return self._runner.trial(self._runner.spec(Workload(**workload), rate_pps))

    def throughput(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.1."""
        return throughput.run(self._runner, Workload(**workload))

    def latency(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.2."""
        return latency.run(self._runner, Workload(**workload))

    def loss(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.3."""
        return loss.run(self._runner, Workload(**workload))

    def burst(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.4."""
        return burst.run(self._runner, Workload(**workload))

    def recovery(self, **workload: Any) -> MethodResult:
        """RFC 2544, 26.5."""
        return recovery.run(self._runner, Workload(**workload))

    def profile(self, load: float | None = None, rate_pps: float | None = None, **workload: Any) -> Profile:
        """Where a frame's instructions go, at `rate_pps` in each direction or at `load` times the throughput (default: 2)."""
        method.Options(load=None if load is None else f"{load:g}", rate=rate_pps)  # checks them
        return Profile(method.run(self._runner, Workload(**workload), load, rate_pps))
