# SPDX-License-Identifier: GPL-2.0-or-later
import hashlib
import stat
import subprocess
from pathlib import Path

import pytest

from irqlab.setup import SetupError, cpio, developing, guestimage, paths

KERNEL = "6.1.0-56-amd64"
ENTRIES = {
    "init": cpio.file(b"\x7fELF odd", 0o755),
    "bin/sh": cpio.symlink("busybox"),
    "dev/console": cpio.character_device(5, 1),
    "usr/lib/deep": cpio.file(b""),
}


def test_packing_and_unpacking_preserves_files_and_directories() -> None:
    found = dict(cpio.unpack(cpio.pack(ENTRIES)))
    assert found == {**ENTRIES, **dict.fromkeys(("bin", "dev", "usr", "usr/lib"), cpio.directory())}
    assert list(found) == sorted(found)


def test_the_order_of_the_entries_does_not_matter() -> None:
    assert cpio.pack(ENTRIES) == cpio.pack(dict(reversed(ENTRIES.items())))


def test_cpio_can_read_it() -> None:
    listed = subprocess.run(
        developing.tree().command("cpio", "-tv", "--quiet"), input=cpio.pack(ENTRIES), capture_output=True, check=True
    )
    lines = listed.stdout.decode().splitlines()
    assert any(line.startswith("lrwxrwxrwx") and line.endswith("bin/sh -> busybox") for line in lines)
    assert any(line.startswith("crw-------") and "5,   1" in line for line in lines)


@pytest.fixture
def image_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Builds an image of a given agent and of a tree with one tool."""
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "project_dir", lambda: tmp_path)
    tools = guestimage.tools_dir(KERNEL)
    (tools / "root/bin").mkdir(parents=True)
    (tools / "root/bin/busybox").write_bytes(b"busybox")
    (tools / "root/bin/sh").symlink_to("busybox")
    (tools / "packages.json").write_text('{"busybox-static": "1:1.35.0-4"}')

    def build(agent: bytes) -> guestimage.GuestImage:
        paths.guest_binary().parent.mkdir(parents=True, exist_ok=True)
        paths.guest_binary().write_bytes(agent)
        return guestimage.build(KERNEL)

    return build


def test_an_image_holds_init_the_tools_and_a_console(image_of) -> None:
    found = dict(cpio.unpack(image_of(b"agent").path.read_bytes()))
    assert found["init"] == cpio.file(b"agent", 0o755)
    assert found["bin/busybox"] == cpio.file(b"busybox", 0o755)
    assert found["bin/sh"] == cpio.symlink("busybox")
    assert stat.S_ISCHR(found["dev/console"].mode)
    assert {"proc", "sys", "tmp", "etc/passwd", "etc/hosts"} <= found.keys()


def test_the_same_agent_gives_the_same_image_and_another_one_another(image_of) -> None:
    first, other, again = image_of(b"agent"), image_of(b"other"), image_of(b"agent")
    assert first == again
    assert first.sha256 != other.sha256


def test_an_image_says_what_it_was_made_of(image_of) -> None:
    image = image_of(b"agent")
    assert image.packages == {"busybox-static": "1:1.35.0-4"}
    assert image.agent_sha256 == hashlib.sha256(b"agent").hexdigest()


def test_old_images_are_removed(image_of) -> None:
    images = [image_of(f"agent {number}".encode()) for number in range(guestimage.KEEP + 3)]
    assert images[-1].path.is_file()
    assert len(list(images[-1].path.parent.iterdir())) == guestimage.KEEP


def test_a_missing_agent_binary_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "project_dir", lambda: tmp_path)
    with pytest.raises(SetupError, match="irqlab-guest has not been built: run `make setup`"):
        guestimage.build(KERNEL)
