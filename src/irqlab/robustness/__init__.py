# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that try to break a driver: faults, hotplug, switches under overload, TAP scripts."""
