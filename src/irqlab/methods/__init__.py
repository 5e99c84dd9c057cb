# SPDX-License-Identifier: GPL-2.0-or-later
"""Test methods after RFC 1242 and RFC 2544, one module each: `run(stand, plan) -> MethodResult`."""
