# SPDX-License-Identifier: GPL-2.0-or-later
"""Headings in the help of commands, for options and for commands."""

RARE = "Rarely needed"
"""Options that only --help-all shows."""
