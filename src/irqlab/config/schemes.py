# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupt-handling schemes: their names, settings, and the user's choice."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from irqlab.config import engine
from irqlab.errors import IrqlabError

VARIANTS = {
    "ORIGINAL": ("interrupt", "interrupt"),
    "TX-128": ("interrupt", "coalesce"),
    "TX-OFF": ("interrupt", "off"),
    "NAPI": ("napi", "interrupt"),
    "NAPI-TX-128": ("napi", "coalesce"),
    "NAPI-TX-OFF": ("napi", "off"),
}
"""The first paper's six variants: receive and transmit scheme."""
VARIANT_WEIGHT = 32
VARIANT_RING = 256
VARIANT_TX_FRAMES = 128


RX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("rx", engine.MASK))
"""Receive schemes that every PCI driver has."""
MODERATED_RX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("rx", engine.MASK, engine.MODERATION))
"""Receive schemes of PCI drivers whose chip moderates its interrupts."""
USB_RX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("rx", engine.TRANSFERS))
"""Receive schemes of USB drivers."""
TX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("tx", engine.MASK))
"""Transmit schemes of PCI drivers."""
NAPI_THREADS = ("off", "on", "busy-poll")
"""Where NAPI polls: in the softirq, in a kernel thread, or continuously in a kernel thread."""
NAPI_RX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("rx", engine.MASK, engine.MODERATION) if scheme.polls)
"""Receive schemes that use NAPI."""
BUSY_POLL_RX_SCHEMES = tuple(scheme.name for scheme in engine.schemes("rx", engine.MASK, engine.MODERATION) if scheme.napi_id)
"""Receive schemes whose device a process can poll."""
_SEVERAL = "all: those that every PCI driver has; comma-separated: all combinations that the engine has"


@dataclass(frozen=True)
class Combination:
    """A receive and a transmit scheme."""

    rx: str
    tx: str

    def __str__(self) -> str:
        return f"{self.rx}/{self.tx}"


def _combinations(*has: str) -> tuple[Combination, ...]:
    pairs = itertools.product(engine.schemes("rx", *has), engine.schemes("tx", *has))
    return tuple(Combination(rx.name, tx.name) for rx, tx in pairs if rx.masks or not tx.needs_masks)


COMBINATIONS = _combinations(engine.MASK)
"""All combinations of a PCI driver."""
MODERATED_COMBINATIONS = _combinations(engine.MASK, engine.MODERATION)
"""All combinations of a PCI driver whose chip moderates its interrupts."""
USB_COMBINATIONS = _combinations(engine.TRANSFERS)
"""All combinations of a USB driver."""


@dataclass(frozen=True)
class Place:
    """The location of a setting: a file in /sys/class/net/<interface>, a parameter of ethtool -C, or a NAPI in use."""

    option: str
    """Its command-line option; without the dashes, its name in irqlab compare."""
    help: str
    file: str = ""
    ethtool: str = ""
    napi: str = ""
    """Its name in the kernel's netdev.yaml; made when the links are up (irqlab.dut.napi)."""
    schemes: tuple[str, ...] = ()
    """The schemes of our drivers that it is a setting of; empty: of none, or of all."""

    @property
    def of_engine(self) -> bool:
        """Only drivers built on irqmod have it."""
        return bool(self.ethtool) or self.file.startswith("irqmod/")


