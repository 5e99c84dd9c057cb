# SPDX-License-Identifier: GPL-2.0-or-later
"""Fits hardware costs to throughputs measured on a board (docs/use/costs.md)."""
