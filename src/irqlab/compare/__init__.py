# SPDX-License-Identifier: GPL-2.0-or-later
"""Two configurations side by side: what did a change cost? (docs/compare.md)."""
