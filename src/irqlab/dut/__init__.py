# SPDX-License-Identifier: GPL-2.0-or-later
"""The device under test: its agent, its network set-up, its counters, schemes and costs."""
