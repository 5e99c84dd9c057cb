# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be varied: settings that the DUT was seen to take, and how the application waits. Says what goes together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from irqlab.config.change import Chosen, Kind
from irqlab.config.schemes import SETTINGS
from irqlab.dut.settable import Settable
from irqlab.errors import IrqlabError
from irqlab.tuning.goal import Settings

WAIT, BUSY_POLL, SUSPEND, PROCESSOR = "wait", "busy-poll-usecs", "irq-suspend-timeout", "app-cpu"
"""Names of what is the application's."""
BUSY_POLLS_US = ("10", "20", "50", "100", "200")
SUSPENDS_NS = ("1000000", "5000000", "20000000", "50000000")
Where = Kind | Literal["application"]
KNOWN: tuple[Mapping[str, str], ...] = (
    {"adaptive-rx": "off", "rx-usecs": "20"},
    {"adaptive-rx": "off", "rx-usecs": "100"},
    {"adaptive-rx": "off", "rx-usecs": "500"},
    {"gro_flush_timeout": "50000", "napi_defer_hard_irqs": "10"},
    {"threaded": "1"},
    {WAIT: "suspend", "gro_flush_timeout": "200000"},
    {"netdev_budget": "64"},
    {"adaptive-rx": "on"},
)
"""What is known to be good for some load: tried early, with the nearest values that the DUT has."""


