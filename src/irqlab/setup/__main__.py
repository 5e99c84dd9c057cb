# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m irqlab.setup``: downloads the DUT's kernel, its tools and the drivers' compiler, for ``make setup``."""

import sys

from irqlab.setup import IrqlabError, guestimage, headers, kernel
from irqlab.setup.say import say


def main() -> None:
    """Downloads what is missing, and prints it."""
    chosen = kernel.choose()
    if not guestimage.tools_dir(chosen.release).is_dir():
        say("fetching the DUT's tools (20 MB)")
    image = guestimage.build(chosen.release)
    headers.of(chosen)
    print(f"  DUT: Linux {chosen.release} ({chosen.version}), image {image.sha256[:12]}")


if __name__ == "__main__":
    try:
        main()
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
