# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that the measuring commands share, and their checks. Bad input raises IrqlabError."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.config import hardware as boards
from irqlab.config.costs import TERMS
from irqlab.config.schemes import VARIANTS, Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import FrameSize, parse_size
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError

Driver = Annotated[
    list[str], typer.Option("--driver", help="Name of a module, ours or in-tree, or the path of a .ko; may be given again.")
]
NicModel = Annotated[str | None, typer.Option("--nic", help="QEMU NIC model; default: the first the driver claims.")]
KernelSpec = Annotated[
    str | None, typer.Option("--kernel", help="Debian kernel package or release; default: the distribution's.")
]
Mips = Annotated[int, typer.Option("--mips", help="Speed of the DUT: 1000, 500, 250 or 125 million instructions a second.")]
Sizes = Annotated[str, typer.Option("--size", help="Frame sizes in bytes, FCS counted, comma-separated; or imix.")]
Bidirectional = Annotated[bool, typer.Option("--bidirectional", help="Offer the load in both directions at once.")]
Ring = Annotated[int | None, typer.Option("--ring", help="RX and TX ring size; default: the driver's.")]
Duration = Annotated[float, typer.Option("--duration", help="Measured time of a trial, in virtual seconds (RFC 2544: 60).")]
Warmup = Annotated[float, typer.Option("--warmup", help="Time the load is offered before it is measured, in virtual seconds.")]
Arrivals = Annotated[str, typer.Option("--arrivals", help="constant, poisson or bursts.")]
Tolerance = Annotated[float, typer.Option("--loss-tolerance", help="Lost share of frames that throughput tolerates.")]
OverWire = Annotated[bool, typer.Option("--over-wire", help="Offer more than the emulated wire carries.")]
Seed = Annotated[int, typer.Option("--seed", help="Of Poisson arrivals and IMIX.")]
Lsm = Annotated[str, typer.Option("--lsm", help="Linux security modules of the DUT, e.g. apparmor; default: none.")]
Attribute = Annotated[
    list[str] | None,
    typer.Option("--attribute", help="FILE=VALUE, below /sys/class/net/INTERFACE of both interfaces; may be given again."),
]
Sysctl = Annotated[list[str] | None, typer.Option("--sysctl", help="NAME=VALUE set in the DUT; may be given again.")]
Parameters = Annotated[str, typer.Option("--module-parameters", help="Parameters of the driver, as for insmod.")]
_HARDWARE = "Hardware costs (default: none)"
_SCHEMES = "Schemes (drivers built on irqmod)"
_SEVERAL = "several, comma-separated: every combination of them"
Rx = Annotated[
    str | None,
    typer.Option(
        "--rx",
        help=f"Receive scheme: interrupt, de, napi, hybrid, timer, adaptive; USB: standard, napi, hybrid, timer; {_SEVERAL}.",
        rich_help_panel=_SCHEMES,
    ),
]
Tx = Annotated[
    str | None,
    typer.Option("--tx", help=f"Transmit scheme: interrupt, coalesce, off; {_SEVERAL}.", rich_help_panel=_SCHEMES),
]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        help=f"The first paper's schemes, with its weight 32 and rings of 256: {', '.join(VARIANTS)}, or all; comma-separated.",
        rich_help_panel=_SCHEMES,
    ),
]
Weight = Annotated[int | None, typer.Option("--weight", help="napi: frames a poll takes at most.", rich_help_panel=_SCHEMES)]
TxFrames = Annotated[
    int | None, typer.Option("--tx-frames", help="coalesce: packets per TX interrupt.", rich_help_panel=_SCHEMES)
]
TxUsecs = Annotated[
    int | None,
    typer.Option("--tx-usecs", help="coalesce, off: time in µs after which sent packets are freed.", rich_help_panel=_SCHEMES),
]
RxUsecs = Annotated[int | None, typer.Option("--rx-usecs", help="timer: period in µs.", rich_help_panel=_SCHEMES)]
Cliff = Annotated[
    int | None,
    typer.Option("--cliff", help="hybrid: frames/s between disable-enable and NAPI.", rich_help_panel=_SCHEMES),
]
Epsilon = Annotated[
    int | None, typer.Option("--epsilon", help="hybrid: hysteresis around the cliff, in permille.", rich_help_panel=_SCHEMES)
]
RateWindow = Annotated[
    int | None, typer.Option("--rate-window", help="hybrid: how often the rate is estimated, in ms.", rich_help_panel=_SCHEMES)
]
Cost = Annotated[
    str | None,
    typer.Option(
        "--cost",
        help=f"Hardware costs in ns, such as irq=1500,byte=16.5; names: {', '.join(TERMS)} (docs/cost-model.md).",
        rich_help_panel=_HARDWARE,
    ),
]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        help=f"Speed and costs of a board: {', '.join(boards.names())}, or a file that irqlab calibrate wrote.",
        rich_help_panel=_HARDWARE,
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write everything measured to this file.")]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML report to this file.")]
Jobs = Annotated[
    int, typer.Option("--jobs", help="Trials side by side; default: the number of cores. Results do not depend on it.")
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Run every trial, also those already made and kept; results do not depend on it.")
]
Capture = Annotated[Path | None, typer.Option("--capture", help="Write a pcapng of the (last) trial, with virtual timestamps.")]

