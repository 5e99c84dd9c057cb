# SPDX-License-Identifier: GPL-2.0-or-later
"""The first stage, from a mirror made here: packages, lists, and an index signed with a key made here."""

import hashlib
import io
import lzma
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pysequoia
import pytest
from pysequoia import SignatureMode, Tsk

from irqlab.setup import SetupError, first

LIST = Path("debian/dists") / first.SUITE / first.LIST
INDEX = Path("debian/dists") / first.SUITE / "InRelease"


def tar(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:xz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("./lib64/ld.so")
        link.type, link.linkname = tarfile.SYMTYPE, "/lib/ld.so"
        archive.addfile(link)
    return written.getvalue()


def deb(name: str) -> bytes:
    members = {"debian-binary": b"2.0\n", "control.tar.xz": tar({"control": f"Package: {name}\n".encode()})}
    members["data.tar.xz"] = tar({f"usr/share/{name}": name.encode()})
    written = b"!<arch>\n"
    for member, content in members.items():
        written += (
            f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        )
    return written


@dataclass
class Mirror:
    """A mirror in a directory, and its key."""

    home: Path
    key: Tsk

    def write(self, packages: dict[str, str], signer: Tsk | None = None) -> None:
        """Packages: name -> further fields."""
        stanzas = []
        for name, fields in packages.items():
            content = deb(name)
            path = self.home / "debian/pool" / f"{name}_1_amd64.deb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            sha256 = hashlib.sha256(content).hexdigest()
            stanzas.append(f"Package: {name}\nVersion: 1\n{fields}Filename: pool/{path.name}\nSHA256: {sha256}\n")
        packed = lzma.compress("\n".join(stanzas).encode())
        (self.home / LIST).parent.mkdir(parents=True, exist_ok=True)
        (self.home / LIST).write_bytes(packed)
        text = f"Suite: stable\nSHA256:\n {hashlib.sha256(packed).hexdigest()} {len(packed)} {first.LIST}\n"
        signed = pysequoia.sign((signer or self.key).signer(), text.encode(), mode=SignatureMode.CLEAR)
        (self.home / INDEX).write_bytes(signed)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    key = Tsk.generate("Test <test@example.org>")
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "test.gpg").write_bytes(bytes(key.extract_certificate()))
    monkeypatch.setattr(first, "KEYS", keys)
    monkeypatch.setenv("IRQLAB_MIRROR", f"file://{tmp_path}/mirror")
    made = Mirror(tmp_path / "mirror", key)
    made.write({"apt": "Depends: libc (>= 2), awk | gawk\n", "libc": "", "mawk": "Provides: awk\n", "other": ""})
    return made


def tree(place: Path) -> Path:
    made = place / "tree"
    made.mkdir()
    return made


def test_packages_are_unpacked_with_what_they_depend_on(mirror: Mirror, tmp_path: Path) -> None:
    made = tree(tmp_path)
    first.make(made, ("apt",))
    assert sorted(path.name for path in (made / "usr/share").iterdir()) == ["apt", "libc", "mawk"]
    assert str((made / "lib64/ld.so").readlink()) == "/lib/ld.so"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys", "mirror", "tree"]


def test_an_index_signed_by_somebody_else_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    mirror.write({"apt": ""}, signer=Tsk.generate("Somebody <else@example.org>"))
    with pytest.raises(SetupError, match=r"file://.*signature of bookworm/InRelease is wrong or missing"):
        first.make(tree(tmp_path), ("apt",))


def test_an_index_that_was_changed_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    index = mirror.home / INDEX
    index.write_bytes(index.read_bytes().replace(b"stable", b"broken"))
    with pytest.raises(SetupError, match="is wrong or missing"):
        first.make(tree(tmp_path), ("apt",))


@pytest.mark.parametrize("name", ["dists/bookworm/main/binary-amd64/Packages.xz", "pool/libc_1_amd64.deb"])
def test_a_broken_file_is_named(mirror: Mirror, tmp_path: Path, name: str) -> None:
    path = mirror.home / "debian" / name
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SetupError, match=f"{name} is not what Debian has signed"):
        first.make(tree(tmp_path), ("apt",))


def test_a_missing_file_and_a_missing_package_are_named(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="Debian bookworm has no package absent"):
        first.make(tree(tmp_path), ("absent",))
    (mirror.home / "debian/pool/libc_1_amd64.deb").unlink()
    with pytest.raises(SetupError, match=r"cannot fetch .*libc_1_amd64.deb: .*No such file.*IRQLAB_MIRROR"):
        first.make(tmp_path / "tree", ("apt",))


def test_debians_keys_are_there() -> None:
    assert len(list(first.KEYS.glob("*.gpg"))) == 2
