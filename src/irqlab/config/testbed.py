# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration of a testbed: driver, NIC, kernel, CPU speed, and the DUT's network configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from irqlab.config.ensemble import Member
from irqlab.config.memory import Memory
from irqlab.config.placement import Placement
from irqlab.config.schemes import Schemes
from irqlab.errors import IrqlabError

DEFAULT_MIPS = 250
DEFAULT_QUANTUM_NS = 1_000
"""Of several processors on the instruction clock."""
MAX_RING = 65536
SHIFT_OF_MIPS = {1000: 0, 500: 1, 250: 2, 125: 3}
"""CPU speed in million instructions per second -> -icount shift."""


@dataclass(frozen=True)
class DutConfig:
    """The DUT's network configuration. Raises IrqlabError for a value out of range, in the words of the options."""

    ring: int | None = None
    """RX and TX ring size (ethtool -G); None: the driver's default."""
    sysctls: tuple[tuple[str, str], ...] = ()
    """(name, value), set before the links come up."""
    module_parameters: str = ""
    """Parameters of the driver under test, as for insmod."""
    schemes: Schemes = field(default_factory=Schemes)
    """Interrupt-handling schemes, of drivers built on irqmod."""
    attributes: tuple[tuple[str, str], ...] = ()
    """(file below /sys/class/net/<interface>/, value), set before the links come up."""
    may_log: tuple[str, ...] = ()
    """Regular expressions of kernel messages that are no problems."""

    def __post_init__(self) -> None:
        if self.ring is not None and not 1 <= self.ring <= MAX_RING:
            raise IrqlabError(f"--ring {self.ring}: allowed are 1 to {MAX_RING} (the driver may allow less)")
        for text in self.may_log:
            try:
                re.compile(text)
            except re.error as error:
                raise IrqlabError(f"--may-log {text}: not a regular expression: {error}") from None


@dataclass(frozen=True)
class TestbedConfig:
    """The user's choices. `driver` is the name of an in-tree module or the path of a .ko."""

    driver: str
    nic: str | None = None
    qemu: str | None = None
    """A release of QEMU that the lab fetches, or a program; None: the default."""
    kernel: str | None = None
    bus: str | None = None
    """The bus of the tester's own PCI cards: its clock in MHz and its width in bits, as in 33:32."""
    kconfig: tuple[str, ...] = ()
    """Files with ``CONFIG_`` lines, for a kernel that is built (``tree:``, ``source:``)."""
    debug: tuple[str, ...] = ()
    """Debugging options of a kernel that is built: kasan, lockdep, ..."""
    cpus: int = 1
    functional: bool = False
    """Without the instruction clock, for tests: nothing can be measured."""
    quantum_ns: int | None = None
    """Processors run at the same virtual time, in rounds of so many ns; None: the default if there are several."""
    placement: Placement = field(default_factory=Placement)
    """What runs on which of several processors."""
    mips: int = DEFAULT_MIPS
    lsm: str = ""
    kernel_arguments: str = ""
    """Further words of the kernel's command line."""
    dut: DutConfig = field(default_factory=DutConfig)
    modules: tuple[str, ...] = ()
    """Further modules to load, in-tree or ours, for what trials start in the DUT."""
    cost_model: bool = False
    """Load the cost model's module, so that trials can charge hardware costs (ForwardingTrial.costs)."""
    memory: Memory | None = None
    """The memory behind the processor, in trials; None: it never stalls."""
    cached: bool = True
    """Reuse cached results of earlier trials; False: run every trial."""
    member: Member | None = None
    """What is perturbed in boot, driver load and trials; None: nothing."""

    @property
    def round_ns(self) -> int:
        """The quantum of processors that run at the same virtual time, in ns; 0: there are no rounds."""
        if self.quantum_ns is None and (self.cpus == 1 or self.functional):
            return 0
        return DEFAULT_QUANTUM_NS if self.quantum_ns is None else self.quantum_ns