MAX_DURATION_S = 3600.0

SHARED: dict[str, tuple[Any, Any]] = {
    "driver": (Driver, inspect.Parameter.empty),
    "nic": (NicModel, None),
    "kernel": (KernelSpec, None),
    "mips": (Mips, 250),
    "size": (Sizes, "64"),
    "bidirectional": (Bidirectional, False),
    "rx": (Rx, None),
    "tx": (Tx, None),
    "variant": (Variant, None),
    "weight": (Weight, None),
    "tx_frames": (TxFrames, None),
    "tx_usecs": (TxUsecs, None),
    "rx_usecs": (RxUsecs, None),
    "cliff": (Cliff, None),
    "epsilon": (Epsilon, None),
    "rate_window": (RateWindow, None),
    "ring": (Ring, None),
    "duration": (Duration, 0.2),
    "warmup": (Warmup, 0.05),
    "arrivals": (Arrivals, "constant"),
    "loss_tolerance": (Tolerance, 0.0),
    "above_line_rate": (OverWire, False),
    "seed": (Seed, 1),
    "lsm": (Lsm, ""),
    "sysctl": (Sysctl, None),
    "attribute": (Attribute, None),
    "module_parameters": (Parameters, ""),
    "cost": (Cost, None),
    "hardware": (Hardware, None),
    "jobs": (Jobs, 0),
    "no_cache": (NoCache, False),
}
"""The options that ask for a Request: annotation and default, in the order of the help."""
DUT = ("driver", "nic", "kernel", "mips", "ring", "lsm", "sysctl", "attribute", "module_parameters")
"""What is measured."""
TRIAL = ("size", "bidirectional", "duration", "warmup", "arrivals", "seed")
"""What is offered."""
SCHEMES = ("rx", "tx", "variant", "weight", "tx_frames", "tx_usecs", "rx_usecs", "cliff", "epsilon", "rate_window")
RUN = ("jobs", "no_cache")
"""How it is run."""
_SCHEMES_NAMES = {"cliff": "cliff_pps", "epsilon": "epsilon_permille", "rate_window": "rate_window_ms"}


