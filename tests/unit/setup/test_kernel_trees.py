# SPDX-License-Identifier: GPL-2.0-or-later
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from irqlab.perturb import layout
from irqlab.setup import SetupError, kernel, kernel_sources, kernel_trees
from irqlab.setup.buildroot import BuildRoot
from irqlab.setup.kernel_sources import Source
from irqlab.setup.kernel_trees import Options
from irqlab.setup.paths import sweep
from tests.own_cache import own_cache


def git(tree: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    return subprocess.run(["git", "-C", tree, *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository that looks like a kernel's source, with two commits."""
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "sources", "kernels")))
    root = tmp_path / "linux"
    for name in ("arch/x86", "scripts/kconfig"):
        (root / name).mkdir(parents=True)
        (root / name / "Makefile").touch()
    (root / "Kconfig").touch()
    (root / "Makefile").write_text("# SPDX-License-Identifier: GPL-2.0\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n")
    git(tmp_path, "init", "--quiet", str(root))
    for number in (1, 2):
        (root / "file").write_text(f"{number}")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", f"--message=commit {number}")
    return root


def test_a_source_package_is_unpacked_while_another_is_fetched(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree.parent / "cache/sources"
    package = home / "linux-source-6.12_6.12.3-1_all"
    (package / "usr/src").mkdir(parents=True)
    subprocess.run(
        ["tar", "-c", "-J", "-f", package / "usr/src/linux-source-6.12.tar.xz", "-C", tree.parent, "linux"], check=True
    )
    run = subprocess.run

    def meanwhile(command: list[str], **options: bool) -> subprocess.CompletedProcess[str]:
        sweep(home)  # as `debs` does before a download
        return run(command, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(kernel_sources.subprocess, "run", meanwhile)
    assert kernel_sources.debian("6.12").series == "6.12"
    assert kernel_sources.debian("6.12").series == "6.12"


def test_a_tree_is_taken_as_it_is(tree: Path) -> None:
    found = kernel_sources.find(f"tree:{tree}")
    assert found == Source(tree, str(tree))
    assert found.series == "6.12"


def test_a_revision_is_checked_out_elsewhere_and_the_tree_stays_as_it_was(tree: Path) -> None:
    (tree / "file").write_text("not committed")
    before = git(tree, "status", "--porcelain"), git(tree, "worktree", "list")
    first = kernel_sources.find(f"tree:{tree}@HEAD~1")
    assert (first.path / "file").read_text() == "1"
    assert first.revision == git(tree, "rev-parse", "HEAD~1")
    second = kernel_sources.find(f"tree:{tree}@HEAD")
    assert second.path == first.path, "revisions share object files"
    assert second.identity == first.identity
    assert (second.path / "file").read_text() == "2"
    assert (git(tree, "status", "--porcelain"), git(tree, "worktree", "list")) == before


def test_a_commit_made_after_the_clone_is_found(tree: Path) -> None:
    kernel_sources.find(f"tree:{tree}@HEAD")
    (tree / "file").write_text("3")
    git(tree, "commit", "--quiet", "--all", "--message=commit 3")
    assert (kernel_sources.find(f"tree:{tree}@HEAD").path / "file").read_text() == "3"


def test_bad_trees_are_named(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="nowhere: no such directory"):
        kernel_sources.find(f"tree:{tmp_path}/nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SetupError, match="empty is not a kernel's source tree: it has no Makefile"):
        kernel_sources.find(f"tree:{tmp_path}/empty")
    with pytest.raises(SetupError, match="linux has no revision v9"):
        kernel_sources.find(f"tree:{tree}@v9")
    (tree / ".config").touch()
    with pytest.raises(SetupError, match=r"was built in place: take it as it is with build:.*make mrproper"):
        kernel_sources.find(f"tree:{tree}")
    with pytest.raises(SetupError, match="is not a kernel that was built: it has no vmlinux"):
        kernel.resolve(f"build:{tree}")


def test_options_that_are_not_allowed() -> None:
    with pytest.raises(SetupError, match="--debug: no such option asan; allowed are kasan, lockdep"):
        Options(debug=("asan",))
    with pytest.raises(SetupError, match="kasan and kcsan exclude each other"):
        Options(debug=("kasan", "kcsan"))
    with pytest.raises(SetupError, match=r"--kconfig nowhere: no such file"):
        Options(kconfig=("nowhere",))
    with pytest.raises(SetupError, match=r"need a kernel that irqlab builds .*, not 6\.1\.0-1-amd64"):
        kernel.resolve("6.1.0-1-amd64", Options(debug=("dma",)))


def test_fragments_are_applied_in_order(tmp_path: Path) -> None:
    mine = tmp_path / "mine.config"
    mine.touch()
    options = Options((str(mine),), kernel_trees.debug_names("lockdep, dma,,dma"))
    assert [path.name for path in options.fragments] == ["dut.config", "dma.config", "lockdep.config", "mine.config"]
    assert all(path.is_file() for path in options.fragments)
    assert options.label("source:6.1") == f"source:6.1 --debug dma --debug lockdep --kconfig {mine}"


@pytest.mark.parametrize("name", kernel_trees.DEBUG)
def test_each_debug_option_asks_for_what_makes_it(name: str) -> None:
    text = (kernel_trees.FRAGMENTS / f"{name}.config").read_text()
    assert f"\nCONFIG_{kernel_trees.DEBUG[name]}=y\n" in text


def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Path, config: str, options: Options) -> None:
    """Configures a kernel whose `make allnoconfig` writes `config`."""
    objects = tmp_path / "objects"
    objects.mkdir()

    def run(self: BuildRoot, *command: str, **directories: object) -> subprocess.CompletedProcess[str]:
        assert "allnoconfig" in command
        (objects / ".config").write_text(config)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(BuildRoot, "run", run)
    build = kernel_trees._Build(BuildRoot(tmp_path, "gcc", "gcc 1"), Source(tree, "x"), objects)
    build.configure("CONFIG_ALL=y\n", options)
    assert (objects / "all.config").read_text() == "CONFIG_ALL=y\n"


def test_options_that_have_no_effect_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Path) -> None:
    mine = tmp_path / "mine.config"
    mine.write_text("# a comment\nCONFIG_A=y\nCONFIG_B=m\nCONFIG_C=n\n# CONFIG_D is not set\n")
    options = Options((str(mine),))
    with pytest.raises(SetupError, match=r"--kconfig: Linux 6\.12 does not take CONFIG_B=m: unknown"):
        configured(monkeypatch, tmp_path, tree, "CONFIG_A=y\n", options)


def test_what_a_kernel_cannot_debug_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Path) -> None:
    with pytest.raises(SetupError, match=r"--debug rt: Linux 6\.12 has no PREEMPT_RT"):
        configured(monkeypatch, tmp_path, tree, "CONFIG_A=y\n", Options(debug=("rt",)))


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Path) -> None:
    def run(self: BuildRoot, *command: str, **directories: object) -> subprocess.CompletedProcess[str]:
        said = "make: Entering\n/source/net/core/dev.c:7:1: error: expected ';'\nmake: *** [net] Error 1\n"
        return subprocess.CompletedProcess(command, 2, "", said)

    monkeypatch.setattr(BuildRoot, "run", run)
    (tmp_path / ".config").touch()
    build = kernel_trees._Build(BuildRoot(tmp_path, "gcc", "gcc 1"), Source(tree, "x"), tmp_path)
    with pytest.raises(SetupError, match=r"(?s)linux does not build with gcc 1:.*net/core/dev\.c:7:1: error: expected"):
        build.make()


