# SPDX-License-Identifier: GPL-2.0-or-later
"""Real ports in place of QEMU: the tester on two interfaces of this host, and a device under test of any kind between them."""
