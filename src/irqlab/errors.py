# SPDX-License-Identifier: GPL-2.0-or-later
"""The one kind of exception that is meant for the user."""


class IrqlabError(Exception):
    """Something the user can mend; the message says what, in words. The CLI prints it and exits 2."""