def asks(*names: str, **fixed: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: the named options stand in place of its parameter `request`, and it gets what they ask for.

    `fixed`: the values of options that the command does not have.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        wanted = [name for name in SHARED if name in names]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=SHARED[name][1], annotation=SHARED[name][0])
            for name in wanted
        ]
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            parameters += shared if own.name == "request" else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

        def run(**given: Any) -> None:
            asked = {name: given.pop(name) for name in wanted}
            command(request=Request.of(**fixed, **asked), **given)

        run.__name__ = command.__name__  # of which typer makes the command's
        run.__doc__ = command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def default_jobs() -> int:
    """As many trials at once as there are cores."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Request:
    """What the shared options ask for: every driver with all its schemes and every size."""

    testbeds: tuple[TestbedConfig, ...]
    workload: Workload
    sizes: tuple[FrameSize, ...]
    jobs: int

    @classmethod
    def of(cls, no_cache: bool = False, **given: Any) -> Request:
        """From the options by their names in SHARED. Raises IrqlabError as `parse` does."""
        schemes = {_SCHEMES_NAMES.get(name, name): given.pop(name) for name in SCHEMES if name in given}
        return cls.parse(schemes=combine(**schemes), cached=not no_cache, **given)

    @classmethod
    def parse(
        cls,
        driver: list[str],
        nic: str | None = None,
        kernel: str | None = None,
        mips: int = 250,
        size: str = "64",
        bidirectional: bool = False,
        ring: int | None = None,
        duration: float = 0.2,
        warmup: float = 0.05,
        arrivals: str = "constant",
        loss_tolerance: float = 0.0,
        above_line_rate: bool = False,
        seed: int = 1,
        lsm: str = "",
        sysctl: list[str] | None = None,
        attribute: list[str] | None = None,
        module_parameters: str = "",
        jobs: int = 0,
        schemes: tuple[Schemes, ...] = (Schemes(),),
        cost: str | None = None,
        hardware: str | None = None,
        cached: bool = True,
    ) -> Request:
        """Checks every option. Raises IrqlabError: what was wrong, and what is allowed."""
        if not driver:
            raise IrqlabError("--driver: name a kernel module (8139cp, e1000, ...) or the path of a .ko")
        if not 0.001 <= duration <= MAX_DURATION_S:
            raise IrqlabError(f"--duration {duration}: allowed are 0.001 to {MAX_DURATION_S:g} seconds")
        if not 0 <= warmup <= 60:
            raise IrqlabError(f"--warmup {warmup}: allowed are 0 to 60 seconds")
        if arrivals not in ("constant", "poisson", "bursts"):
            raise IrqlabError(f"--arrivals {arrivals}: allowed are constant, poisson and bursts")
        if not 0 <= loss_tolerance < 1:
            raise IrqlabError(f"--loss-tolerance {loss_tolerance}: allowed are 0 up to, not including, 1")
        if ring is not None and not 1 <= ring <= 65536:
            raise IrqlabError(f"--ring {ring}: allowed are 1 to 65536 (the driver may allow less)")
        if jobs < 0:
            raise IrqlabError(f"--jobs {jobs}: allowed are 1 and more")
        mips, costs = boards.choose(hardware, cost, mips)
        dut = DutConfig(
            ring=ring,
            sysctls=tuple(_sysctl(text) for text in sysctl or ()),
            attributes=tuple(_attribute(text) for text in attribute or ()),
            module_parameters=module_parameters,
        )
        return cls(
            testbeds=tuple(
                TestbedConfig(d, nic, kernel, mips, lsm, replace(dut, schemes=chosen), costs is not None, cached)
                for d in driver
                for chosen in schemes
            ),
            workload=Workload(
                bidirectional=bidirectional,
                arrivals=arrivals,  # type: ignore[arg-type]
                duration_ns=round(duration * 1e9),
                warmup_ns=round(warmup * 1e9),
                above_line_rate=above_line_rate,
                seed=seed,
                loss_tolerance=loss_tolerance,
                costs=costs,
            ),
            sizes=sizes(size),
            jobs=jobs or default_jobs(),
        )

    def workloads(self) -> list[Workload]:
        """The plan once per frame size."""
        return [replace(self.workload, size=size) for size in self.sizes]


def sizes(text: str) -> tuple[FrameSize, ...]:
    """Frame sizes, comma-separated. Raises IrqlabError."""
    return tuple(parse_size(part) for part in text.split(","))


def _sysctl(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise IrqlabError(f"--sysctl {text!r}: it takes NAME=VALUE, for example net.core.netdev_budget=64")
    return name, value


def _attribute(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or name.startswith("/") or ".." in name.split("/"):
        raise IrqlabError(f"--attribute {text!r}: it takes FILE=VALUE, for example irqmod_usb/urb_pools=0")
    return name, value
