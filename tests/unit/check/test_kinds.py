# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of faults."""

import pytest

from irqlab.check.kinds import kind

WARNING = """the DUT's kernel logged a problem: WARNING: CPU: 0 PID: 74 at kernel/irq/manage.c:1887 free_irq+0x1d3/0x340
    Trying to free already-free IRQ 24
    RIP: 0010:free_irq+0x1d3/0x340"""
NULL = """the DUT went away: the DUT's kernel panicked; the DUT's console:
  [    5.010767] BUG: kernel NULL pointer dereference, address: 0000000000000008
  [    5.010767] RIP: 0010:vmxnet3_rq_cleanup.part.0+0x26/0x6f"""
LIST = """the DUT went away: the DUT's kernel panicked; the DUT's console:
  [    5.010767] kernel BUG at lib/list_debug.c:56!
  [    5.010767] RIP: 0010:__list_del_entry_valid.cold+0x23/0x6f"""
PROTECTION = """the DUT's kernel panicked
  general protection fault, probably for non-canonical address 0x5f73757063003d6c: 0000 [#1]
  RIP: 0010:kfree+0x5f/0x140"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (WARNING, "WARNING at kernel/irq/manage.c free_irq()"),
        (NULL, "BUG: kernel NULL pointer dereference in vmxnet3_rq_cleanup()"),
        (LIST, "kernel BUG at lib/list_debug.c:#! in __list_del_entry_valid()"),
        (PROTECTION, "general protection fault in kfree()"),
        ("3 of 128 frames were lost\nmore", "# of # frames were lost"),
        ("no answer within 60000 ms; its kernel is in native_halt+0xb", "no answer within # ms"),
        ("the DUT's kernel panicked; the console:\n [ 8.4] RIP: 0010:napi_enable+0x42/0x50", "the kernel died in napi_enable()"),
        ("", ""),
    ],
)
def test_kinds_have_no_numbers(text: str, wanted: str) -> None:
    assert kind(text) == wanted


def test_the_same_fault_at_another_time_is_of_the_same_kind() -> None:
    assert kind(WARNING) == kind(WARNING.replace("1887", "1901").replace("74", "101"))
