# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test bed is put together from: QEMU, a kernel, modules, network cards and the guest's image.

Nothing here starts a test bed; everything here can be asked for before one exists.
"""

from irqlab.errors import IrqlabError


class SetupError(IrqlabError):
    """A piece of the test bed is missing or does not fit; the message says how to get it."""


__all__ = ["IrqlabError", "SetupError"]
