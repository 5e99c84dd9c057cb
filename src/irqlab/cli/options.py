# SPDX-License-Identifier: GPL-2.0-or-later
"""Options shared by commands: declared and checked in one place, and turned into a Request. Bad input raises IrqlabError."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.config import hardware as boards
from irqlab.config.costs import TERMS
from irqlab.config.ensemble import Ensemble
from irqlab.config.placement import Placement
from irqlab.config.schemes import SETTINGS, VARIANTS, combine
from irqlab.config.testbed import SHIFT_OF_MIPS, DutConfig, TestbedConfig
from irqlab.config.traffic import FrameSize, parse_size
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods.method import COSTS, DUT, ENSEMBLE, RUN, SCHEMES
from irqlab.methods.options import pps
from irqlab.panels import RARE
from irqlab.perturb import catalogue as perturbations
from irqlab.setup.kernel_trees import DEBUG, debug_names
from irqlab.setup.qemu import DEFAULT, RELEASES

__all__ = [
    "COSTS",
    "DUT",
    "ENSEMBLE",
    "RUN",
    "SCHEMES",
    "SHARED",
    "TRIAL",
    "JsonFile",
    "PlotsDirectory",
    "RateOption",
    "ReportFile",
    "Request",
    "Shared",
    "asks",
    "default_jobs",
    "sizes",
]

REQUIRED = inspect.Parameter.empty
_HARDWARE = "Hardware: costs, memory (default: none)"
_LOAD = "What is offered"
_RESULTS = "Results"
_SCHEMES = "Schemes (drivers built on irqmod)"


@dataclass(frozen=True)
class Shared:
    """A shared option: its type for typer, and its default."""

    hint: Any
    """The type, annotated with typer's option."""
    default: Any = None


def _default(config: type, field: str) -> Any:
    """The default of a configuration's field, so that it is declared only there."""
    (found,) = [entry.default for entry in fields(config) if entry.name == field]
    return found


def _option(name: str, hint: Any, help_text: str, default: Any = None, panel: str | None = None) -> Shared:
    return Shared(Annotated[hint, typer.Option(name, help=help_text, rich_help_panel=panel)], default)


