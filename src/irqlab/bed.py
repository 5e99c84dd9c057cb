# SPDX-License-Identifier: GPL-2.0-or-later
"""The test bed: one driver on one NIC model, kernel and speed, and the trials run on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from irqlab import costs, counters, snapshots, trialcache
from irqlab.dut import Dut, DutConfig, DutError, stream
from irqlab.errors import IrqlabError
from irqlab.machine import Machine, MachineConfig, MachineError, describe, save, start
from irqlab.rpc import ConnectionLostError, TesterError
from irqlab.setup import guestimage, kernel, modules, nics, qemu
from irqlab.snapshots import Snapshot
from irqlab.trial import Counters, TrialResult, TrialSpec, mean_frame_bytes, wire_rate_pps
from irqlab.units import driver_of


@dataclass(frozen=True)
class BedConfig:
    """What a user chooses. `driver` is the name of an in-tree module or the path of a .ko."""

    driver: str
    nic: str | None = None
    kernel: str | None = None
    mips: int = 250
    lsm: str = ""
    dut: DutConfig = field(default_factory=DutConfig)
    cost_model: bool = False
    """Trials may charge hardware costs (TrialSpec.costs): the module is loaded, and idle unless they do."""
    cached: bool = True
    """Trials made before are taken from the cache; False: every trial is run."""


@dataclass
class Bed:
    """A driver under test with everything resolved. Trials on it may run side by side in threads."""

    config: BedConfig
    machine: MachineConfig
    modules: list[modules.Module]
    nic: nics.Nic

    @classmethod
    def resolve(cls, config: BedConfig) -> Bed:
        """Finds kernel, module, NIC model and QEMU. Raises IrqlabError with what is wrong and what is allowed."""
        found_qemu = qemu.find()
        dut_kernel = kernel.resolve(config.kernel)
        loaded = modules.load(dut_kernel, config.driver)
        nic = nics.choose(loaded[-1], config.nic, found_qemu)
        needed = modules.load_all(dut_kernel, nic.needs)
        model = modules.load(dut_kernel, costs.MODULE) if config.cost_model else []
        loaded = list({module.name: module for module in [*model, *needed, *loaded]}.values())
        image = guestimage.build()
        machine = MachineConfig(
            qemu=found_qemu,
            kernel=dut_kernel,
            initrd=image.path,
            initrd_sha256=image.sha256,
            nic=nic,
            mips=config.mips,
            lsm=config.lsm,
        )
        return cls(config, machine, loaded, nic)

    @property
    def driver(self) -> str:
        """The name of the driver under test."""
        return self.modules[-1].name

    @property
    def label(self) -> str:
        """The driver with the schemes that are asked for."""
        asked = self.config.dut.schemes
        return driver_of({"driver": self.driver, "rx_scheme": asked.rx, "tx_scheme": asked.tx, "variant": asked.variant})

    def scheme_names(self) -> dict[str, str | None]:
        """The schemes in force, as result rows state them; all None for a driver that is not built on irqmod."""
        found = self.prepared.facts["running"]["schemes"] or {}
        return {"rx_scheme": found.get("rx"), "tx_scheme": found.get("tx"), "variant": self.config.dut.schemes.variant}

    @cached_property
    def booted(self) -> Snapshot:
        """The booted DUT, without the driver."""

        def take(state: Path) -> dict[str, Any]:
            with start(self.machine, to_save=True) as machine:
                Dut(machine).take_kernel_log()  # a complaint at boot is a complaint
                save(machine, state)
            return {}

        return snapshots.get(self.machine.key(), take)

    @cached_property
    def prepared(self) -> Snapshot:
        """The DUT with the driver loaded, forwarding, and warm enough to have resolved its neighbours: where trials start."""

        def take(state: Path) -> dict[str, Any]:
            with start(self.machine, self.booted.state, to_save=True) as machine, self._blaming(machine):
                dut, waited_ns = self._bring_up(machine)
                facts = {"running": dut.describe(self.config.dut), "link_wait_ns": waited_ns, "kernel_log": dut.kernel_log}
                facts["counters"] = asdict(dut.counters())  # no trial needs to read what they all begin with
                save(machine, state)
            return facts

        return snapshots.get(snapshots.key_of(self.parts), take)

    @cached_property
    def parts(self) -> dict[str, Any]:
        """All that the DUT depends on where trials start."""
        return {
            "machine": self.machine.key(),
            "modules": [m.sha256 for m in self.modules],
            "dut": asdict(self.config.dut),
            "facts": ["running", "link_wait_ns", "kernel_log", "counters"],
        }

    def wire_rate_pps(self, spec: TrialSpec) -> float:
        """What the wire carries in one direction, for the sizes of a trial, in frames/s."""
        return min(wire_rate_pps(mean_frame_bytes(load.size), self.nic.wire_bps) for load in spec.loads)

    def _bring_up(self, machine: Machine) -> tuple[Dut, int]:
        """Loads the driver and makes the DUT forward; returns it and the virtual ns the links took."""
        dut = Dut(machine)
        dut.load(self.modules, self.config.dut.module_parameters)
        dut.play_hosts(self.nic.wire_bps)
        waited_ns = dut.configure(self.config.dut, self.driver, self.nic.model)
        dut.take_kernel_log()
        return dut, waited_ns

    @contextmanager
    def open(self, profile: bool = False) -> Iterator[Dut]:
        """A DUT restored where trials start; leaving the block ends it. `profile`: its instructions can be counted."""
        if not snapshots.touch(self.prepared):  # in a run of hours another process may have made room
            self.__dict__.pop("prepared", None)
        with start(self.machine, self.prepared.state, profile) as machine, self._blaming(machine):
            yield Dut(machine)

    @contextmanager
    def _blaming(self, machine: Machine) -> Iterator[None]:
        """Turns a broken connection into what became of the DUT."""
        try:
            yield
        except ConnectionLostError as error:
            raise MachineError(f"the DUT went away: {machine.obituary()}") from error
        except TesterError as error:
            raise DutError(str(error)) from error

    def run(self, spec: TrialSpec) -> TrialResult:
        """One trial from the restored snapshot: a pure function of the bed and `spec`. Raises IrqlabError."""
        key = self._cache_key(spec)
        if key and (kept := trialcache.get(key)) is not None:
            return trialcache.from_json(spec, kept)
        result = self.measure(spec)
        if key:
            trialcache.put(key, trialcache.to_json(result))
        return result

    def profile(self, spec: TrialSpec, addresses: dict[str, Any]) -> tuple[TrialResult, dict[str, Any]]:
        """A trial like any other, and what its window executed where (docs/protocol.md, `profile`). Raises IrqlabError."""
        key = self._cache_key(spec, addresses)
        if key and (kept := trialcache.get(key)) is not None:
            return trialcache.from_json(spec, kept["trial"]), kept["profile"]
        result, answer = self.measure_profile(spec, addresses)
        if key:
            trialcache.put(key, {"trial": trialcache.to_json(result), "profile": answer})
        return result, answer

    def measure(self, spec: TrialSpec) -> TrialResult:
        """The same, whatever is in the cache."""
        with self.open() as dut:
            return self.trial(dut, spec, self._counters)

    def measure_profile(self, spec: TrialSpec, addresses: dict[str, Any]) -> tuple[TrialResult, dict[str, Any]]:
        """The same, profiled."""
        with self.open(profile=True) as dut:
            dut.rpc.call("profile", addresses=addresses)
            result = self.trial(dut, spec, self._counters)
            return result, dut.rpc.call("profile_result")

    def _cache_key(self, spec: TrialSpec, addresses: dict[str, Any] | None = None) -> str | None:
        """Names a trial in the cache; None for one that has to be run: --no-cache, or it writes a capture."""
        if not self.config.cached or spec.capture:
            return None
        return trialcache.key_of({**self.parts, "wire_bps": self.nic.wire_bps}, spec, addresses)

    @property
    def _counters(self) -> Counters:
        """The kernel's counters where trials start."""
        return Counters(**self.prepared.facts["counters"])

    def trial(self, dut: Dut, spec: TrialSpec, before: Counters | None = None) -> TrialResult:
        """One trial on a DUT as it is. `before`: its counters, where they are known."""
        dut.play_hosts(0 if spec.over_wire else self.nic.wire_bps)
        if spec.capture:
            dut.rpc.call("capture", path=str(Path(spec.capture).absolute()))
        charged = spec.costs is not None or spec.count_events
        if charged:
            if not self.config.cost_model:
                raise IrqlabError("this bed has no cost model to charge costs with (BedConfig.cost_model)")
            costs.charge(dut, spec.costs or costs.Costs(), spec.count_events)
        counted = costs.events(dut) if charged else {}
        before = before or dut.counters()
        directions = ((0, 1), (1, 0)) if spec.bidirectional else ((0, 1),)
        streams, load_of = [], []
        for number, load in enumerate(spec.loads):
            for source, sink in directions:
                one = stream(source, sink, load.arrivals_json(), load.size_json())
                one |= {"begin_ns": load.begin_ns, "end_ns": load.end_ns, "count": load.count}
                # The second direction starts half a period later: two free-running testers are not in step.
                one["phase_ns"] = int(0.5e9 / load.rate_pps) if source == 1 else 0
                streams.append(one)
                load_of.append(number)
        result = dut.run_trial(
            {
                "seed": spec.seed,
                "warmup_ns": spec.warmup_ns,
                "duration_ns": spec.duration_ns,
                "drain_ns": spec.drain_ns,
                "late_ns": spec.late_ns,
                "bucket_ns": spec.bucket_ns,
                "histogram": spec.histogram,
            },
            streams,
        )
        after = dut.counters()
        if charged:
            counted = {name: number - counted[name] for name, number in costs.events(dut).items()}
        if spec.capture:
            dut.rpc.call("capture", path=None)
        dut.take_kernel_log()
        return TrialResult(
            spec=spec,
            streams=[{**s, "load": load} for s, load in zip(result["streams"], load_of, strict=True)],
            ports=result["ports"],
            instructions=result["instructions"],
            idle_ns=result["idle_ns"],
            counters=counters.difference(before, after),
            link_wait_ns=self.prepared.facts["link_wait_ns"],
            kernel_log=dut.kernel_log,
            cost_events=counted if charged else None,
        )

    def describe(self) -> dict[str, Any]:
        """What results of this bed are measured on."""
        return {
            **describe(self.machine),
            "modules": [{"name": m.name, "sha256": m.sha256, "vermagic": m.vermagic} for m in self.modules],
            "dut": {
                **self.prepared.facts["running"],
                "sysctls": dict(self.config.dut.sysctls),
                "module_parameters": self.config.dut.module_parameters,
                **({"attributes": dict(self.config.dut.attributes)} if self.config.dut.attributes else {}),
            },
        }
