# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the commit that made a driver worse: git bisect, with a measurement at each step.

Which commit to try next is git's decision, in a clone of irqlab's own that shares the repository's objects; the user's tree is
only read. Every commit is offered the same loads, relative to the lower of the two ends' throughputs, so that costs per frame can
be compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from irqlab.compare import revision, verdict
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods.metrics import METRICS, Metric
from irqlab.runner.jobs import UserInterruptError
from irqlab.setup import kernel as kernels
from irqlab.setup import kernel_sources
from irqlab.setup.kernel_sources import git
from irqlab.setup.kernel_trees import Options
from irqlab.setup.paths import appearing, cache_dir

SHORT_NAMES = {"throughput": "throughput_pps"} | {
    name.removeprefix("latency_").removesuffix("_ns"): name for name in (m.name for m in METRICS) if name.startswith("latency_")
}
"""What ``--metric`` takes besides the names of METRICS."""
KERNEL, DRIVERS = "kernel", "drivers"
GOOD, BAD, SKIPPED = "good", "bad", "skipped"


@dataclass(frozen=True)
class Question:
    """What is looked for: where between two revisions `metric` becomes worse by more than the share `above`."""

    tree: Path
    good: str
    bad: str
    """Full commit hashes."""
    metric: Metric
    above: float
    common: TestbedConfig
    """The testbed, whose driver or kernel is replaced by each commit's."""
    workload: Workload

    @property
    def key(self) -> str:
        """Identifies what is measured at a commit: the same for the same tree, ends, testbed and workload."""
        return hashlib.sha256(repr((str(self.tree), self.good, self.bad, self.common, self.workload)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Step:
    """A commit that was tried. `metrics`: see irqlab.methods.metrics; None: it was skipped, for the reason in `why`."""

    commit: str
    subject: str
    verdict: str
    metrics: dict[str, float | None] | None
    why: str = ""


@dataclass
class Answer:
    """The steps in the order of trying. `first_bad`: the commit; None if only skipped commits are left (`candidates`)."""

    steps: list[Step] = field(default_factory=list)
    first_bad: str | None = None
    candidates: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return asdict(self)


def _usable(one: Metric) -> bool:
    """A trial without a profile and without a memory model has it."""
    return "nic_" not in one.name and "fills" not in one.name


def metric(name: str) -> Metric:
    """The metric of that name. Raises IrqlabError."""
    full = SHORT_NAMES.get(name, name)
    found = next((one for one in METRICS if one.name == full and _usable(one)), None)
    if found is None:
        known = [*SHORT_NAMES, *(one.name for one in METRICS if one.name not in SHORT_NAMES.values() and _usable(one))]
        raise IrqlabError(f"--metric {name}: allowed are {', '.join(known)}")
    return found


def kind(tree: Path, commit: str) -> str:
    """What a repository holds: a kernel's source, or drivers as this project's. Raises IrqlabError."""
    if git_has(tree, commit, "arch/x86/Makefile"):
        return KERNEL
    if git_has(tree, commit, "drivers/irqmod"):
        return DRIVERS
    raise IrqlabError(f"--tree {tree}: {commit[:12]} has neither a kernel's source nor our drivers (arch/x86, drivers/irqmod)")


def git_has(tree: Path, commit: str, path: str) -> bool:
    """Whether a commit has a file or directory."""
    return bool(git(tree, "ls-tree", commit, "--", path).strip())


def testbed_at(question: Question, commit: str) -> TestbedConfig:
    """The testbed with the kernel or the driver of a commit. Raises IrqlabError if it does not build."""
    if kind(question.tree, commit) == KERNEL:
        return replace(question.common, kernel=f"tree:{question.tree}@{commit}")
    common = question.common
    kernel = kernels.resolve(common.kernel, Options(common.kconfig, common.debug))
    module = revision.module_at(question.tree, commit, common.driver, kernel)
    return replace(question.common, driver=str(module))


def is_worse(question: Question, before: dict[str, float | None], after: dict[str, float | None]) -> bool:
    """Whether the metric is worse than at the good end by more than is allowed."""
    return worse_by(question.metric, before, after) > question.above


def worse_by(metric: Metric, before: dict[str, float | None], after: dict[str, float | None]) -> float:
    """By how much, as a share; negative: better."""
    return verdict.Line(metric, before.get(metric.name), after.get(metric.name)).worse_by


def search(
    question: Question,
    ends: tuple[dict[str, float | None], dict[str, float | None]],
    measure: Callable[[str], dict[str, float | None]],
    tried: Callable[[Step], None],
) -> Answer:
    """Bisects. `ends`: the metrics of the good and the bad end.

    `measure` raises IrqlabError for a commit to be skipped, but UserInterruptError to end.
    """
    if not is_worse(question, *ends):
        name = question.metric
        raise IrqlabError(
            f"{name.text} of {question.bad[:12]} is not worse than that of {question.good[:12]} by more than "
            f"{question.above:.3%}: {ends[0].get(name.name)}, {ends[1].get(name.name)}"
        )
    answer = Answer()
    clone = _clone(question.tree)
    git(clone, "bisect", "start", "--no-checkout")
    git(clone, "bisect", "bad", question.bad)
    said = git(clone, "bisect", "good", question.good)
    try:
        while not _ended(said, answer):
            commit = git(clone, "rev-parse", "BISECT_HEAD").strip()
            try:
                found = measure(commit)
                step = Step(commit, subject(clone, commit), BAD if is_worse(question, ends[0], found) else GOOD, found)
            except UserInterruptError:
                raise
            except IrqlabError as error:
                step = Step(commit, subject(clone, commit), SKIPPED, None, str(error))
            answer.steps.append(step)
            tried(step)
            said = git(clone, "bisect", {SKIPPED: "skip"}.get(step.verdict, step.verdict), commit, may_fail=True)
    finally:
        git(clone, "bisect", "reset", may_fail=True)
    return answer


def _ended(said: str, answer: Answer) -> bool:
    """Whether git has found the commit, or cannot; sets the answer."""
    if match := re.search(r"^([0-9a-f]{40,}) is the first bad commit", said, re.MULTILINE):
        answer.first_bad = match[1]
        return True
    if "only 'skip'ped commits left" in said:
        answer.candidates = re.findall(r"^([0-9a-f]{40,})$", said, re.MULTILINE)
        return True
    return False


def between(question: Question) -> list[str]:
    """The commits after the good end up to the bad one, oldest first. Raises IrqlabError if there are none."""
    found = git(question.tree, "rev-list", "--topo-order", "--reverse", f"{question.good}..{question.bad}").split()
    if not found:
        raise IrqlabError(f"{question.bad[:12]} does not come after {question.good[:12]}")
    return found


def subject(tree: Path, commit: str) -> str:
    """The first line of a commit's message."""
    return git(tree, "log", "-1", "--format=%s", commit).strip()


def parent(tree: Path, commit: str) -> str:
    """A commit's first parent."""
    return git(tree, "rev-parse", f"{commit}^").strip()


def steps_left(commits: Sequence[str]) -> int:
    """About how many steps a bisection of so many commits takes."""
    return max(1, (len(commits) - 1).bit_length())


def _clone(tree: Path) -> Path:
    """A bare clone for git's state; made anew, since branches of the tree may have moved."""
    clone = cache_dir() / "kernels/bisect" / re.sub(r"[^\w.-]", "_", str(tree).strip("/"))
    if not clone.is_dir():
        with appearing(clone) as scratch:
            git(scratch.parent, "clone", "--quiet", "--shared", "--bare", str(tree), str(scratch))
    git(clone, "bisect", "reset", may_fail=True)
    return clone


def commit_of(tree: Path, name: str) -> str:
    """The commit that a revision names. Raises IrqlabError."""
    return kernel_sources.commit_of(tree, name)
