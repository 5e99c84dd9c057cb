# SPDX-License-Identifier: GPL-2.0-or-later
# Read by GDB's own Python, not by the lab: commands for a session of `irqlab debug`.

import gdb


def _say_where():
    try:
        gdb.execute("frame")
    except gdb.error as error:
        print(error)


class When(gdb.Command):
    """Show the instant: ns after the start of the trial's window, and instructions executed since power-on."""

    def __init__(self):
        super().__init__("when", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        gdb.execute("monitor when")


class Goto(gdb.Command):
    """Go to an instant of the trial, forwards or backwards: goto NS, in ns after the start of its window."""

    def __init__(self):
        super().__init__("goto", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        gdb.execute(f"monitor goto {argument}")
        gdb.execute("maintenance flush register-cache")
        gdb.execute("maintenance flush dcache")
        _say_where()


class LastWrite(gdb.Command):
    """Go back to the last instruction that changed a variable or an address: last-write EXPRESSION."""

    def __init__(self):
        super().__init__("last-write", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        point = gdb.Breakpoint(argument, gdb.BP_WATCHPOINT, gdb.WP_WRITE, internal=False)
        try:
            gdb.execute("reverse-continue")
        finally:
            point.delete()


When()
Goto()
LastWrite()
