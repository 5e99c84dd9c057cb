# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: app.py declares the commands; each is implemented in a module of its own."""
