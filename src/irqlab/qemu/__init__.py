# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU as a machine: command line, monitors, the tester's socket, snapshots."""
