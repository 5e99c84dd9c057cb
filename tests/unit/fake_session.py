# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions without QEMU: one runs jobs on fake testbeds, one answers them from a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from irqlab.config.ensemble import Ensemble
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner


@dataclass
class FakeSession:
    """Has the interface of irqlab.reproduce.session.Session as far as papers use it."""

    testbeds: Callable[..., Any] = lambda *_, **__: SimpleNamespace(describe=lambda: {"dut": {"ring_rx": 64}})
    """Makes the testbed of schemes and changes."""
    answer: Callable[[str, Any], Any] | None = None
    """Of what is measured and a job's key: the job's answer. None: jobs are done."""
    quick: bool = False
    long: bool = True
    hardware: Any = None
    config: Any = field(default_factory=lambda: SimpleNamespace(nic=None))
    release: str = "6.1.0-1-amd64"
    """The kernel's."""
    results: list[MethodResult] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    """What was measured: its name, and the key of each job."""
    made: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    """The testbeds asked for: schemes and changes."""
    jobs: list[tuple[str, Any, Any, Any]] = field(default_factory=list)
    """What was measured: its name, the key of each job, the job, and the schemes and changes of its testbed."""
    _asked_for: dict[int, Any] = field(default_factory=dict)

    ensemble: Ensemble = field(default_factory=Ensemble)
    first: bool = True
    """Whether no member was measured before."""

    def members(self) -> Iterator[None]:
        for _ in self.ensemble.cast():
            yield

    def testbed(self, schemes: Any = None, **changes: Any) -> Any:
        self.made.append((schemes, changes))
        found = self.testbeds(schemes, **changes)
        self._asked_for[id(found)] = (schemes, changes, found)  # which keeps it, and so its id
        return found

    def kernel_release(self) -> str:
        return self.release

    def all(self, what: str, jobs: Mapping[Any, Any]) -> dict[Any, Any]:
        self.asked += [(what, key) for key in jobs]
        self.jobs += [(what, key, job, self._asked_for[id(job.bench)][:2]) for key, job in jobs.items()]
        if self.answer is not None:
            return {key: self.answer(what, key) for key in jobs}
        found = {key: job.work(TrialRunner(job.bench)) for key, job in jobs.items()}
        self.results += [one for one in found.values() if isinstance(one, MethodResult)]
        return found