SHARED: dict[str, Shared] = {
    "driver": _option(
        "--driver", list[str], "Kernel module: a name (ours or in-tree) or the path of a .ko; repeatable.", REQUIRED
    ),
    "nic": _option(
        "--nic",
        str | None,
        "NIC model; irqlab-MODEL+ERRATUM: with a defect of the chip; default: the first one that the driver supports.",
    ),
    "qemu": _option(
        "--qemu",
        str | None,
        f"QEMU: {', '.join(RELEASES)} (Debian's, fetched), or a program; default: {DEFAULT}, for igb 10.0.",
        None,
        RARE,
    ),
    "bus": _option(
        "--bus",
        str | None,
        "The bus of the tester's own PCI cards, MHz:bits: 33:32 (default), 33:64, 66:32, 66:64.",
        None,
        RARE,
    ),
    "kernel": _option(
        "--kernel",
        str | None,
        "Debian's kernel (6.1, 7.3, 6.12.95, 6.1-rt; irqlab list kernels), a source tree (tree:PATH, tree:PATH@REVISION, "
        "source:6.12) or your own build (build:PATH); default: the 6.1 that make setup fetched.",
    ),
    "kconfig": _option(
        "--kconfig", list[str] | None, "A file with CONFIG_ lines for a kernel that is built; repeatable.", None, RARE
    ),
    "debug": _option(
        "--debug", str | None, f"Debugging options of a kernel that is built, comma-separated: {', '.join(DEBUG)}.", None, RARE
    ),
    "cpus": _option(
        "--cpus",
        int,
        "Processors of the DUT, which run at the same virtual time: 1 to 8; with --functional up to 64.",
        _default(TestbedConfig, "cpus"),
        RARE,
    ),
    "quantum": _option(
        "--quantum",
        float | None,
        "How far the times of several processors are apart at most, in microseconds; default: 1.",
        None,
        RARE,
    ),
    "affinity": _option(
        "--affinity",
        str | None,
        "Processors of the NICs' interrupts, by interface or queue: eth0=0,eth1=1,eth1-1=2; default: each interface's in turn.",
        None,
        RARE,
    ),
    "rps": _option("--rps", str | None, "Processors that receive queues hand frames to (rps_cpus), as in 0,2-3.", None, RARE),
    "xps": _option("--xps", str | None, "Processors of each transmit queue (xps_cpus), as in 0-1:2-3.", None, RARE),
    "napi_cpus": _option("--napi-cpus", str | None, "Processors of NAPI's kernel threads, in turn, as in 0,2-3.", None, RARE),
    "app_cpu": _option("--app-cpu", int | None, "The processor of the process in the DUT: the receiver, iperf3.", None, RARE),
    "functional": _option(
        "--functional",
        bool,
        "Run without the instruction clock. For tests (tap, shell); commands that measure reject it.",
        _default(TestbedConfig, "functional"),
        RARE,
    ),
    "mips": _option(
        "--mips",
        int,
        f"Speed of the DUT's CPU in million instructions per second: {', '.join(map(str, SHIFT_OF_MIPS))}.",
        _default(TestbedConfig, "mips"),
    ),
    "size": _option(
        "--size",
        str,
        "Frame sizes in bytes, including FCS (64 to 1518), comma-separated; or imix.",
        str(_default(Workload, "size")),
        _LOAD,
    ),
    "bidirectional": _option(
        "--bidirectional", bool, "Offer the load in both directions simultaneously.", _default(Workload, "bidirectional"), _LOAD
    ),
    **{
        setting.field: _option(
            setting.place.option,
            setting.type | None,
            setting.place.help,
            None,
            _SCHEMES if setting.field in ("rx", "tx") else RARE,
        )
        for setting in sorted(SETTINGS, key=lambda s: s.field not in ("rx", "tx"))
    },
    "variant": _option(
        "--variant",
        list[str] | None,
        f"Those of Spanos et al. (2008), weight 32, rings of 256: {', '.join(VARIANTS)}, or all; comma-separated.",
        None,
        _SCHEMES,
    ),
    "ring": _option("--ring", int | None, "RX and TX ring size; default: the driver's."),
    "duration": _option(
        "--duration",
        float,
        "Measurement window of a trial, in virtual seconds (RFC 2544 asks for 60).",
        _default(Workload, "duration_ns") / 1e9,
        _LOAD,
    ),
    "warmup": _option(
        "--warmup",
        float,
        "Warm-up under load before the measurement window, in virtual seconds.",
        _default(Workload, "warmup_ns") / 1e9,
        _LOAD,
    ),
    "arrivals": _option(
        "--arrivals", str, "Arrival process: constant, poisson or bursts.", _default(Workload, "arrivals"), _LOAD
    ),
    "loss_tolerance": _option(
        "--loss-tolerance",
        float,
        "Share of frames that may be lost at the throughput, 0 to below 1; above 0, late frames do not count as lost.",
        _default(Workload, "loss_tolerance"),
        RARE,
    ),
    "above_line_rate": _option(
        "--above-line-rate",
        bool,
        "Allow offered loads above line rate.",
        _default(Workload, "above_line_rate"),
        RARE,
    ),
    "seed": _option(
        "--seed",
        int,
        "Seed of the random numbers for Poisson arrivals, IMIX and ensembles.",
        _default(Workload, "seed"),
        RARE,
    ),
    "lsm": _option(
        "--lsm",
        str,
        "Linux security modules of the DUT, e.g. apparmor; default: none.",
        _default(TestbedConfig, "lsm"),
        RARE,
    ),
    "kernel_arguments": _option(
        "--kernel-arguments",
        str,
        "Further arguments of the DUT's kernel, e.g. preempt=none (kernel-parameters.txt).",
        _default(TestbedConfig, "kernel_arguments"),
        RARE,
    ),
    "sysctl": _option("--sysctl", list[str] | None, "Set a sysctl in the DUT, NAME=VALUE; repeatable.", None, RARE),
    "attribute": _option(
        "--attribute",
        list[str] | None,
        "Write VALUE to FILE below /sys/class/net/INTERFACE, for both interfaces: FILE=VALUE; repeatable.",
        None,
        RARE,
    ),
    "module_parameters": _option(
        "--module-parameters", str, "Module parameters of the driver, as for insmod.", _default(DutConfig, "module_parameters")
    ),
    "may_log": _option(
        "--may-log",
        list[str] | None,
        "Kernel messages above info that are no problem: a regular expression; repeatable.",
        None,
        RARE,
    ),
    "cost": _option(
        "--cost",
        str | None,
        f"Hardware costs in ns, e.g. irq=1500,byte=16.5; names: {', '.join(TERMS)} (docs/use/costs.md).",
        None,
        RARE,
    ),
    "hardware": _option(
        "--hardware",
        str | None,
        f"A board's CPU speed, and its costs or memory: {', '.join(boards.names())}, or a file (irqlab calibrate; "
        "docs/use/memory-model.md).",
        None,
        _HARDWARE,
    ),
    "ensemble": _option(
        "--ensemble",
        int,
        "Number of members: measurements that differ only in what should not matter. Shows median and range of every figure.",
        _default(Ensemble, "members"),
        _RESULTS,
    ),
    "perturb": _option(
        "--perturb",
        str | None,
        f"What the members differ in, comma-separated: {', '.join(perturbations.perturbations())}; default: all.",
        None,
        RARE,
    ),
    "jobs": _option("--jobs", int, "Number of parallel trials; 0: the number of cores. Does not affect results.", 0, _RESULTS),
    "no_cache": _option(
        "--no-cache", bool, "Run every trial, even if its result is cached. Does not affect results.", False, _RESULTS
    ),
}
"""The options that make up a Request, in the order of the help."""


