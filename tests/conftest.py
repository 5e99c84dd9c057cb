# SPDX-License-Identifier: GPL-2.0-or-later
"""For all tests."""

pytest_plugins = ["tests.leftovers"]
