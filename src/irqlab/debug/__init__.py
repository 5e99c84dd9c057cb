# SPDX-License-Identifier: GPL-2.0-or-later
"""A DUT under a debugger: any instant of a trial, forwards and backwards."""
