# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m irqlab.setup [--downloads]``: downloads the DUT's kernel, its tools and the drivers' compiler, for ``make setup``.

Then it builds the DUT's image, unless only the downloads are asked for: they do not need the agent.
"""

import sys
from collections.abc import Sequence

from irqlab.setup import IrqlabError, guestimage, headers, kernel
from irqlab.setup.say import say


def main(arguments: Sequence[str]) -> None:
    """Downloads what is missing, builds the image, and prints what there is."""
    chosen = kernel.choose()
    if not guestimage.tools_dir(chosen.release).is_dir():
        say("fetching the DUT's tools (20 MB)")
    guestimage.tools(chosen.release)
    headers.of(chosen)
    if "--downloads" in arguments:
        return
    image = guestimage.build(chosen.release)
    print(f"  DUT: Linux {chosen.release} ({chosen.version}), image {image.sha256[:12]}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
