# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m irqlab.setup [--host | --downloads]``, for ``make setup``: fetches what measurements need, builds the DUT's image.

``--host`` only checks whether this host can run what is fetched; ``--downloads`` leaves out the image, which needs the agent.
"""

import sys
from collections.abc import Sequence

from irqlab.setup import IrqlabError, guestimage, headers, host, kernel, network, qemu
from irqlab.setup.say import say


def main(arguments: Sequence[str]) -> None:
    """Downloads what is missing, builds the image, and prints what there is."""
    if "--host" in arguments:
        host.check_namespaces()
        return
    chosen = kernel.choose()
    found = qemu.find()
    if not guestimage.tools_dir(chosen.release).is_dir():
        say("fetching the DUT's tools (20 MB)")
    guestimage.tools(chosen.release)
    headers.of(chosen)
    network.programs()  # `irqlab live` is tried in a namespace without a network
    if "--downloads" in arguments:
        return
    image = guestimage.build(chosen.release)
    print(f"  DUT: Linux {chosen.release} ({chosen.version}), image {image.sha256[:12]}, {found.version_text}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
