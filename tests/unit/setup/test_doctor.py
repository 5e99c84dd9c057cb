# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from irqlab.setup import SetupError, doctor, host, paths, qemu


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("IRQLAB_CACHE", "XDG_CACHE_HOME", "IRQLAB_QEMU"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_no_check_raises_even_if_nothing_is_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(paths, "project_dir", lambda: home)
    checks = {check.name: check for check in doctor.run_checks()}
    assert len(checks) == len(doctor.CHECKS)
    for name in ("QEMU", "tester in QEMU", "drivers' compiler", "DUT's kernel", "DUT's tools", "tester", "guest"):
        assert not checks[name].ok
        assert checks[name].mend
    assert not (home / ".cache").exists()


def check_in_qemu(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> doctor.Check:
    """Doctor's check with a fake QEMU: a script that runs when it is started with the tester."""
    version = "echo 'QEMU emulator version 9.1.0 (Debian 1:9.1)'"
    path = program(home / "qemu", f'if [ "$1" = --version ]; then {version}; exit; fi\n{script}')
    monkeypatch.setenv("IRQLAB_QEMU", str(path))
    tester = home / "tester.so"
    tester.touch()
    monkeypatch.setattr(paths, "tester_so", lambda: tester)
    return next(check for check in doctor.run_checks() if check.name == "tester in QEMU")


def test_doctor_reports_what_the_tester_says_in_qemu(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = check_in_qemu(home, monkeypatch, "echo 'irqlab-tester: works in QEMU 10.0.13'")
    assert check.ok
    assert check.detail == "works in QEMU 10.0.13"


def test_doctor_reports_why_the_tester_refuses_a_qemu(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = "echo 'irqlab-tester: QEMU 9.1.0 has not been tested' >&2; echo 'qemu: Could not load plugin' >&2; exit 1"
    check = check_in_qemu(home, monkeypatch, refusal)
    assert not check.ok
    assert check.detail == f"{home}/qemu cannot run the tester: QEMU 9.1.0 has not been tested"
    assert "IRQLAB_QEMU" in check.mend


def test_doctor_reports_what_a_qemu_says_that_does_not_load_the_tester(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = check_in_qemu(home, monkeypatch, "echo 'qemu: plugin interface not enabled in this build' >&2; exit 1")
    assert not check.ok
    assert "plugin interface not enabled" in check.detail
    assert "no message" in check_in_qemu(home, monkeypatch, "exit 0").detail


def test_the_fetched_qemu_runs_the_tester() -> None:
    checks = {check.name: check for check in doctor.run_checks()}
    assert checks["tester in QEMU"].ok, checks["tester in QEMU"].detail


def test_a_qemu_is_known_by_its_hash(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_QEMU", str(program(home / "qemu", "echo 'QEMU emulator version 10.0.13'")))
    one = qemu.find().sha256
    monkeypatch.setenv("IRQLAB_QEMU", str(program(home / "rebuilt", "echo 'QEMU emulator version 10.0.13' # rebuilt")))
    assert len(one) == 64
    assert qemu.find().sha256 != one


def test_a_qemu_is_asked_for_its_version_cards_and_properties(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = r"""case "$*" in
--version) echo 'QEMU emulator version 10.0.13 (Debian 1:10)';;
'-device help') printf 'name "e1000", bus PCI, alias "e1000-82540em", desc "x"\nname "pcnet", bus PCI\n';;
'-device e1000,help') printf 'e1000 options:\n  mac=<str>   - x\n  mitigation=<bool> - on/off\n';;
esac"""
    monkeypatch.setenv("IRQLAB_QEMU", str(program(home / "qemu", script)))
    found = qemu.find()
    assert found.version == (10, 0, 13)
    assert found.devices() == {"e1000", "e1000-82540em", "pcnet"}
    assert found.properties("e1000") == {"mac", "mitigation"}


def test_programs_that_are_not_qemu_are_rejected(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRQLAB_QEMU", str(program(home / "qemu", "echo hello")))
    with pytest.raises(SetupError, match="printed 'hello', so it is not QEMU"):
        qemu.find()
    monkeypatch.setenv("IRQLAB_QEMU", str(home / "absent"))
    with pytest.raises(SetupError, match=r"no program .*absent; allowed are 7\.2, 10\.0"):
        qemu.find()


def test_an_artifact_is_stale_when_a_source_of_its_rule_is_newer(tmp_path: Path) -> None:
    artifact, old, new = tmp_path / "out.so", tmp_path / "old file.rs", tmp_path / "new.rs"
    for path, time in ((artifact, 2000), (old, 1000), (new, 3000)):
        path.touch()
        os.utime(path, (time, time))
    escaped = str(old).replace(" ", "\\ ")
    rule = tmp_path / "out.d"
    rule.write_text(f"{artifact}: {escaped}\n")
    assert doctor.sources_newer_than(artifact) == []
    rule.write_text(f"{artifact}: {escaped} {new} {tmp_path}/gone.rs\n")
    assert doctor.sources_newer_than(artifact) == ["new.rs", "gone.rs"]


def test_the_cache_is_where_xdg_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert paths.cache_dir() == home / ".cache/irqlab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert paths.cache_dir() == home / ".cache/irqlab"
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert paths.cache_dir() == Path("/somewhere/irqlab")
    monkeypatch.setenv("IRQLAB_CACHE", "/elsewhere")
    assert paths.cache_dir() == Path("/elsewhere")


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with paths.appearing(tmp_path / "new") as scratch:
            (scratch / "half").touch()
            raise OSError(28, "No space left on device")

    with pytest.raises(SetupError, match="new: No space left on device"):
        fail()
    assert list(tmp_path.iterdir()) == []
    with paths.appearing(tmp_path / "new") as scratch:
        (scratch / "whole").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "whole"]


def test_files_left_by_a_killed_process_are_removed(tmp_path: Path) -> None:
    for name in (".new-abc/half", "whole/file"):
        (tmp_path / name).mkdir(parents=True)
    paths.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


@pytest.mark.parametrize(
    ("release", "install", "allow"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", "sudo apt install git", "apparmor_restrict_unprivileged_userns=0"),
        ("ID=debian\n", "sudo apt install git", "unprivileged_userns_clone=1"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "sudo zypper install git", "max_user_namespaces"),
        ('ID="rhel"\nID_LIKE="fedora"\n', "sudo dnf install git", "max_user_namespaces"),
        ("ID=arch\n", "sudo pacman -S git", "bubblewrap"),
        ("ID=nixos\n", "install git", "your distribution"),
    ],
)
def test_what_to_type_on_this_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, install: str, allow: str
) -> None:
    (tmp_path / "os-release").write_text(release)
    monkeypatch.setattr(host, "OS_RELEASE", tmp_path / "os-release")
    assert host.install("git") == install
    assert allow in host.allow()


def test_a_host_without_namespaces_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(home / "bin/bwrap", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    with pytest.raises(SetupError, match=r"(?s)forbids user namespaces.*uid map: Permission denied.*To allow them: "):
        host.check_namespaces()


def test_namespaces_without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.shutil, "which", lambda _: None)
    assert host.check_namespaces() == "unprivileged user namespaces"
