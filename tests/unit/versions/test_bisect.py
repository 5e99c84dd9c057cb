# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.runner.jobs import UserInterruptError
from irqlab.versions import bisect
from irqlab.versions.bisect_report import Report, State

COMMITS = 40
Metrics = dict[str, float | None]


def git(tree: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    return subprocess.run(["git", "-C", tree, *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    git(root, "init", "--quiet")
    (root / "drivers/irqmod").mkdir(parents=True)
    for number in range(COMMITS + 1):
        (root / "drivers/irqmod/file").write_text(f"{number}")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", f"--message=commit {number}")
    return root


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))


def number_of(tree: Path, commit: str) -> int:
    return int(bisect.subject(tree, commit).split()[1])


def question(
    tree: Path, name: str = "instructions_per_frame", above: float = 0.01, workload: Workload | None = None
) -> bisect.Question:
    ends = (git(tree, "rev-parse", f"HEAD~{COMMITS}"), git(tree, "rev-parse", "HEAD"))
    return bisect.Question(tree, *ends, bisect.metric(name), above, TestbedConfig("irqmod_i8255x"), workload or Workload())


def value(name: str, figure: float) -> Metrics:
    return {name: figure}


@pytest.mark.parametrize("first_bad", [1, 2, 17, 39, 40])
def test_the_first_bad_commit_is_found_in_few_steps(tree: Path, first_bad: int) -> None:
    asked = question(tree)

    def measure(commit: str) -> Metrics:
        return value("instructions_per_frame", 1020.0 if number_of(tree, commit) >= first_bad else 1000.0)

    tried: list[bisect.Step] = []
    answer = bisect.search(asked, (measure(asked.good), measure(asked.bad)), measure, tried.append)
    assert answer.first_bad is not None
    assert number_of(tree, answer.first_bad) == first_bad
    assert tried == answer.steps
    assert len(tried) <= bisect.steps_left(bisect.between(asked)) == 6
    assert [step.verdict for step in tried] == ["bad" if number_of(tree, s.commit) >= first_bad else "good" for s in tried]


def test_a_change_within_the_threshold_is_no_change(tree: Path) -> None:
    asked = question(tree, above=0.02)
    with pytest.raises(IrqlabError, match=r"not worse than that of .* by more than 2.000%: 1000.0, 1020.0"):
        bisect.search(asked, (value(asked.metric.name, 1000.0), value(asked.metric.name, 1020.0)), lambda _: {}, lambda _: None)


def test_a_metric_of_which_more_is_better(tree: Path) -> None:
    asked = question(tree, "throughput")

    def measure(commit: str) -> Metrics:
        return value("throughput_pps", 50e3 if number_of(tree, commit) < 9 else 49e3)

    answer = bisect.search(asked, (measure(asked.good), measure(asked.bad)), measure, lambda _: None)
    assert answer.first_bad is not None
    assert number_of(tree, answer.first_bad) == 9


def test_commits_that_cannot_be_measured_are_skipped_with_the_reason(tree: Path) -> None:
    asked = question(tree)

    def measure(commit: str) -> Metrics:
        if number_of(tree, commit) in (19, 20, 21):
            raise IrqlabError("does not build")
        return value("instructions_per_frame", 1100.0 if number_of(tree, commit) >= 30 else 1000.0)

    answer = bisect.search(asked, (measure(asked.good), measure(asked.bad)), measure, lambda _: None)
    assert answer.first_bad is not None
    assert number_of(tree, answer.first_bad) == 30
    skipped = [step for step in answer.steps if step.metrics is None]
    assert [(step.verdict, step.why) for step in skipped] == [("skipped", "does not build")] * len(skipped)
    assert skipped


def test_ctrl_c_is_no_reason_to_skip_a_commit(tree: Path) -> None:
    asked = question(tree)
    tried: list[bisect.Step] = []

    def measure(commit: str) -> Metrics:
        if tried:
            raise UserInterruptError("interrupted")
        return value("instructions_per_frame", 1000.0)

    ends = (value("instructions_per_frame", 1000.0), value("instructions_per_frame", 1100.0))
    with pytest.raises(UserInterruptError):
        bisect.search(asked, ends, measure, tried.append)
    assert len(tried) == 1


def test_if_only_skipped_commits_are_left_they_are_named(tree: Path) -> None:
    asked = question(tree)

    def measure(commit: str) -> Metrics:
        if number_of(tree, commit) in (29, 30):
            raise IrqlabError("does not build")
        return value("instructions_per_frame", 1100.0 if number_of(tree, commit) >= 30 else 1000.0)

    answer = bisect.search(asked, (measure(asked.good), measure(asked.bad)), measure, lambda _: None)
    assert answer.first_bad is None
    assert sorted(number_of(tree, commit) for commit in answer.candidates) == [29, 30, 31]


def test_what_a_repository_holds(tree: Path, tmp_path: Path) -> None:
    assert bisect.kind(tree, "HEAD") == bisect.DRIVERS
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").touch()
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message=x")
    with pytest.raises(IrqlabError, match="neither a kernel's source nor our drivers"):
        bisect.kind(tmp_path, "HEAD")


def test_metrics_by_short_and_by_full_name() -> None:
    assert bisect.metric("p99").name == "latency_p99_ns"
    assert bisect.metric("latency_p99_ns").name == "latency_p99_ns"
    with pytest.raises(IrqlabError, match="--metric nic_reads_per_frame: allowed are throughput, p50"):
        bisect.metric("nic_reads_per_frame")


def test_what_was_measured_is_kept_for_the_same_question_only(tmp_path: Path, tree: Path) -> None:
    asked = question(tree)
    state = State.read(tmp_path, asked.key)
    state.rates["a"] = 1.5
    state.metrics["a"] = {"throughput_pps": None}
    state.write(tmp_path)
    assert State.read(tmp_path, asked.key) == state
    assert State.read(tmp_path, question(tree, above=0.5).key) == state, "the threshold changes no measurement"
    for other in (Workload(size=128), Workload(bidirectional=True), Workload(duration_ns=10**9)):
        assert question(tree, workload=other).key != asked.key
    assert State.read(tmp_path, "another") == State("another")
    (tmp_path / "bisect-state.json").write_text("{")
    assert State.read(tmp_path, asked.key) == State(asked.key)


def test_the_report_names_the_commit_and_the_functions(tmp_path: Path, tree: Path) -> None:
    asked = question(tree)
    commits = bisect.between(asked)
    assert [number_of(tree, commit) for commit in (commits[0], commits[-1])] == [1, COMMITS]
    found = {"instructions_per_frame": 1234.0}
    answer = bisect.Answer([bisect.Step(commits[4], "commit 5", "bad", found)], commits[4])
    gained = [{"function": "slow_function", "before": 10.0, "after": 30.0}]
    report = Report(asked, commits, ({"instructions_per_frame": 1200.0}, found), answer, gained, ["irqlab", "bisect"], [])
    report.write(tmp_path)
    assert report.conclusion() == f"{commits[4][:12]} (commit 5) is the first commit with worse instructions per frame."
    page = (tmp_path / "bisect.html").read_text()
    for text in (commits[4][:12], "slow_function", "first bad", "+2.83%"):
        assert text in page
    assert [row[0].text for row in report.tables()[0].rows] == ["0", "5", f"{COMMITS}"]
