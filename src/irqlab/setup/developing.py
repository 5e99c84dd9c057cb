# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab itself is built and checked with, in a Debian tree: Rust, shellcheck, Perl for checkpatch.

``python -m irqlab.setup.developing COMMAND...`` runs a command of the tree in the current directory; it can write to the
project's files and to cargo's directory. It is Debian 12's Rust, linked with Debian 12's C library, so what is built works with
every newer one and is the same on every host.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from irqlab.project import project_dir
from irqlab.setup import IrqlabError, debs
from irqlab.setup.paths import cache_dir
from irqlab.setup.roots import Root

RELEASE = "bookworm"
PACKAGES = (
    *("bash", "cargo-web", "coreutils", "cpio", "dash", "diffutils", "findutils", "gcc", "grep", "libc6-dev", "perl"),
    *("rust-web-clippy", "rustc-web", "rustfmt-web", "sed", "shellcheck", "zstd"),
)
PASSED_ON = ("CARGO_TERM_COLOR", "PROPTEST_CASES", "RUSTFLAGS", "RUST_BACKTRACE", "TERM")


def tree() -> Root:
    """The tree; downloaded unless in the cache. Raises SetupError."""
    return debs.tree("developing", PACKAGES, RELEASE, "fetching Rust and other tools to build and check irqlab (190 MB)")


def command(words: Sequence[str]) -> list[str]:
    """The words that run a command of the tree's in the current directory. Raises SetupError."""
    home = cache_dir() / "cargo"
    home.mkdir(parents=True, exist_ok=True)
    environment = {
        "CARGO_HOME": str(home),
        "HOME": str(home),
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
    }
    # The cache, too: tests make their scratch directories beside it.
    places = {str(path): path for path in (project_dir(), cache_dir(), Path("/sys"))}
    return tree().command(*words, writable=places, chdir=os.getcwd(), environment=environment, network=True)


if __name__ == "__main__":
    try:
        said = command(sys.argv[1:])
    except IrqlabError as error:
        sys.exit(f"irqlab: {error}")
    os.execv(said[0], said)
