# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration values: the user's choices and the offered traffic. No module here does I/O, except for package data."""
