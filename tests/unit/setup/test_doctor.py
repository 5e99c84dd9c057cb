# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest

from irqlab.setup import SetupError, debs, doctor, paths, qemu
from irqlab.setup.archive import Archive

DEPENDS = """\
iproute2
  PreDepends: debconf
 |Depends: debconf
  Depends: <debconf-2.0>
    cdebconf
  Depends: libmnl0
  Recommends: libatm1
libbpf1
  Depends: libelf1
  Depends: libmnl0
"""


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
    for name in ("QEMU", "tester in QEMU", "Rust", "drivers' compiler", "DUT's kernel", "DUT's tools", "tester", "guest"):
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


def test_the_installed_qemu_runs_the_tester() -> None:
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
    with pytest.raises(SetupError, match="absent not found"):
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


@pytest.fixture
def apt(home: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """A fake apt-get and dpkg, which write a log."""
    log = home / "log"
    download = f"""echo "$*" >> {log}; shift; for p; do case $p in a|b) : > ${{p}}_1%3a2-3_amd64.deb;; esac; done"""
    program(home / "bin/apt-get", download)
    program(home / "bin/dpkg", f'echo "dpkg $1" >> {log}; : > "$3/file"; : > "$3/$(basename $2)"')
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    return Archive(home / "apt.conf")


def test_packages_are_fetched_once_and_together(home: Path, apt: Archive) -> None:
    first, second = debs.unpack(["a", "b"], apt, home / "debs")
    assert (first / "file").exists()
    assert (second / "file").exists()
    assert debs.version(first) == "1:2-3"
    assert debs.unpack(["b", "a"], apt, home / "debs") == [second, first]
    lines = (home / "log").read_text().splitlines()
    assert sum("download a b" in line for line in lines) == 1
    assert len(lines) == 3


def test_packages_can_share_a_directory(home: Path, apt: Archive) -> None:
    made = debs.unpack_together(["b", "a"], apt, home / "debs")
    assert made.name == "b_1%3a2-3_amd64"
    assert sorted(path.name for path in made.iterdir()) == ["a_1%3a2-3_amd64.deb", "b_1%3a2-3_amd64.deb", "file"]
    assert debs.unpack_together(["b", "a"], apt, home / "debs") == made
    assert (home / "log").read_text().count("download") == 1


def test_dependencies_are_read_from_apt_cache(home: Path, apt: Archive) -> None:
    program(home / "bin/apt-cache", f"cat <<'END'\n{DEPENDS}END")
    assert debs.depends(["iproute2", "libbpf1"], apt) == {"debconf", "libmnl0", "libelf1"}


def test_apt_that_fails_is_quoted(home: Path, apt: Archive) -> None:
    program(home / "bin/apt-get", "echo 'E: 404 Not Found' >&2; exit 100")
    with pytest.raises(SetupError, match=r"(?s)linux-image-x.*404 Not Found"):
        debs.unpack(["linux-image-x"], apt, home / "debs")
    assert list((home / "debs").iterdir()) == []


def test_files_left_by_a_killed_process_are_removed(tmp_path: Path) -> None:
    for name in (".new-abc/half", "whole/file"):
        (tmp_path / name).mkdir(parents=True)
    paths.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