@dataclass(frozen=True)
class Schemes:
    """The requested schemes and settings; None: the driver's default.

    This is the only list of settings: the command line, irqlab compare, the Python API and the writes to the DUT are derived
    from it. Settings are written in the order of the fields, the schemes last, so that they start with their settings.
    """

    variant: str | None = None
    """One of VARIANTS, which implies rx and tx; None: these are given separately."""
    weight: Annotated[
        int | None,
        Place(
            "--weight",
            "napi, dim, hybrid: most frames per poll, 1 to 64; default: half the ring.",
            file="irqmod/rx_weight",
            schemes=("napi", "dim", "hybrid"),
        ),
    ] = None
    cliff_pps: Annotated[
        int | None,
        Place(
            "--cliff",
            "hybrid: frames/s at which it changes from disable-enable to NAPI.",
            file="irqmod/rx_cliff_pps",
            schemes=("hybrid",),
        ),
    ] = None
    epsilon_permille: Annotated[
        int | None,
        Place(
            "--epsilon",
            "hybrid: hysteresis around the cliff, in permille.",
            file="irqmod/rx_epsilon_permille",
            schemes=("hybrid",),
        ),
    ] = None
    rate_window_ms: Annotated[
        int | None,
        Place(
            "--rate-window", "hybrid: period of the rate estimate, in ms.", file="irqmod/rx_rate_window_ms", schemes=("hybrid",)
        ),
    ] = None
    above: Annotated[
        str | None,
        Place(
            "--above",
            "hybrid: what NAPI does above the cliff: napi (as in the paper), paced (RX stays masked, a timer starts each poll).",
            file="irqmod/rx_above",
            schemes=("hybrid",),
        ),
    ] = None
    above_weight: Annotated[
        int | None,
        Place(
            "--above-weight",
            "hybrid: maximum frames per poll; in the paper 2; default: --weight.",
            file="irqmod/rx_above_weight",
            schemes=("hybrid",),
        ),
    ] = None
    quota: Annotated[
        int | None,
        Place(
            "--quota", "polling: maximum frames per poll; 0: as many as there are.", file="irqmod/rx_quota", schemes=("polling",)
        ),
    ] = None
    queue_high: Annotated[
        int | None,
        Place(
            "--queue-high",
            "polling: stop receiving at this many frames in queues behind the driver, up to 96; default: 0, no limit.",
            file="irqmod/rx_queue_high",
            schemes=("polling",),
        ),
    ] = None
    queue_low: Annotated[
        int | None,
        Place(
            "--queue-low",
            "polling: receive again at this many frames, up to 95; default: 8.",
            file="irqmod/rx_queue_low",
            schemes=("polling",),
        ),
    ] = None
    cpu_percent: Annotated[
        int | None,
        Place(
            "--cpu-percent",
            "polling: maximum share of the CPU; 100: no limit.",
            file="irqmod/rx_cpu_percent",
            schemes=("polling",),
        ),
    ] = None
    user_percent: Annotated[
        int | None,
        Place(
            "--user-percent",
            "ifpoll: share of the CPU that is left to processes.",
            file="irqmod/rx_user_percent",
            schemes=("ifpoll",),
        ),
    ] = None
    pause_usecs: Annotated[
        int | None,
        Place(
            "--pause-usecs",
            "shrink: how long RX stays masked after each pass, in µs; 0: not at all.",
            file="irqmod/rx_pause_usecs",
            schemes=("shrink",),
        ),
    ] = None
    timer_without: Annotated[
        str | None,
        Place(
            "--timer-without",
            "timer: the optimisation to disable: nothing, irq_off, top_half, backlog, refill or retry.",
            file="irqmod/rx_timer_without",
            schemes=("timer",),
        ),
    ] = None
    timer_refill: Annotated[
        str | None,
        Place(
            "--timer-refill",
            "timer: when the ring is refilled: softirq, poll or half.",
            file="irqmod/rx_timer_refill",
            schemes=("timer",),
        ),
    ] = None
    de_without: Annotated[
        str | None,
        Place("--de-without", "de: the pauses to disable: nothing, long, pauses.", file="irqmod/rx_de_without", schemes=("de",)),
    ] = None
    rate_usecs: Annotated[
        int | None,
        Place(
            "--rate-usecs", "rate: minimum time between two TX interrupts, in µs.", file="irqmod/tx_rate_usecs", schemes=("rate",)
        ),
    ] = None
    off_without: Annotated[
        str | None,
        Place(
            "--off-without",
            "off: the part to disable: nothing, batch, receive, timer; all: as in Spanos et al. (2008).",
            file="irqmod/tx_off_without",
            schemes=("off",),
        ),
    ] = None
    defer_hard_irqs: Annotated[
        int | None,
        Place("--defer-hard-irqs", "Any NAPI driver: empty polls until interrupts are unmasked.", file="napi_defer_hard_irqs"),
    ] = None
    gro_flush_timeout_ns: Annotated[
        int | None,
        Place("--gro-flush-timeout", "Any NAPI driver: ns to the next poll while they are masked.", file="gro_flush_timeout"),
    ] = None
    napi_threads: Annotated[
        str | None,
        Place(
            "--napi-threads",
            "NAPI of any driver in a kernel thread: off, on (Linux 5.12), busy-poll (Linux 6.19).",
            napi="threaded",
        ),
    ] = None
    rx_usecs: Annotated[
        int | None,
        Place(
            "--rx-usecs",
            "timer, ifpoll, hybrid with --above paced: polling period in µs; LAN78xx: how long the chip collects frames.",
            ethtool="rx-usecs",
            schemes=("timer", "ifpoll", "hybrid"),
        ),
    ] = None
    tx_usecs: Annotated[
        int | None,
        Place(
            "--tx-usecs",
            "coalesce, off: maximum time in µs until sent packets are freed.",
            ethtool="tx-usecs",
            schemes=("coalesce", "off"),
        ),
    ] = None
    tx_frames: Annotated[
        int | None, Place("--tx-frames", "coalesce: packets per TX interrupt.", ethtool="tx-frames", schemes=("coalesce",))
    ] = None
    rx: Annotated[
        str | None,
        Place(
            "--rx",
            f"Receive scheme: {', '.join(RX_SCHEMES)}; USB: {', '.join(USB_RX_SCHEMES)}; {_SEVERAL}.",
            file="irqmod/rx_scheme",
        ),
    ] = None
    tx: Annotated[
        str | None, Place("--tx", f"Transmit scheme: {', '.join(TX_SCHEMES)}; {_SEVERAL}.", file="irqmod/tx_scheme")
    ] = None

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.field)
            if value is not None and not isinstance(value, setting.type):
                raise IrqlabError(f"{setting.place.option} {value!r}: must be a {'number' if setting.type is int else 'name'}")
        if self.napi_threads not in (None, *NAPI_THREADS):
            raise IrqlabError(f"--napi-threads {self.napi_threads}: allowed are {', '.join(NAPI_THREADS)}")
        if self.napi_threads not in (None, "off") and self.rx not in (None, *NAPI_RX_SCHEMES):
            raise IrqlabError(f"--napi-threads {self.napi_threads}: --rx {self.rx} does not use NAPI")

    @property
    def asked(self) -> bool:
        """Whether anything is requested."""
        return any(getattr(self, entry.name) is not None for entry in fields(self))

    @property
    def others(self) -> dict[str, Any]:
        """The requested settings that do not need irqmod."""
        given = {setting.field: getattr(self, setting.field) for setting in SETTINGS if not setting.place.of_engine}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def needs_engine(self) -> bool:
        """Whether the request needs a driver built on irqmod."""
        of_engine = (setting.field for setting in SETTINGS if setting.place.of_engine)
        return self.variant is not None or any(getattr(self, name) is not None for name in of_engine)


