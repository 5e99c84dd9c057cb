# SPDX-License-Identifier: GPL-2.0-or-later
"""The first stage: a Debian tree with apt in it, made with Python alone, whatever the host is.

The archive's index is checked with the signatures of Debian's keys (``keys/``), the list of packages with the index's hash, each
package with the list's. Packages are unpacked; nothing of them is executed. From then on that tree's apt fetches everything else.
"""

import hashlib
import lzma
import re
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pysequoia
from debian.deb822 import Packages
from debian.debfile import DebFile

from irqlab.setup import SetupError, mirror

SUITE = "bookworm"
KEYS = Path(__file__).parent / "keys"
"""Debian's keys for SUITE, of which one must have signed."""
LIST = "main/binary-amd64/Packages.xz"
ATTEMPTS = 3
TIMEOUT_S = 60
CONNECTIONS = 4


def make(tree: Path, packages: Sequence[str]) -> None:
    """Unpacks packages and what they depend on into an empty directory. Raises SetupError."""
    index = _index()
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".new-") as scratch, ThreadPoolExecutor(CONNECTIONS) as pool:
        fetching = [pool.submit(_package, index[name], Path(scratch)) for name in closure(packages, index)]
        for one in fetching:
            _unpack(one.result(), tree)


def closure(packages: Sequence[str], index: Mapping[str, Packages]) -> list[str]:
    """The packages and all that they depend on; of alternatives the first that there is. Raises SetupError."""
    providers: dict[str, str] = {}
    for name, package in index.items():
        for names in _related(package, "provides"):
            providers.setdefault(names[0], name)
    found: dict[str, None] = {}
    waiting = list(packages)
    while waiting:
        wanted = waiting.pop(0)
        name = wanted if wanted in index else providers.get(wanted, "")
        if not name:
            raise SetupError(f"Debian {SUITE} has no package {wanted}")
        if name not in found:
            found[name] = None
            for names in (*_related(index[name], "pre-depends"), *_related(index[name], "depends")):
                waiting.append(next((one for one in names if one in index or one in providers), names[0]))
    return sorted(found)


def _related(package: Packages, how: str) -> list[list[str]]:
    """The names in a field such as Depends; each relation has alternatives."""
    relations: Any = package.relations[how]
    return [[str(one["name"]) for one in relation] for relation in relations]


def verified(signed: bytes, keys: Path) -> str:
    """The text of a clear-signed file that one of the keys in a directory has signed. Raises SetupError."""
    known = [cert for path in sorted(keys.glob("*.gpg")) for cert in pysequoia.Cert.split_bytes(path.read_bytes())]
    try:
        read = pysequoia.verify(bytes=signed, store=lambda _: known)
    except Exception as error:  # the library has no class of its own
        raise SetupError(
            f"{mirror.of('debian')}: Debian's signature of {SUITE}/InRelease is wrong or missing ({error})"
        ) from None
    if not read.valid_sigs or read.bytes is None:
        raise SetupError(f"{mirror.of('debian')}: Debian has not signed {SUITE}/InRelease")
    return bytes(read.bytes).decode()


def _index() -> dict[str, Packages]:
    """The packages of SUITE's main archive."""
    place = f"dists/{SUITE}"
    release = verified(_fetched(f"{place}/InRelease"), KEYS)
    sums = re.search(rf"^ ([0-9a-f]{{64}}) +\d+ {re.escape(LIST)}$", release, re.MULTILINE)
    if sums is None:
        raise SetupError(f"{mirror.of('debian')}: {place}/InRelease names no {LIST}")
    text = lzma.decompress(_checked(f"{place}/{LIST}", sums[1])).decode()
    return {package["Package"]: package for package in Packages.iter_paragraphs(text.splitlines(), use_apt_pkg=False)}


def _package(package: Packages, into: Path) -> Path:
    path = into / Path(package["Filename"]).name
    path.write_bytes(_checked(package["Filename"], package["SHA256"]))
    return path


def _checked(path: str, sha256: str) -> bytes:
    """A file of the mirror with this hash. Raises SetupError."""
    data = _fetched(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SetupError(
            f"{mirror.of('debian')}/{path} is not what Debian has signed: broken, or the mirror is being updated; try again"
        )
    return data


def _fetched(path: str) -> bytes:
    url = f"{mirror.of('debian')}/{path}"
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise SetupError(f"{url}: {error.code} {error.reason}. {mirror.HINT}") from None
        except (OSError, ValueError) as error:
            if attempt == ATTEMPTS:
                raise SetupError(f"cannot fetch {url}: {getattr(error, 'reason', error)}. {mirror.HINT}") from None
    raise AssertionError


def _unpack(deb: Path, into: Path) -> None:
    with DebFile(filename=str(deb)) as package:
        package.data.tgz().extractall(into, **_trusting())
    deb.unlink()


def _trusting() -> dict[str, Any]:
    """Arguments for extraction: links may be absolute (they mean the tree), paths may not; Python 3.11.4 and later know them."""
    return {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