def option_names() -> frozenset[str]:
    """The names of the shared options, and of those for files that many commands write, without the dashes."""
    declared = (
        hint.__metadata__[0] for hint in (*(shared.hint for shared in SHARED.values()), JsonFile, ReportFile, PlotsDirectory)
    )
    words = (word for one in declared for word in (one.default, *(one.param_decls or ())))
    return frozenset(word.removeprefix("--") for word in words if isinstance(word, str))


TRIAL = ("size", "bidirectional", "duration", "warmup", "arrivals", "seed")
"""What is offered, in commands that are no methods."""

_PLACED = ("affinity", "rps", "xps", "napi_cpus")
_WITH = dict.fromkeys(("qemu", "kconfig", "debug", "cpus", "quantum", *_PLACED, "functional"), "kernel")
"""An option, and another: every command that has the other has this one as well."""

JsonFile = Annotated[Path | None, typer.Option("--json", help="Write all results to this file.", rich_help_panel=_RESULTS)]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write a self-contained HTML report to this file.", rich_help_panel=_RESULTS)
]

RateOption = Annotated[
    float | None,
    typer.Option(
        "--rate",
        parser=pps,
        help="The load at which latencies are compared, in frames/s per direction; a fifth of it is for costs, twice it for "
        "overload; default: a little below the throughput.",
        rich_help_panel=_LOAD,
    ),
]
PlotsDirectory = Annotated[
    Path | None,
    typer.Option(
        "--plots", help="Write each plot as SVG and PNG, and the figures as CSV, to this directory.", rich_help_panel=_RESULTS
    ),
]


