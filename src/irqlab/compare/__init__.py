# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares two configurations side by side (docs/use/compare.md)."""
