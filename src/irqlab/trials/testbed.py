# SPDX-License-Identifier: GPL-2.0-or-later
"""The testbed: one driver on one NIC model, kernel and CPU speed. Runs trials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from irqlab.config.ensemble import Member
from irqlab.config.memory import Memory
from irqlab.config.placement import Placement
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import FrameSize
from irqlab.dut import costmodel, schemes
from irqlab.dut.counters import Counters
from irqlab.dut.router import LabDut
from irqlab.errors import IrqlabError
from irqlab.perturb import catalogue as perturb
from irqlab.qemu import machine, snapshots
from irqlab.qemu.machine import MachineConfig, describe, parameters_of, save, start
from irqlab.qemu.pool import POOL
from irqlab.qemu.snapshots import Snapshot
from irqlab.setup import drivers, guestimage, kernel, modules, nics, qemu
from irqlab.setup.kernel_trees import Options
from irqlab.trials import cache
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.initial import InitialState, LineProfile, caches, dut_in
from irqlab.trials.trial import Conditions, Trial
from irqlab.units import driver_of

R = TypeVar("R")
MEMORY_MIB = 256
TEST_MEMORY_MIB = 1024
"""For debug kernels, and several processors."""


class Elsewhere(Protocol):
    """Other machines that run trials."""

    def measure(
        self, key: str, initial: InitialState, trial: Trial[R], addresses: dict[str, Any] | None, lines: LineProfile | None
    ) -> tuple[R, dict[str, Any] | None]:
        """As InitialState.measure. Trials with the same `key` have the same result."""


@dataclass
class Testbed:
    """A driver under test, with kernel, NIC model and QEMU resolved. Trials may run in parallel in threads."""

    config: TestbedConfig
    machine: MachineConfig
    modules: list[modules.Module]
    nic: nics.Nic
    elsewhere: Elsewhere | None = None
    """Where trials run; None: here."""

    @classmethod
    def resolve(cls, config: TestbedConfig) -> Testbed:
        """Finds kernel, module, NIC model and QEMU. Raises IrqlabError that says what is wrong and what is allowed."""
        if config.round_ns and config.cost_model:
            raise IrqlabError("--cost, --hardware: costs are charged to one processor: not with --cpus or --quantum")
        config.placement.check(config.cpus)
        dut_kernel = kernel.resolve(config.kernel, Options(config.kconfig, config.debug))
        loaded = modules.load(dut_kernel, config.driver)
        modules.check_parameters(loaded[-1], config.dut.module_parameters)
        found_qemu = qemu.find(config.qemu or nics.needed_qemu(loaded[-1], config.nic))
        nic = nics.choose(loaded[-1], config.nic, found_qemu, config.bus)
        schemes.check(config.dut.schemes, loaded, nic.capabilities)
        needed = modules.load_all(dut_kernel, (*nic.needs, *config.modules))
        model = modules.load(dut_kernel, costmodel.MODULE) if config.cost_model else []
        loaded = list({module.name: module for module in [*model, *needed, *loaded]}.values())
        loaded = perturb.modules(config.member, dut_kernel, loaded)
        words = (parameters_of(dut_kernel), perturb.command_line(config.member), config.kernel_arguments)
        image = guestimage.build(dut_kernel.release)
        machine = MachineConfig(
            qemu=found_qemu,
            kernel=dut_kernel,
            initrd=image.path,
            initrd_sha256=image.sha256,
            guest={"packages": image.packages, "agent_sha256": image.agent_sha256},
            nic=nic,
            mips=config.mips,
            cpus=config.cpus,
            functional=config.functional,
            quantum_ns=config.round_ns,
            memory_mib=TEST_MEMORY_MIB if config.functional or config.debug else MEMORY_MIB,
            memory=config.memory.arguments() if config.memory else "",
            lsm=config.lsm,
            extra_append=" ".join(word for word in words if word),
        )
        return cls(config, machine, loaded, nic)

    @staticmethod
    def on_card(config: TestbedConfig) -> TestbedConfig:
        """With the tester's own PCI card, if no NIC is asked for and there is one for the driver. Raises IrqlabError."""
        if config.nic is not None:
            return config
        dut_kernel = kernel.resolve(config.kernel, Options(config.kconfig, config.debug))
        card = nics.own_card(modules.load(dut_kernel, config.driver)[-1])
        return replace(config, nic=card.model) if card is not None else config

    @property
    def driver(self) -> str:
        """The name of the driver under test."""
        return self.modules[-1].name

    @property
    def has_schemes(self) -> bool:
        """Whether the driver is built on irqmod, and so has schemes to choose from."""
        return any(module.name == drivers.ENGINE for module in self.modules)

    @property
    def where(self) -> str:
        """What it is measured on, for the user."""
        several = f", {self.config.cpus} processors" if self.config.cpus > 1 else ""
        return f"{self.nic.model}, Linux {self.machine.kernel.release}, {self.machine.mips} MIPS{several}"

    def lab(self) -> Testbed:
        """This testbed (irqlab.trials.bench)."""
        return self

    def with_member(self, member: Member | None) -> Testbed:
        """The same testbed for a member of an ensemble."""
        return replace(Testbed.resolve(replace(self.config, member=member)), elsewhere=self.elsewhere)

    def ceiling_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The highest rate of one direction that the tester can offer; in virtual time there is none."""
        del size, bidirectional
        return math.inf

    def most_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The highest rate of one direction that is worth a trial: in the lab, loads above line rate are, too."""
        return self.ceiling_pps(size, bidirectional)

    @property
    def label(self) -> str:
        """The driver with the requested schemes."""
        asked = self.config.dut.schemes
        return driver_of({"driver": self.driver, "rx_scheme": asked.rx, "tx_scheme": asked.tx, "variant": asked.variant})

    def scheme_names(self) -> dict[str, str | None]:
        """The schemes in force, as in result rows; all None if the driver is not built on irqmod."""
        found = self.prepared.facts["running"]["schemes"] or {}
        return {"rx_scheme": found.get("rx"), "tx_scheme": found.get("tx"), "variant": self.config.dut.schemes.variant}

    @cached_property
    def booted(self) -> Snapshot:
        """The booted DUT, without the driver."""

        def take(state: Path) -> dict[str, Any]:
            with start(self.machine, to_save=True) as booting:
                LabDut(booting).kernel_log.check(messages=False)  # warnings at boot are problems too
                if self.config.functional:  # elsewhere it would cost time before a measurement
                    LabDut(booting).check_processors(self.config.cpus)
                    LabDut(booting).check_timers()
                save(booting, state)
            return {}

        return snapshots.get(self._machine_key, take, self.machine.memory_bytes)

    @cached_property
    def prepared(self) -> Snapshot:
        """The initial state of trials: driver loaded, forwarding, neighbours resolved."""

        def take(state: Path) -> dict[str, Any]:
            facts: dict[str, Any] = {}
            with start(self.machine, self.booted.state, to_save=True) as booted, dut_in(booted, self.config) as dut:
                facts["link_wait_ns"] = self._bring_up(dut)
                if self.config.cpus > 1 and not self.config.functional:
                    threads = self.config.dut.schemes.napi_threads not in (None, "off")
                    facts["interrupts"] = dut.place(self.config.placement, self.config.cpus, threads)
                    dut.kernel_log.check()
                perturb.prepare(self.config.member, dut)
                facts |= {"running": dut.describe(self.config.dut), "kernel_log": dut.kernel_log.lines}
                facts["counters"] = asdict(dut.counters())  # trials need not read the initial values
                save(booted, state)
            return facts

        return snapshots.get(snapshots.key_of(self.parts), take, self.machine.memory_bytes)

    @cached_property
    def parts(self) -> dict[str, Any]:
        """Everything the initial state of trials depends on, including irqlab's own code."""
        return {
            "machine": self._machine_key,
            "modules": [m.sha256 for m in self.modules],
            "dut": asdict(self.config.dut),
            "line_rate_bps": self.nic.line_rate_bps,
            "code": code_fingerprint(__name__),
            **({"placement": asdict(self.config.placement)} if self.config.placement != Placement() else {}),
            **({"perturb": found} if (found := self._prepared_with()) else {}),
        }

    def _prepared_with(self) -> dict[str, Any]:
        """What the member's perturbations add to the initial state. They are found by name, so `code` does not cover them."""
        found = perturb.prepared_with(self.config.member)
        return {name: [code_fingerprint(module), more] for name, (module, more) in found.items()}

    def _begins(self) -> dict[str, Any]:
        """What the member's perturbations do before every trial, for its key."""
        member, found = self.config.member, perturb.begins(self.config.member)
        if member is None or not found:
            return {}
        code = {name: code_fingerprint(module) for name, module in found.items()}
        return {"member": {"number": member.number, "seed": member.seed, "perturb": code}}

    @cached_property
    def _machine_key(self) -> str:
        return snapshots.key_of({"machine": self.machine.key(), "code": code_fingerprint(machine.__name__)})

    def _bring_up(self, dut: LabDut) -> int:
        """Loads the driver and makes the DUT forward; returns the virtual time, in ns, until the links were up."""
        dut.load(self.modules, self.config.dut.module_parameters)
        dut.play_hosts(self.nic.line_rate_bps)
        waited_ns = dut.configure(self.config.dut, self.driver, self.nic.model)
        dut.kernel_log.check()
        return waited_ns

    @contextmanager
    def open(self, profile: bool = False, pooled: bool = False) -> Iterator[LabDut]:
        """Context manager: a DUT restored to the initial state of trials (InitialState.open)."""
        with self._initial().open(profile, pooled) as dut:
            yield dut

    def _initial(self) -> InitialState:
        if not snapshots.touch(self.prepared):  # another process may have evicted it during a long run
            self.__dict__.pop("prepared", None)
        return InitialState(self.config, self.machine, self.nic, self.prepared.state, self.conditions)

    def close(self) -> None:
        """Ends idle machines of the pool; further trials are still possible."""
        if "prepared" in self.__dict__:
            POOL.close(self.prepared.state)

    def run(self, trial: Trial[R], cached: bool = True) -> R:
        """A trial's result, from the cache or from a run on a restored DUT. Raises IrqlabError."""
        return self._kept(trial, None)[0] if cached else self.measure(trial)[0]

    @property
    def caches(self) -> Memory:
        """The caches that profiles of lines use: the hardware's, or else common ones that never stall."""
        return caches(self.config)

    def profile(self, trial: Trial[R], addresses: dict[str, Any], lines: LineProfile | None = None) -> tuple[R, dict[str, Any]]:
        """As `run`, and the profile of its window (docs/inside/protocol.md, `profile`). Raises IrqlabError."""
        result, profile = self._kept(trial, addresses, lines)
        assert profile is not None
        return result, profile

    def measure(
        self, trial: Trial[R], addresses: dict[str, Any] | None = None, lines: LineProfile | None = None
    ) -> tuple[R, dict[str, Any] | None]:
        """Runs a trial, ignoring the cache. With `addresses` it is profiled; the second value is the tester's profile."""
        if self.elsewhere is not None:
            return self.elsewhere.measure(self._key(trial, addresses, lines), self._initial(), trial, addresses, lines)
        return self._initial().measure(trial, addresses, lines)

    def _key(self, trial: Trial[Any], addresses: dict[str, Any] | None, lines: LineProfile | None) -> str:
        """A hash of all that the result depends on."""
        memory = self.config.memory
        parts = self.parts | ({"memory": memory.arguments()} if memory else {}) | self._begins()
        if lines is not None:
            parts |= {"lines": [lines.keep, lines.key, self.caches.arguments()]}
        return cache.key_of(parts, trial, addresses)

    def _kept(
        self, trial: Trial[R], addresses: dict[str, Any] | None, lines: LineProfile | None = None
    ) -> tuple[R, dict[str, Any] | None]:
        key = self._key(trial, addresses, lines) if self.config.cached and trial.cacheable else None
        if key and (kept := cache.get(key)) is not None:
            return trial.restore(kept["result"]), kept["profile"]
        result, profile = self.measure(trial, addresses, lines)
        if key:
            cache.put(key, {"result": trial.store(result), "profile": profile})
        return result, profile

    @cached_property
    def conditions(self) -> Conditions:
        """The facts about this testbed that trials may use."""
        facts, memory = self.prepared.facts, self.config.memory
        return Conditions(
            driver=self.driver,
            mips=self.machine.mips,
            line_rate_bps=self.nic.line_rate_bps,
            link_wait_ns=facts["link_wait_ns"],
            counters=Counters(**facts["counters"]),
            cost_model=self.config.cost_model,
            processors=self.config.cpus,
            placement=self.config.placement,
            instruction_ns=memory.instruction_ns(self.machine.mips) if memory else None,
        )

    def _processors(self) -> dict[str, Any]:
        """What results say of several processors."""
        if not self.machine.quantum_ns:
            return {}
        interrupts = self.prepared.facts.get("interrupts", {})
        several = {"count": self.config.cpus, "quantum_ns": self.machine.quantum_ns, "interrupts": interrupts}
        return {"processors": several | self.config.placement.to_json()}

    def describe(self) -> dict[str, Any]:
        """Describes this testbed in result documents."""
        return {
            **describe(self.machine),
            **self._processors(),
            **({"memory": {"hardware": memory.hardware, **memory.to_json()}} if (memory := self.config.memory) else {}),
            "modules": [
                {"name": m.name, "sha256": m.sha256, "vermagic": m.vermagic}
                | ({"path": self.config.driver} if m is self.modules[-1] and "/" in self.config.driver else {})
                for m in self.modules
            ],
            "dut": {
                **self.prepared.facts["running"],
                "sysctls": dict(self.config.dut.sysctls),
                "module_parameters": self.config.dut.module_parameters,
                **({"attributes": dict(self.config.dut.attributes)} if self.config.dut.attributes else {}),
                **({"settings": others} if (others := self.config.dut.schemes.others) else {}),
            },
        }
