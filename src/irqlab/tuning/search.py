# SPDX-License-Identifier: GPL-2.0-or-later
"""Which settings are tried: what is known to be good, then optuna's TPE and the neighbours of the best, by turns.

TPE (Bergstra et al. 2011) copes with choices, with settings that matter only beside others, with limits and with several goals.
Groups of settings that change no figure are left out after one trial.

The search is a pure function of the answers: the same command, whose trials are kept, goes on where it ended.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab.tuning.goal import Figures, Settings, Wanted
from irqlab.tuning.space import Parameter, Space

BATCH = 4
"""Settings that are tried side by side. It does not depend on the host: results do not, either."""
GROUP = 3
"""Settings that are changed together to see whether any of them matters."""
SAME = 0.003
"""Figures that differ by less than this share show that nothing matters."""
IDLE_TURNS = 6
"""Batches without a new setting after which the search ends."""

Answer = Figures | str
"""What a setting does; a text: why the DUT refuses it."""
Evaluate = Callable[[Sequence[Settings]], Sequence[Answer]]


@dataclass(frozen=True)
class Tried:
    """A setting and what it does."""

    settings: dict[str, str]
    answer: Answer

    @property
    def figures(self) -> Figures | None:
        """None: it was refused."""
        return None if isinstance(self.answer, str) else self.answer


@dataclass
class Search:
    """A search, as far as it has come."""

    space: Space
    wanted: Wanted
    evaluate: Evaluate
    trials: int
    """Settings to try, the defaults among them."""
    seed: int = 1
    over: Callable[[], bool] = lambda: False
    """Whether the time is up."""
    told: Callable[[Search], None] = lambda _: None
    """Called after each batch."""
    tried: list[Tried] = field(default_factory=list)
    idle: set[str] = field(default_factory=set)
    """Settings that were seen to change nothing."""
    _known: list[dict[str, str]] = field(default_factory=list, init=False)
    """Settings that are tried before the search."""

    @property
    def defaults(self) -> Figures:
        """Of the defaults, which are tried first."""
        found = self.tried[0].figures
        assert found is not None
        return found

    def run(self) -> None:
        """Tries settings. Raises nothing of its own: a setting that is refused is one that was tried."""
        self._try([{}])
        if self.tried[0].figures is None:
            return
        self._known = list(self.space.known())[: max(1, self.trials // 2 - 1)]
        self._try_all(self._known)
        self._screen()
        study = self._study()
        turns = 0
        while len(self.tried) < self.trials and turns < IDLE_TURNS and not self.over():
            found = [*self._neighbours(BATCH // 2), *study.ask(BATCH - BATCH // 2)]
            turns = 0 if self._try(found) else turns + 1

    def best(self, count: int = 1) -> list[Tried]:
        """The best settings that keep the limits; the first one is the best."""
        found = [one for one in self.tried if self._kept(one)]
        return sorted(found, key=lambda one: (self._cost(one), len(one.settings)))[:count]

    def _cost(self, one: Tried) -> float:
        return self.wanted.cost(one.figures, self.defaults) if one.figures else math.inf

    @property
    def _gains(self) -> list[dict[str, str]]:
        """Of what was tried by itself, what is better than the defaults; the best first."""
        alone = [one for one in self.tried[1:] if one.settings in self._known and one.figures]
        usual = self._cost(self.tried[0])
        better = [one for one in alone if self._cost(one) < usual]
        return [one.settings for one in sorted(better, key=lambda one: (not self._kept(one), self._cost(one)))]

    def _kept(self, one: Tried) -> bool:
        return one.figures is not None and self.wanted.kept(one.figures, self.defaults)

    def nearest(self) -> Tried:
        """The best; if none keeps the limits, the one that misses them least."""
        if found := self.best():
            return found[0]

        def missed(one: Tried) -> tuple[float, float]:
            assert one.figures is not None
            return sum(max(0.0, x) for x in self.wanted.violations(one.figures, self.defaults)), self._cost(one)

        return min((one for one in self.tried if one.figures), key=missed)

    def _try_all(self, given: Sequence[Settings]) -> None:
        for first in range(0, len(given), BATCH):
            if not self.over():
                self._try(given[first : first + BATCH])

    def _try(self, given: Iterable[Settings]) -> bool:
        """Tries those that are new; whether there were any."""
        new: list[dict[str, str]] = []
        for one in given:
            kept = self.space.canonical(one)
            if kept not in new and all(kept != other.settings for other in self.tried):
                new.append(kept)
        new = new[: self.trials - len(self.tried)]
        if not new:
            return False
        self.tried += [Tried(settings, answer) for settings, answer in zip(new, self.evaluate(new), strict=True)]
        self.told(self)
        return True

    def _screen(self) -> None:
        """Changes groups of settings that have not been varied yet: a group that changes no figure is not varied at all."""
        base = self.nearest()
        varied = {name for one in self.tried for name in one.settings}
        left = [one for one in self.space.parameters if one.name not in varied and self.space.active(base.settings, one)]
        groups = [left[first : first + GROUP] for first in range(0, len(left), GROUP)]
        trials = [{**base.settings, **{one.name: one.far() for one in group}} for group in groups]
        self._try_all(trials)
        for group, settings in zip(groups, trials, strict=True):
            found = next((one for one in self.tried if one.settings == self.space.canonical(settings)), None)
            if found and found.figures and base.figures and alike(found.figures, base.figures):
                self.idle |= {one.name for one in group}

    def _neighbours(self, count: int) -> list[dict[str, str]]:
        """Settings one or two steps from the best, and those without one of its changes, that were not tried."""
        found: list[dict[str, str]] = []
        known = [one.settings for one in self.tried]
        for best in (*self.best(2), self.nearest()):
            for candidate in self._around(best.settings):
                kept = self.space.canonical(candidate)
                if kept not in known and kept not in found:
                    found.append(kept)
                if len(found) == count:
                    return found
        return found

    def _around(self, settings: Settings) -> Iterable[dict[str, str]]:
        """First what is better than the defaults by itself, then other choices: they may change more than a step does."""
        for gain in self._gains:
            yield {**settings, **gain}
        active = [one for one in self.space.parameters if one.name not in self.idle and self.space.active(settings, one)]
        changed = [one for one in active if one.name in settings]
        for one in active:
            if not one.ordered:
                yield from ({**settings, one.name: value} for value in one.values)
        for steps in (1, -1, 2, -2, 4, -4):
            for one in (*changed, *(one for one in active if one.name not in settings)):
                value = one.near(settings.get(one.name, one.default), steps)
                if value is not None:
                    yield {**settings, one.name: value}
        for one in changed:
            yield {name: value for name, value in settings.items() if name != one.name}

    def _study(self) -> Study:
        return Study(self)


def alike(one: Figures, other: Figures) -> bool:
    """Whether no figure differs by more than chance."""
    pairs = [(one.passed, other.passed), (one.p50_ns, other.p50_ns), (one.p99_ns, other.p99_ns), (one.cpu, other.cpu)]
    return abs(one.loss - other.loss) < SAME and all(
        (a is None) == (b is None) and (a is None or b is None or abs(a - b) <= SAME * max(abs(a), abs(b))) for a, b in pairs
    )


class Study:
    """optuna's study of a search."""

    def __init__(self, search: Search) -> None:
        import optuna  # takes as long to import as everything else

        self._optuna: Any = optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._search = search
        self._told = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(
                seed=search.seed,
                multivariate=True,
                group=True,
                n_startup_trials=BATCH,
                constant_liar=True,
                constraints_func=lambda trial: trial.user_attrs.get("violations", (0.0,)),
            )
        self._study = optuna.create_study(directions=["minimize"] * len(search.wanted.goals), sampler=sampler)

    def ask(self, count: int) -> list[dict[str, str]]:
        """Further settings, after what was tried meanwhile was told."""
        search = self._search
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in search.tried[self._told :]:
                self._tell(one)
            self._told = len(search.tried)
            asked = [self._study.ask() for _ in range(count)]
            found = [self._suggested(trial) for trial in asked]
            for trial in asked:  # its figures are told with the settings, without those that have no effect
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return found

    def _tell(self, one: Tried) -> None:
        search = self._search
        self._study.enqueue_trial(self._encoded(one.settings))
        trial = self._study.ask()
        self._suggested(trial)
        figures = one.figures
        costs = [goal.cost(figures) for goal in search.wanted.goals] if figures else [math.inf]
        if figures is None or not all(map(math.isfinite, costs)):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            return
        violations = [min(one, 1e9) for one in search.wanted.violations(figures, search.defaults)]
        trial.set_user_attr("violations", violations or [0.0])
        self._study.tell(trial, costs)

    def _varied(self) -> list[Parameter]:
        return [one for one in self._search.space.parameters if one.name not in self._search.idle]

    def _encoded(self, settings: Settings) -> dict[str, Any]:
        return {
            one.name: one.values.index(value) if one.ordered else value
            for one in self._varied()
            for value in (settings.get(one.name, one.default),)
        }

    def _suggested(self, trial: Any) -> dict[str, str]:
        settings: dict[str, str] = {}
        for one in self._varied():
            if not self._search.space.active(settings, one):
                continue
            if one.ordered:
                settings[one.name] = one.values[trial.suggest_int(one.name, 0, len(one.values) - 1)]
            else:
                settings[one.name] = trial.suggest_categorical(one.name, list(one.values))
        return settings
