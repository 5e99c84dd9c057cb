# SPDX-License-Identifier: GPL-2.0-or-later
"""Package data: published measurements and hardware."""
