# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs QEMU: command line, monitors, the tester's socket, snapshots."""
