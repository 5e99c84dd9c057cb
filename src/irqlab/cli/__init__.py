# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: app.py names the commands, one module each has what they do."""
