# SPDX-License-Identifier: GPL-2.0-or-later
"""Robustness tests of drivers: fault injection, hotplug, scheme switches under overload, TAP scripts."""
