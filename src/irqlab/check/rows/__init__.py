# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the checklist: a module for each group, whose `ROWS` declare them."""