def asks(
    *names: str, optional: Mapping[str, Any] | None = None, **fixed: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: replaces its parameter `request` by the named options, and passes it the Request they form.

    `optional`: options that need not be given, and what is taken instead. `fixed`: the values of options that it does not have.
    """
    instead = optional or {}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        wanted = [name for name in SHARED if name in names or _WITH.get(name) in names]
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if name in instead else SHARED[name].default,
                annotation=SHARED[name].hint,
            )
            for name in wanted
        ]
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            parameters += shared if own.name == "request" else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

        def run(**given: Any) -> None:
            asked = {
                name: instead[name] if (value := given.pop(name)) in (None, [], ()) else value
                for name in wanted
                if name in instead
            }
            asked |= {name: given.pop(name) for name in wanted if name not in instead}
            command(request=Request.of(**fixed, **asked), **given)

        run.__name__ = command.__name__  # typer derives the command's name from it
        run.__doc__ = command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def default_jobs() -> int:
    """One parallel trial per core."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Request:
    """The values of the shared options: every driver with each of its schemes, and every frame size."""

    testbeds: tuple[TestbedConfig, ...]
    workload: Workload
    sizes: tuple[FrameSize, ...]
    jobs: int
    ensemble: Ensemble = field(default_factory=Ensemble)

    @classmethod
    def of(cls, **given: Any) -> Request:
        """Built from options by their names in SHARED; the others take their defaults. Raises IrqlabError."""
        value = {name: option.default for name, option in SHARED.items()} | given
        _check(value)
        board = boards.choose(value["hardware"], value["cost"], value["mips"])
        dut = DutConfig(
            ring=value["ring"],
            sysctls=tuple(_sysctl(text) for text in value["sysctl"] or ()),
            attributes=tuple(_attribute(text) for text in value["attribute"] or ()),
            module_parameters=value["module_parameters"],
            may_log=tuple(value["may_log"] or ()),
        )
        testbed = TestbedConfig(
            driver="",
            nic=value["nic"],
            qemu=value["qemu"],
            bus=value["bus"],
            kernel=value["kernel"],
            kconfig=tuple(value["kconfig"] or ()),
            debug=debug_names(value["debug"] or ""),
            cpus=value["cpus"],
            quantum_ns=None if value["quantum"] is None else _ns(value["quantum"] / 1e6),
            placement=Placement.of(*(value[name] for name in (*_PLACED, "app_cpu"))),
            functional=value["functional"],
            mips=board.mips,
            lsm=value["lsm"],
            kernel_arguments=value["kernel_arguments"],
            cost_model=board.costs is not None,
            memory=board.memory,
            cached=not value["no_cache"],
        )
        return cls(
            testbeds=tuple(
                replace(testbed, driver=driver, dut=replace(dut, schemes=schemes))
                for driver in value["driver"]
                for schemes in combine(**{name: value[name] for name in SCHEMES})
            ),
            workload=Workload(
                bidirectional=value["bidirectional"],
                arrivals=value["arrivals"],
                duration_ns=_ns(value["duration"]),
                warmup_ns=_ns(value["warmup"]),
                above_line_rate=value["above_line_rate"],
                seed=value["seed"],
                loss_tolerance=value["loss_tolerance"],
                costs=board.costs,
            ),
            sizes=sizes(value["size"]),
            jobs=value["jobs"] or default_jobs(),
            ensemble=Ensemble(value["ensemble"], perturbations.parse(value["perturb"]), value["seed"]),
        )

    def workloads(self) -> list[Workload]:
        """The workload once per frame size."""
        return [replace(self.workload, size=size) for size in self.sizes]


def _check(value: dict[str, Any]) -> None:
    """Raises IrqlabError for a value that only the command line knows. Configurations (irqlab.config) check their own."""
    if value["driver"] is REQUIRED or not value["driver"]:
        raise IrqlabError("--driver: name a kernel module (8139cp, e1000, ...) or the path of a .ko")
    perturbations.parse(value["perturb"])
    if value["perturb"] is not None and value["ensemble"] == 1:
        raise IrqlabError(f"--perturb {value['perturb']}: needs an ensemble of several members, such as --ensemble 5")
    if value["jobs"] < 0:
        raise IrqlabError(f"--jobs {value['jobs']}: allowed are 0 (the number of cores) or more")


def _ns(seconds: float) -> int:
    # What is no number of ns is left as it is: Workload refuses it.
    return round(seconds * 1e9) if math.isfinite(seconds) else seconds  # type: ignore[return-value]


def sizes(text: str) -> tuple[FrameSize, ...]:
    """Frame sizes, comma-separated. Raises IrqlabError."""
    return tuple(parse_size(part) for part in text.split(","))


def _sysctl(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise IrqlabError(f"--sysctl {text!r}: must be NAME=VALUE, for example net.core.netdev_budget=64")
    return name, value


def _attribute(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or name.startswith("/") or ".." in name.split("/"):
        raise IrqlabError(f"--attribute {text!r}: must be FILE=VALUE, for example irqmod_usb/rx_pool=0")
    return name, value
