# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines a perturbation: one declaration, `PERTURBATION`, in a module of this package (irqlab.perturb.catalogue finds it).

A perturbation changes something that should not matter. Its hooks say when: at boot and at the driver's load, which are part of
a snapshot and therefore have only a few variants, or before every trial. The random numbers come from the member, so that
member k of a seed is always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from irqlab.dut.router import Dut
from irqlab.setup.bootable import Kernel
from irqlab.setup.modules import Module


@dataclass(frozen=True)
class Perturbation:
    """What is perturbed, and how. Hooks that are None are not called."""

    name: str
    """Its name for --perturb."""
    help: str
    """What differs between members: a few words."""
    command_line: Callable[[Random], str] | None = None
    """Words for the kernel's command line."""
    modules: Callable[[Kernel, list[Module], Random], list[Module]] | None = None
    """The modules to load in place of these; the last is the driver under test."""
    prepare: Callable[[Dut], None] | None = None
    """Called before the snapshot for trials is taken; the same for all perturbed members."""
    prepared_with: Callable[[], str] = lambda: ""
    """What `prepare` depends on besides the lab's code, such as the hash of a file."""
    begin: Callable[[Dut, Random], None] | None = None
    """Called before every trial."""