@dataclass(frozen=True)
class Parameter:
    """A setting that is varied."""

    name: str
    """The word for it in --only, --without and --fixed."""
    where: Where
    inner: str
    """Its name there (irqlab.config.change.Chosen)."""
    values: tuple[str, ...]
    default: str
    ordered: bool
    needs: tuple[tuple[str, frozenset[str]], ...] = ()
    """It has no effect unless one of these settings has one of these values; empty: it always has."""

    def nearest(self, value: str) -> str | None:
        """The value next to this one; None: there is none like it."""
        if value in self.values:
            return value
        numbers = [one for one in self.values if one.isdigit()]
        return min(numbers, key=lambda one: abs(int(one) - int(value))) if numbers and value.isdigit() else None

    def far(self) -> str:
        """A value that shows whether it matters: a quarter from the end that is farther away from the default."""
        place, last = self.values.index(self.default), len(self.values) - 1
        if not self.ordered:
            return self.values[(place + 1) % len(self.values)]
        return self.values[last // 8] if place > last / 2 else self.values[last - last // 4]

    def near(self, value: str, steps: int) -> str | None:
        """The value so many steps further; None: there is none."""
        place = self.values.index(value) + steps
        return self.values[place] if self.ordered and 0 <= place < len(self.values) else None


@dataclass(frozen=True)
class Space:
    """All that is varied, and what is set in every trial."""

    parameters: tuple[Parameter, ...]
    """What others need comes first."""
    fixed: Settings

    def __getitem__(self, name: str) -> Parameter:
        return next(one for one in self.parameters if one.name == name)

    def active(self, settings: Settings, one: Parameter) -> bool:
        """Whether a parameter has an effect with these settings."""

        def now(name: str) -> str | None:
            return (
                settings.get(name) or self.fixed.get(name) or next((p.default for p in self.parameters if p.name == name), None)
            )

        return not one.needs or any(now(name) in values for name, values in one.needs)

    def canonical(self, settings: Settings) -> dict[str, str]:
        """Settings without those that are the defaults, or have no effect."""
        found: dict[str, str] = {}
        for one in self.parameters:
            value = settings.get(one.name, one.default)
            if value != one.default and self.active(settings, one):
                found[one.name] = value
        return found

    def known(self) -> Iterator[dict[str, str]]:
        """Settings that are worth a trial before any search: every choice alone, and what is known to be good."""
        choices = sorted(
            (one for one in self.parameters if not one.ordered), key=lambda one: (one.where == "application", one.name)
        )
        by_turns: list[dict[str, str]] = []
        for turn in range(max((len(one.values) for one in choices), default=0)):
            by_turns += [{one.name: one.values[turn]} for one in choices if turn < len(one.values)]
        for known in KNOWN:
            found = {p.name: v for p in self.parameters if p.name in known and (v := p.nearest(known[p.name])) is not None}
            if found and not any(name in self.fixed for name in known):
                by_turns.insert(0, found)
        seen: list[dict[str, str]] = [{}]
        for given in by_turns:
            if (kept := self.canonical(given)) not in seen:
                seen.append(kept)
                yield kept

    def changes(self, settings: Settings) -> tuple[Chosen, ...]:
        """What is to be set in the DUT."""
        whole = {**self.fixed, **settings}
        known = {one.name: one for one in self.all_parameters}
        return tuple(
            Chosen(one.where, one.inner, value) for name, value in whole.items() if (one := known[name]).where != "application"
        )

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """With those that are fixed."""
        return (*self.parameters, *self.held)

    held: tuple[Parameter, ...] = ()
    """The parameters that are fixed."""


def name_of(one: Settable, interfaces: Sequence[str]) -> str:
    """The word for a setting."""
    if one.kind == "interrupts":
        return f"irq-{interfaces[int(one.name)]}"
    return {"ring": f"ring-{one.name}", "channels": f"channels-{one.name}", "rps": "rps"}.get(
        one.kind, one.name.rpartition("net.core.")[2]
    )


def parameters(found: Iterable[Settable], interfaces: Sequence[str], waits: Sequence[str] = (), cpus: int = 1) -> list[Parameter]:
    """Of what the DUT takes and, if there is an application, of how it may wait."""
    own = [
        Parameter(name_of(one, interfaces), one.kind, one.name, one.values, one.now, one.ordered)
        for one in found
        if not _experiment(one.name)
    ]
    if waits:
        own.insert(0, Parameter(WAIT, "application", WAIT, tuple(waits), waits[0], False))
        polling = [wait for wait in waits if wait in ("busy-read", "epoll-busy")]
        if polling:
            own.append(Parameter(BUSY_POLL, "application", BUSY_POLL, BUSY_POLLS_US, "50", True))
        if "suspend" in waits:
            own.append(Parameter(SUSPEND, "application", SUSPEND, SUSPENDS_NS, "20000000", True))
        if cpus > 1:
            own.append(Parameter(PROCESSOR, "application", PROCESSOR, ("", *map(str, range(cpus))), "", False))
    own = [one for one in own if len(one.values) > 1]
    whole = {one.name: one for one in own}
    own = [replace(one, needs=_needs(one, whole)) for one in own]
    return sorted(own, key=lambda one: bool(one.needs))


def _experiment(name: str) -> bool:
    """Whether it is a switch of our drivers that takes a part of a scheme away."""
    return any(setting.place.file == name and setting.place.option.endswith("-without") for setting in SETTINGS)


def _needs(one: Parameter, whole: Mapping[str, Parameter]) -> tuple[tuple[str, frozenset[str]], ...]:
    """What goes together: of our schemes as declared (irqlab.config.schemes), else as ethtool and the kernel define it."""
    of_scheme = [
        (scheme, frozenset(setting.place.schemes))
        for setting in SETTINGS
        for scheme in ("irqmod/rx_scheme", "irqmod/tx_scheme")
        if setting.place.schemes
        and one.inner == (setting.place.file or setting.place.ethtool)
        and scheme in whole
        and frozenset(setting.place.schemes) & set(whole[scheme].values)
    ]
    if of_scheme:
        return tuple(of_scheme)
    if one.where == "coalesce" and one.name.startswith(("rx-", "tx-")) and f"adaptive-{one.name[:2]}" in whole:
        return ((f"adaptive-{one.name[:2]}", frozenset({"off"})),)
    if one.name == "napi_defer_hard_irqs" and (timeout := whole.get("gro_flush_timeout")):
        return ((timeout.name, frozenset(timeout.values) - {"0"}),)
    if one.name == BUSY_POLL:
        return ((WAIT, frozenset({"busy-read", "epoll-busy"})),)
    if one.name == SUSPEND:
        return ((WAIT, frozenset({"suspend"})),)
    return ()


def chosen(found: Sequence[Parameter], only: str | None, without: str | None, fixed: str | None) -> Space:
    """The space that the options leave. Raises IrqlabError for words that name nothing."""
    held = _fixed(found, fixed)
    left = [one for one in found if one.name not in held]
    for option, text, keep in (("--only", only, True), ("--without", without, False)):
        if text is not None:
            named = _named(option, text, found)
            left = [one for one in left if named(one.name) == keep]
    if not left:
        raise IrqlabError(f"nothing is left to vary: the DUT has {', '.join(one.name for one in found) or 'no settings'}")
    return Space(tuple(left), held, tuple(one for one in found if one.name in held))


def _named(option: str, text: str, found: Sequence[Parameter]) -> Callable[[str], bool]:
    patterns = [part.strip() for part in text.split(",")]
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in found):
            raise IrqlabError(f"{option} {pattern}: the DUT has {', '.join(one.name for one in found)}")
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def _fixed(found: Sequence[Parameter], text: str | None) -> dict[str, str]:
    held: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        name, equals, value = (word.strip() for word in part.partition("="))
        one = next((one for one in found if one.name == name), None)
        if not equals or one is None:
            raise IrqlabError(f"--fixed {part}: must be SETTING=VALUE; the DUT has {', '.join(one.name for one in found)}")
        if not one.ordered and value not in one.values:
            raise IrqlabError(f"--fixed {part}: allowed are {', '.join(one.values)}")
        held[name] = value
    return held
