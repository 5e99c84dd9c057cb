# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m irqlab.setup PACKAGE``: downloads the DUT's kernel package and tools, for ``make setup``."""

import sys

from irqlab.setup import IrqlabError, guestimage, kernel


def main(package: str | None) -> None:
    """Downloads what is missing, and prints it."""
    if package is not None and kernel.present(package) is None:
        print(f"  fetching the DUT's kernel, {package} (70 to 110 MB)", flush=True)
    chosen = kernel.choose(package) if package is not None else kernel.resolve()
    if not guestimage.tools_dir(chosen.release).is_dir():
        print("  fetching the DUT's tools (20 MB)", flush=True)
    image = guestimage.build(chosen.release)
    print(f"  DUT: Linux {chosen.release} ({chosen.version}), image {image.sha256[:12]}")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
