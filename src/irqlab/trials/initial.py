# SPDX-License-Identifier: GPL-2.0-or-later
"""The initial state of trials: what QEMU restores, and a trial on it, without the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from irqlab.config.memory import COMMON, Memory
from irqlab.config.testbed import TestbedConfig
from irqlab.dut.agent import dut_error
from irqlab.dut.router import LabDut
from irqlab.errors import IrqlabError
from irqlab.perturb import catalogue as perturb
from irqlab.qemu.failure import MachineError
from irqlab.qemu.machine import Machine, MachineConfig, start
from irqlab.qemu.pool import POOL
from irqlab.qemu.rpc import ConnectionLostError, Rpc, TesterError
from irqlab.qemu.watchdog import NoAnswerError
from irqlab.setup.nics import Nic
from irqlab.trials.trial import Conditions, Trial

R = TypeVar("R")


@dataclass(frozen=True)
class LineProfile:
    """What is to be found out about the lines of memory that a trial uses (docs/inside/protocol.md, `profile`)."""

    keep: list[tuple[int, int]]
    """Memory that is copied when the window closes: virtual addresses and bytes."""
    examine: Callable[[dict[str, Any], Rpc], dict[str, Any]]
    """Makes JSON data of the tester's `lines` while the DUT's memory can still be read."""
    key: Any
    """What that depends on besides the trial."""


def caches(config: TestbedConfig) -> Memory:
    """The caches that profiles of lines use: the hardware's, or else common ones that never stall."""
    return config.memory or COMMON


@contextmanager
def dut_in(running: Machine, config: TestbedConfig) -> Iterator[LabDut]:
    """The DUT in a machine. A broken connection or an unresponsive agent becomes an error that says what happened to it."""
    dut = LabDut(running, config.dut.may_log)
    try:
        yield dut
    except NoAnswerError as error:
        raise MachineError(f"the DUT hangs: {error}; {dut.whereabouts(error)}") from error
    except ConnectionLostError as error:
        raise dut.machine.failure("the DUT went away") from error
    except TesterError as error:
        raise dut_error(str(error), error) from error


@dataclass(frozen=True)
class InitialState:
    """A snapshot with the driver loaded and frames passing, and all that restores it."""

    config: TestbedConfig
    machine: MachineConfig
    nic: Nic
    state: Path
    conditions: Conditions

    @contextmanager
    def open(self, profile: bool = False, pooled: bool = False, lines: bool = False) -> Iterator[LabDut]:
        """Context manager: a DUT in this state. `profile`: its instructions can be counted.

        `pooled`: take the QEMU from the pool, and return it there afterwards. `lines`: it has caches (`caches`).
        """
        config = replace(self.machine, memory=caches(self.config).arguments()) if lines else self.machine
        pooled = pooled and self.nic.rewinds and not self.config.functional
        starting = POOL.machine(self.machine, self.state) if pooled else start(config, self.state, profile)
        with starting as restored, dut_in(restored, self.config) as dut:
            yield dut

    def measure(
        self, trial: Trial[R], addresses: dict[str, Any] | None = None, lines: LineProfile | None = None
    ) -> tuple[R, dict[str, Any] | None]:
        """Runs a trial. With `addresses` it is profiled; the second value is the tester's profile. Raises IrqlabError."""
        if self.config.functional:
            raise IrqlabError(
                "--functional: nothing is measured without an instruction clock (it is for tap, shell, fuzz, cycles)"
            )
        with self.open(profile=addresses is not None, pooled=addresses is None, lines=lines is not None) as dut:
            conditions = self.conditions
            if perturb.begins(self.config.member):
                perturb.begin(self.config.member, dut)
                conditions = replace(conditions, counters=dut.counters())
            if addresses is None:
                return trial.measure(dut, conditions), None
            dut.rpc.call("profile", addresses=addresses, **({"lines": lines.keep} if lines else {}))
            result = trial.measure(dut, conditions)
            profile = dut.rpc.call("profile_result")
            if lines is not None:
                profile["lines"] = lines.examine(profile["lines"], dut.machine.rpc)
                if self.config.memory is None:
                    result = trial.without_memory(result)
            return result, profile
