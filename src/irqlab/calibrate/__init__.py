# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardware costs from a board's measured throughputs (docs/cost-model.md)."""
