# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a testbed: QEMU, a kernel, modules, NIC models and the guest image.

Nothing in this package starts a DUT.
"""

from irqlab.errors import IrqlabError


class SetupError(IrqlabError):
    """A part of the testbed is missing or unsuitable; the message says how to get it."""


__all__ = ["IrqlabError", "SetupError"]
