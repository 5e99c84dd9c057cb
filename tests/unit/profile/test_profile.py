# SPDX-License-Identifier: GPL-2.0-or-later
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from irqlab.errors import IrqlabError
from irqlab.methods.profile import TESTS, Options
from irqlab.present import terminal
from irqlab.profile import diff, flamegraph, owners, tables, tree
from irqlab.profile.addresses import addresses
from irqlab.profile.symbols import NOWHERE, USER, Symbols
from tests.data import samples

KALLSYMS = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000100 D some_data
ffffffff81001000 t __pfx_ip_rcv
ffffffff81001010 T ip_rcv
ffffffff81001010 T __irqentry_text_start
ffffffff81002000 W memcpy
ffffffff81002000 T __memcpy
ffffffff81003000 T irq_entries_start
ffffffff81003800 T asm_common_interrupt
ffffffff81003900 T asm_sysvec_apic_timer_interrupt
ffffffff81003a00 T asm_exc_page_fault
ffffffff81003b00 T __do_softirq
ffffffff81003b00 T __softirqentry_text_start
ffffffff81003c00 t do_idle
ffffffff81003d00 T __switch_to_asm
ffffffff81004000 T _etext
ffffffffc0000000 t cp_rx_poll\t[8139cp]
ffffffffc0000100 t cp_interrupt\t[8139cp]
ffffffffc0004000 t mii_link_ok\t[mii]
"""
MODULES = """\
8139cp 4096 0 - Live 0xffffffffc0000000
mii 4096 1 8139cp, Live 0xffffffffc0004000
"""


@pytest.fixture
def symbols() -> Symbols:
    return Symbols.parse(KALLSYMS, MODULES)


@pytest.mark.parametrize(
    ("address", "name", "module"),
    [
        (0x400000, USER, None),
        (0xFFFF_8000_0000_0000, NOWHERE, None),
        (0xFFFFFFFF81000000, "startup_64", None),
        (0xFFFFFFFF81001010, "ip_rcv", None),
        (0xFFFFFFFF81001FFF, "ip_rcv", None),
        (0xFFFFFFFF81002000, "memcpy", None),
        (0xFFFFFFFF81003B04, "__do_softirq", None),
        (0xFFFFFFFFC00000FF, "cp_rx_poll", "8139cp"),
        (0xFFFFFFFFC0000FFF, "cp_interrupt", "8139cp"),
        (0xFFFFFFFFC0001000, NOWHERE, None),
        (0xFFFFFFFFC0004000, "mii_link_ok", "mii"),
        (0xFFFFFFFFC0005000, NOWHERE, None),
    ],
)
def test_addresses_have_names(symbols, address, name, module):
    found = symbols.at(address)
    assert (found.name, found.module) == (name, module)


def test_a_module_whose_end_lies_in_another_has_no_end():
    modules = "8139cp 20480 0 - Live 0xffffffffc0000000\n"
    assert Symbols.parse(KALLSYMS, modules).at(0xFFFFFFFFC0005000).name == "mii_link_ok"


def test_the_tester_is_told_where_contexts_change(symbols):
    told = addresses(symbols)
    assert told["functions"] == sorted(set(told["functions"]))
    assert told["softirq"] == [0xFFFFFFFF81003B00]
    assert told["interrupt"] == [0xFFFFFFFF81003800, 0xFFFFFFFF81003900]
    for mark, marked in told.items():
        assert set(marked) <= set(told["functions"]), mark


def test_newer_kernels_run_softirqs_in_another_function():
    told = addresses(Symbols.parse(KALLSYMS + "ffffffff81003b80 t handle_softirqs\n"))
    assert told["softirq"] == [0xFFFFFFFF81003B80]


def test_a_kernel_without_the_functions_is_refused():
    with pytest.raises(IrqlabError, match="switch_to_asm"):
        addresses(Symbols.parse(KALLSYMS.replace("__switch_to_asm", "x")))


@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("cp_rx_poll", "8139cp", "driver"),
        ("mii_link_ok", "mii", "driver"),
        ("irqmod_poll", "irqmod", "engine"),
        ("cp_rx_poll", None, "other"),
        ("fq_codel_dequeue", "sch_fq_codel", "qdisc"),
        ("something", "unknown_module", "other"),
        ("__netif_receive_skb_core.constprop.0", None, "IP stack"),
        ("ip_forward", None, "IP stack"),
        ("udp4_gro_receive", None, "IP stack"),
        ("ip_fast_csum", None, "copy"),
        ("csum_partial", None, "copy"),
        ("clear_page_rep", None, "allocator"),
        ("__napi_alloc_skb", None, "allocator"),
        ("kmem_cache_free_bulk.part.0", None, "allocator"),
        ("sch_direct_xmit", None, "qdisc"),
        ("dql_completed", None, "qdisc"),
        ("handle_softirqs", None, "interrupts"),
        ("ioapic_ack_level", None, "interrupts"),
        ("asm_sysvec_apic_timer_interrupt", None, "scheduler, timers"),
        ("asm_sysvec_irq_work", None, "interrupts"),
        ("__default_send_IPI_dest_field", None, "interrupts"),
        ("task_tick_fair", None, "scheduler, timers"),
        ("hrtimer_interrupt", None, "scheduler, timers"),
        ("_raw_spin_lock_irqsave", None, "primitives"),
        ("__list_add_valid", None, "primitives"),
        ("dma_map_page_attrs", None, "DMA mapping"),
        ("blake2s_compress_generic", None, "random numbers"),
        ("cache_from_obj", None, "allocator"),
        ("ioread8", None, "primitives"),
        (USER, None, "user space"),
        ("quite_another", None, "other"),
    ],
)
def test_owners(name, module, expected):
    assert owners.owner(name, module, ["mii", "8139cp"]) == expected
    assert expected in owners.OWNERS


def test_a_modules_name_may_have_dashes():
    assert owners.owner("f", "my_driver", ["my-driver"]) == "driver"


ANSWER = {
    "instructions": 1000,
    "lost": 0,
    "nodes": [
        [-1, 0xFFFFFFFF81003000, "hardirq", 20, 10],
        [0, 0xFFFFFFFFC0000100, "hardirq", 300, 10],
        [-1, 0xFFFFFFFF81003900, "hardirq", 30, 2],
        [2, 0xFFFFFFFF81003B00, "softirq", 50, 3],
        [3, 0xFFFFFFFFC0000000, "softirq", 400, 3],
        [4, 0xFFFFFFFF81002000, "softirq", 60, 5],
        [1, 0xFFFFFFFF81002000, "hardirq", 140, 7],
    ],
}


def test_a_tree_becomes_functions_owners_and_stacks(symbols):
    section = tree.section(ANSWER, symbols, ["8139cp"])
    assert [(p["function"], p["context"], p["instructions"]) for p in section["samples"]] == [
        ("cp_rx_poll", "softirq", 400),
        ("cp_interrupt", "hardirq", 300),
        ("memcpy", "hardirq", 140),
        ("memcpy", "softirq", 60),
        ("__do_softirq", "softirq", 50),
        ("asm_sysvec_apic_timer_interrupt", "hardirq", 30),
        ("irq_entries_start", "hardirq", 20),
    ]
    assert (section["interrupts"], section["softirqs"]) == (12, 3)
    by_owner = tree.totals(section["samples"], "owner")
    assert by_owner == {"driver": 700, "copy": 200, "interrupts": 70, "scheduler, timers": 30}
    assert list(by_owner) == ["driver", "copy", "interrupts", "scheduler, timers"]
    assert tree.totals(section["samples"], "context") == {"softirq": 510, "hardirq": 490}
    stacks = list(tree.stacks({"samples": section["samples"], "summary": {"stacks": section["stacks"]}}))
    assert sum(stack.instructions for stack in stacks) == 1000
    assert stacks[5].functions == ("asm_sysvec_apic_timer_interrupt", "__do_softirq", "cp_rx_poll", "memcpy")


def sample(driver: str = "sample8139") -> dict:
    return next(r for r in samples.sample()["measured"]["results"] if r["method"] == "profile" and r["driver"] == driver)


def text_of(*printed) -> str:
    console = Console(width=200, file=io.StringIO())
    for table in printed:
        terminal.show(terminal.rich_table(table), console)
    return console.file.getvalue().replace("\u202f", " ")


def test_tables_say_the_sum_and_its_residual():
    row = sample()
    text = text_of(tables.functions_table(row, top=2), *tables.totals_tables(row))
    assert "sample_poll [sample8139]" in text
    assert "6 more" in text
    assert "IP stack" in text
    assert "hard IRQ" in text
    summary = tables.summary(row).replace("\u202f", " ")
    assert "4 507.0 instructions per frame" in summary
    assert "residual 0" in summary
    assert "lost" not in summary
    row["summary"]["stacks_lost"] = 3
    assert "lost 3 times" in tables.summary(row)


def test_a_table_of_an_iperf3_test_says_so():
    row = sample()
    row["summary"] |= {"per": "received", "iperf": {"name": "TCP Rx", "bps": 93.7e6}}
    assert tables.title(row).endswith("iperf3 TCP Rx, 93.7 Mbit/s received")
    assert "instructions per frame (full-size, received)" in tables.summary(row)


def test_a_difference_is_sorted_by_its_size():
    before, after = sample(), sample()
    after["summary"]["frames"] = before["summary"]["frames"] // 2  # everything costs twice as much
    after["samples"] = [{**p, "instructions": p["instructions"] // 2} for p in after["samples"]]
    next(p for p in after["samples"] if p["function"] == "sample_poll")["instructions"] += 50 * 5000
    next(p for p in after["samples"] if p["function"] == "kfree_skb")["instructions"] = 0
    after["samples"].append({**after["samples"][0], "function": "new", "instructions": 5 * 5000})
    changes = diff.changes(before, after)
    assert [(c.name, c.change) for c in changes[:4]] == [
        ("kfree_skb", -60),
        ("sample_poll", 50),
        ("new", 5),
        ("handle_softirqs", 0),
    ]
    assert (changes[0].before, changes[0].after) == (120, 60)
    assert {c.name: c.change for c in diff.changes(before, after, "context")}["softirq"] == pytest.approx(50 + 5, abs=60)
    text = text_of(*tables.diff_tables(before, after))
    assert "-60.0" in text
    assert "+50.0" in text
    assert text.count("all ") >= 3


def test_what_a_profile_is_compared_with():
    mine, other = sample(), sample("sample8255x")
    assert diff.counterpart(mine, [other, mine]) == mine
    assert diff.counterpart(mine, [other]) == other
    assert diff.counterpart({**mine, "frame_bytes": 512}, [other, mine]) is None
    received = {**mine, "summary": {**mine["summary"], "iperf": {"name": "TCP Rx"}}}
    assert diff.counterpart(received, [mine]) is None
    assert diff.counterpart(received, [mine, received]) == received


def test_a_file_without_a_profile_is_refused(tmp_path):
    with pytest.raises(IrqlabError, match="holds no profile"):
        Options(diff=samples.file(tmp_path, "throughput"))
    assert [row["driver"] for row in Options(diff=samples.file(tmp_path)).before()] == ["sample8139", "sample8255x"]


def test_a_flame_graph_is_as_wide_as_its_instructions():
    row = sample()
    svg = flamegraph.file(row)
    assert svg == flamegraph.file(json.loads(json.dumps(row)))
    boxes = {}
    for rect in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"):
        title = rect.find("{http://www.w3.org/2000/svg}title")
        if title is not None:
            boxes[(title.text or "").partition(":")[0]] = rect
    total = 4507
    poll, stack = boxes["sample_poll [sample8139]"], boxes["ip_rcv"]
    assert float(poll.get("width")) == pytest.approx(flamegraph.WIDTH * (total - 828 + 460) / total, abs=1)
    assert float(stack.get("width")) == pytest.approx(flamegraph.WIDTH * (total - 828) / total, abs=1)
    assert float(stack.get("y")) == float(poll.get("y")) - flamegraph.ROW
    assert float(boxes["all"].get("width")) == pytest.approx(flamegraph.WIDTH, abs=1)
    assert "irq_entries_start" in boxes


def test_a_flame_graph_shows_names_as_text():
    row = sample()
    row["samples"][0]["function"] = "<script>\x1b"
    svg = flamegraph.svg(row)
    assert "<script" not in svg
    assert "\x1b" not in svg
    ElementTree.fromstring(svg)


@pytest.mark.parametrize(
    ("text", "rate", "expected"), [(None, None, 2.0), ("0.5x", None, 0.5), ("3", None, 3.0), (None, 1e4, None)]
)
def test_loads(text, rate, expected):
    assert Options(load=text, rate=rate).share() == expected


@pytest.mark.parametrize(
    ("text", "rate"), [("2x", 5.0), ("x", None), ("0", None), ("nan", None), ("1000x", None), (None, 0.0), (None, 1e9)]
)
def test_invalid_loads_are_rejected(text, rate):
    with pytest.raises(IrqlabError, match=r"--load|--rate"):
        Options(load=text, rate=rate)


def test_iperf3_tests():
    chosen = TESTS[Options(iperf="udp-rx").iperf or ""]
    assert (chosen.name, chosen.seconds) == ("UDP Rx", 1)


@pytest.mark.parametrize(
    ("name", "load", "why"), [("tcp", None, "allowed are tcp-rx, tcp-tx, udp-rx"), ("tcp-rx", "2x", "--load")]
)
def test_invalid_iperf3_tests_are_rejected(name, load, why):
    with pytest.raises(IrqlabError, match=why):
        Options(iperf=name, load=load)


def test_functions_are_summed_over_callers_and_sorted(symbols):
    rcv, poll, other = 0xFFFFFFFF81001010, 0xFFFFFFFFC0000000, 0xFFFFFFFFC0004000
    nodes = [
        (-1, poll, "softirq", 5, 1), (0, rcv, "softirq", 10, 2), (-1, rcv, "softirq", 30, 3), (-1, rcv, "process", 5, 1),
        (-1, other, "process", 5, 7), (-1, 0xFFFFFFFF81003B00, "softirq", 0, 4), (5, 0xFFFFFFFF81003B00, "softirq", 0, 5),
    ]  # fmt: skip
    found = tree.section({"nodes": nodes}, symbols, ["8139cp"])
    assert [(p["function"], p["module"], p["context"], p["instructions"], p["entries"]) for p in found["samples"]] == [
        ("ip_rcv", None, "softirq", 40, 5), ("cp_rx_poll", "8139cp", "softirq", 5, 1), ("ip_rcv", None, "process", 5, 1),
        ("mii_link_ok", "mii", "process", 5, 7), ("__do_softirq", None, "softirq", 0, 9),
    ]  # fmt: skip
    assert found["softirqs"] == 9
    assert tree.totals(found["samples"], "owner") == {"IP stack": 45, "driver": 5, "other": 5, "interrupts": 0}
    samples = [{"c": name, "instructions": count} for name, count in (("b", 1), ("a", 1), ("c", 2))]
    assert list(tree.totals(samples, "c").items()) == [("c", 2), ("a", 1), ("b", 1)]


def test_functions_of_one_name_are_sorted_by_module():
    text = KALLSYMS + "".join(f"ffffffffc000{n}000 t same\t[{module}]\n" for n, module in ((2, "z"), (3, "a")))
    nodes = [(-1, 0xFFFFFFFFC0002000, "process", 1, 1), (-1, 0xFFFFFFFFC0003000, "process", 1, 1)]
    found = tree.section({"nodes": nodes}, Symbols.parse(text), [])
    assert [p["module"] for p in found["samples"]] == ["a", "z"]


def test_stacks_have_their_callers_and_the_innermost_context():
    points = [{"function": name, "context": context} for name, context in (("outer", "hardirq"), ("inner", "softirq"))]
    row = {"samples": points, "summary": {"stacks": [[-1, 0, 0, 1], [0, 1, 5, 1], [1, 0, 2, 1]]}}
    assert list(tree.stacks(row)) == [
        tree.Stack(("outer", "inner"), "softirq", 5), tree.Stack(("outer", "inner", "outer"), "hardirq", 2),
    ]  # fmt: skip
