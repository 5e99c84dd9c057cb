# SPDX-License-Identifier: GPL-2.0-or-later
"""Discovers all perturbations in the package, and applies those of a member. Member 0 is never perturbed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from irqlab import perturb as package
from irqlab.config.ensemble import Member
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.perturb.perturbation import Perturbation
from irqlab.setup.bootable import Kernel
from irqlab.setup.modules import Module


@cache
def perturbations() -> dict[str, Perturbation]:
    """Every perturbation by its name: the `PERTURBATION` of each module of the package."""
    return {name: found for name, (found, _) in _found().items()}


def parse(text: str | None) -> tuple[str, ...]:
    """Names separated by commas, in the order of the catalogue; None: all. Raises IrqlabError."""
    known = perturbations()
    if text is None:
        return tuple(known)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise IrqlabError(f"--perturb {name}: allowed are {', '.join(known)}, separated by commas")
    return tuple(name for name in known if name in names)


def command_line(member: Member | None) -> str:
    """Words for the kernel's command line; empty: none."""
    hooks = {name: one.command_line for name, one in _in_snapshot(member) if one.command_line is not None}
    return " ".join(hook(member.shared(name)) for name, hook in hooks.items()) if member else ""


def modules(member: Member | None, kernel: Kernel, loaded: list[Module]) -> list[Module]:
    """The modules that are loaded for a member."""
    for name, one in _in_snapshot(member):
        if member is not None and one.modules is not None:
            loaded = one.modules(kernel, loaded, member.shared(name))
    return loaded


def prepare(member: Member | None, dut: Dut) -> None:
    """Prepares a DUT for `begin`, before the snapshot for trials is taken."""
    for _, one in _per_trial(member):
        if one.prepare is not None:
            one.prepare(dut)


def prepared_with(member: Member | None) -> dict[str, tuple[str, str]]:
    """What `prepare` depends on: by perturbation, the module that declares it, and `prepared_with`."""
    return {name: (_module(name), one.prepared_with()) for name, one in _per_trial(member) if one.prepare is not None}


def begins(member: Member | None) -> dict[str, str]:
    """The perturbations that `begin` applies, with the modules that declare them."""
    return {name: _module(name) for name, one in _per_trial(member) if one.begin is not None}


def begin(member: Member | None, dut: Dut) -> None:
    """Perturbs a DUT before a trial."""
    for name, one in _per_trial(member):
        if member is not None and one.begin is not None:
            one.begin(dut, member.cheap(name))


def _in_snapshot(member: Member | None) -> Iterator[tuple[str, Perturbation]]:
    """The perturbations of a member's boot and driver load."""
    if member is not None and member.variant:
        yield from ((name, perturbations()[name]) for name in member.perturb)


def _per_trial(member: Member | None) -> Iterator[tuple[str, Perturbation]]:
    """The perturbations of a member's trials."""
    if member is not None and member.number:
        yield from ((name, perturbations()[name]) for name in member.perturb)


@cache
def _found() -> dict[str, tuple[Perturbation, str]]:
    """By name: the perturbation, and its module."""
    names = [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]
    modules = [(importlib.import_module(name), name) for name in sorted(names)]
    return {module.PERTURBATION.name: (module.PERTURBATION, name) for module, name in modules if hasattr(module, "PERTURBATION")}


def _module(name: str) -> str:
    return _found()[name][1]
