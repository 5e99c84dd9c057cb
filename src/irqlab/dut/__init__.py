# SPDX-License-Identifier: GPL-2.0-or-later
"""The device under test: agent, network set-up, counters, schemes and hardware costs."""