@dataclass(frozen=True)
class Setting:
    """A setting of Schemes."""

    field: str
    type: type
    """int or str."""
    place: Place


def _settings() -> tuple[Setting, ...]:
    hints = get_type_hints(Schemes, include_extras=True)
    found = []
    for entry in fields(Schemes):
        hint = hints[entry.name]
        if get_origin(hint) is Annotated:
            bare, place = get_args(hint)
            found.append(Setting(entry.name, get_args(bare)[0], place))
    return tuple(found)


SETTINGS = _settings()
"""All settings, in the order in which they are written."""


def combine(
    variant: Iterable[str] | str | None = None, rx: str | None = None, tx: str | None = None, **settings: int | None
) -> tuple[Schemes, ...]:
    """The requested schemes: every variant, or the product of the schemes, less those that do not go together.

    Names are comma-separated. Raises IrqlabError if nothing is left.
    """
    given: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    variants = _names([variant] if isinstance(variant, str) else list(variant or ()), "--variant")
    if not variants:
        receive: list[str | None] = [*_schemes(rx, "--rx", RX_SCHEMES)] or [None]
        transmit: list[str | None] = [*_schemes(tx, "--tx", TX_SCHEMES)] or [None]
        pairs = list(itertools.product(receive, transmit))
        together = [pair for pair in pairs if not _apart(*pair)]
        if not together:
            masking = ", ".join(scheme.name for scheme in engine.schemes("rx", engine.MASK, engine.MODERATION) if scheme.masks)
            raise IrqlabError(f"--tx {tx}: only with a receive scheme that masks RX ({masking}), not with --rx {rx}")
        return tuple(replace(Schemes(rx=r, tx=t), **given) for r, t in together)
    if rx is not None or tx is not None:
        raise IrqlabError("--variant implies the schemes: it cannot be combined with --rx and --tx")
    found: dict[str, Schemes] = {}
    for text in variants:
        for name in VARIANTS if text.lower() == "all" else [text.upper()]:
            if name not in VARIANTS:
                raise IrqlabError(f"--variant {text}: allowed are {', '.join(VARIANTS)}, and all")
            found[name] = replace(_variant(name), **given)
    return tuple(found.values())


def _apart(rx: str | None, tx: str | None) -> bool:
    """Whether both are schemes of PCI drivers, but do not go together."""
    return rx in MODERATED_RX_SCHEMES and tx in TX_SCHEMES and Combination(str(rx), str(tx)) not in MODERATED_COMBINATIONS


def _variant(name: str) -> Schemes:
    rx, tx = VARIANTS[name]
    return Schemes(variant=name, rx=rx, tx=tx, weight=VARIANT_WEIGHT)


def _schemes(text: str | None, option: str, every: Sequence[str]) -> list[str]:
    """The schemes that were asked for; `all`: every one of PCI drivers."""
    names = _names([text] if text is not None else [], option)
    return list(dict.fromkeys(name for asked in names for name in (every if asked.lower() == "all" else (asked,))))


def _names(texts: list[str], option: str) -> list[str]:
    names = [name.strip() for text in texts for name in text.split(",")]
    if "" in names:
        raise IrqlabError(f"{option} {','.join(texts)!r}: a name is missing")
    return list(dict.fromkeys(names))
