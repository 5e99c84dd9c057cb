# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Debian's archives are fetched from."""

import os

VARIABLE = "IRQLAB_MIRROR"
DEFAULT = "http://deb.debian.org"
PLACE = "{archive}"
HINT = f"{VARIABLE} names another mirror of Debian's; http_proxy and https_proxy name a proxy"


def of(archive: str) -> str:
    """The address of an archive, ``debian`` or ``debian-security``.

    ``$IRQLAB_MIRROR`` is a mirror that has both, or an address with ``{archive}`` in it, such as
    ``http://snapshot.debian.org/archive/{archive}/20261101T000000Z``.
    """
    mirror = os.environ.get(VARIABLE, DEFAULT).rstrip("/")
    return mirror.replace(PLACE, archive) if PLACE in mirror else f"{mirror}/{archive}"


def may_be_old() -> bool:
    """Whether it may hold a state of the archives that has run out, as snapshots do."""
    return VARIABLE in os.environ
