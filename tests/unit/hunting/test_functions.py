# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hunt learns from the DUT before the first trial: addresses of functions, and where the driver's code is."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.hunting.code import code_of
from irqlab.hunting.functions import ALLOCATORS, Functions, functions, used
from tests.unit.fake_hunted import (
    ALLOCATED,
    EXECUTED,
    FREED_AT,
    HIGH_XMIT,
    INIT_NET,
    LOW_XMIT,
    HuntedTestbed,
    elf,
    module,
    types,
)


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HuntedTestbed:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    return HuntedTestbed(tmp_path)


def test_functions_are_found_by_name_in_the_kernels_table(testbed):
    found = functions(testbed)
    assert found.by_name == {"skb_release_head_state": FREED_AT, "init_net": INIT_NET}
    assert found.address("skb_release_head_state") == FREED_AT
    (words,) = testbed.dut.of("run")
    assert (words[:2], words[-1]) == (("grep", "-F"), "/proc/kallsyms")


def test_of_several_functions_with_one_name_the_first_counts(testbed):
    testbed.dut.answers["run"] = f"{INIT_NET:x} B init_net\nffffffff81000010 t poll\nffffffff81000020 t poll\t[paper]\n"
    assert functions(testbed).address("poll") == 0xFFFFFFFF81000010


def test_a_function_that_the_kernel_does_not_have_is_refused(testbed):
    with pytest.raises(IrqlabError, match=r"^the DUT's kernel has no function vanished$"):
        functions(testbed).address("vanished")


def test_the_functions_that_transmit_are_those_of_the_tested_interfaces(testbed):
    assert functions(testbed).transmit == (LOW_XMIT, HIGH_XMIT)


def test_interfaces_of_one_driver_have_one_function_that_transmits(testbed):
    testbed.devices["eth1"] = testbed.devices["eth0"]
    assert functions(testbed).transmit == (HIGH_XMIT,)


def test_the_dut_is_asked_once(testbed):
    first = functions(testbed)
    assert functions(testbed) == first
    assert testbed.opened == 2, "for the table, which profiles read, too, and for the interfaces"


def test_another_snapshot_is_asked_anew(testbed, tmp_path):
    functions(testbed)
    (tmp_path / "other").mkdir()
    testbed.prepared.state = tmp_path / "other" / "state"
    functions(testbed)
    assert testbed.opened == 4


def test_a_damaged_file_beside_the_snapshot_is_made_again(testbed, tmp_path):
    first = functions(testbed)
    (kept,) = tmp_path.glob("transmit-*.json")
    kept.write_text("[")
    assert functions(testbed) == first
    assert testbed.opened == 3
    kept.write_text(kept.read_text())
    functions(testbed)
    assert testbed.opened == 3


def test_a_kernel_without_types_is_refused(testbed):
    testbed.vmlinux.write_bytes(elf((".text", EXECUTED, b"\x90")))
    with pytest.raises(IrqlabError, match=r"^--what transmit: the DUT's kernel has no BTF"):
        functions(testbed)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("dev_base_head", "net.dev_base_head"),
        ("dev_list", "net_device.dev_list"),
        ("name", "net_device.name"),
        ("netdev_ops", "net_device.netdev_ops"),
        ("ndo_start_xmit", "net_device_ops.ndo_start_xmit"),
    ],
)
def test_a_kernel_without_a_member_is_refused(testbed, missing, said):
    testbed.vmlinux.write_bytes(elf((".BTF", 0, types(without=missing))))
    with pytest.raises(IrqlabError, match=f"^--what transmit: the DUT's kernel has no {said}$"):
        functions(testbed)


def test_the_allocators_of_the_driver_and_of_what_it_needs_are_used(tmp_path):
    needed, driver = module("mii", b"\0vzalloc\0"), module("paper", b"\0kfree\0__kmalloc\0build_skb\0dma_pool_alloc\0")
    known = Functions({"vzalloc": 4, "build_skb": 3, "__kmalloc": 2, "dma_alloc_attrs": 1}, ())
    assert list(used(HuntedTestbed(tmp_path, needed, driver), known).items()) == [
        ("__kmalloc", 2),
        ("build_skb", 3),
        ("vzalloc", 4),
    ]


def test_a_part_of_a_name_is_no_allocator(tmp_path):
    driver = module("paper", b"\0napi_build_skb_old\0my_vzalloc\0")
    assert used(HuntedTestbed(tmp_path, driver), Functions(dict.fromkeys(ALLOCATORS, 1), ())) == {}


def test_the_drivers_code_is_its_sections_with_instructions_in_the_order_of_addresses(testbed):
    engine = module("irqmod", elf((".text", EXECUTED, bytes(16)), (".text.unlikely", EXECUTED, b"")))
    driver = module(
        "irqmod_paper", elf((".text", EXECUTED, bytes(32)), (".data", ALLOCATED, bytes(8)), (".exit.text", EXECUTED, b"\xc3"))
    )
    other = module("mii", elf((".text", EXECUTED, bytes(64))))
    testbed.modules = [other, engine, driver]
    testbed.sections = {
        "mii": {".text": 0x1000},
        "irqmod": {".text": 0x4000, ".text.unlikely": 0x5000},
        "irqmod_paper": {".text": 0x2000, ".data": 0x3000},
    }
    assert code_of(testbed) == ((0x2000, 0x2020), (0x4000, 0x4010))


def test_code_that_the_dut_does_not_place_is_refused(testbed):
    testbed.modules = [module("paper", elf((".text", EXECUTED, bytes(16))))]
    with pytest.raises(IrqlabError, match="the DUT does not say where the code of paper is"):
        code_of(testbed)
