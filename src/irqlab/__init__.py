# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab: a laboratory for the interrupt handling of Linux network drivers."""

__version__ = "0.1.0"
