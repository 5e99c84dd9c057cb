# SPDX-License-Identifier: GPL-2.0-or-later
"""Values: what a user chooses and what traffic is offered. No module here reads or writes anything but its own data."""