def test_only_a_revision_keeps_others_from_the_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of one tree with other options are built at the same time; a clone shows one revision at a time."""
    taken: list[str] = []

    @contextmanager
    def locked(name: str) -> Iterator[None]:
        taken.append(name)
        yield

    monkeypatch.setattr(kernel_sources, "locked", locked)
    with kernel_sources.held(f"tree:{tree}") as source:
        assert source.path == tree
    assert taken == []
    for revision in ("HEAD", "HEAD~1"):
        with kernel_sources.held(f"tree:{tree}@{revision}") as source:
            assert source.revision
    assert len(taken) == 2
    assert len(set(taken)) == 1


def test_a_built_kernel_is_kept_once(tree: Path) -> None:
    kept = []
    for name in ("one", "two"):
        scratch = kernel_trees._scratch(name)
        (scratch / "vmlinux").write_text("same")
        kept.append(kernel_trees._kept(scratch))
    assert kept[0] == kept[1]
    assert [path.name for path in kept[0].parent.iterdir()] == [kept[0].name]


def test_kernels_that_are_built_have_modules_for_perturb_layout() -> None:
    fragment = (kernel_trees.FRAGMENTS / "dut.config").read_text()
    assert layout.FILLER == "nls_cp"
    assert fragment.count("CONFIG_NLS_CODEPAGE_") == fragment.count("=m\nCONFIG_NLS_CODEPAGE_") >= 8
