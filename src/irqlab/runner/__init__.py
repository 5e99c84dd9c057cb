# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs methods and jobs side by side, with progress and a limit on trials at once."""
