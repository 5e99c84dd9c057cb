# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of memory: types from BTF, objects by address, sums per frame, tables and picture."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.errors import IrqlabError
from irqlab.methods.profile import Options
from irqlab.profile import btf, dwarf, line_map, line_tables, lines
from irqlab.profile.btf import Btf
from irqlab.profile.guest_memory import PAGE, GuestMemory
from irqlab.profile.kernel_layout import VMALLOC, Area, Known, Variable
from irqlab.profile.kernel_objects import Objects, Place
from irqlab.profile.symbols import Symbols
from irqlab.setup.drivers import DEBUG
from tests.unit.fake_kernel import U32, U64, Ram, Types, descriptor, page, static

INIT_NET, ARP_TBL, CACHES, INIT_TASK, COUNTER = (static(n) for n in (0x1000, 0x2000, 0x3000, 0x4000, 0x5000))
CPU_OFFSETS, CPU_BASE, CPU_SIZE = static(0x6000), static(0x6008), static(0x6010)
CPU = page(64)
SKB_CACHE, KMALLOC, DEVICE_SLAB, SKB_SLAB, KMALLOC_SLAB, RING, BUFFERS = (page(n) for n in (1, 2, 4, 8, 16, 20, 24))
STACK = VMALLOC[0] + 0x10_0000


def _types() -> tuple[Btf, Btf]:
    """The kernel's, and the driver's."""
    kernel = Types()
    links = kernel.struct("list_head", 16, [("next", U64, 0), ("prev", U64, 8)])
    kernel.struct("page", 64, [("flags", U64, 0), ("lru", links, 8)])
    kernel.struct("slab", 64, [("slab_cache", U64, 8)])
    kernel.struct(
        "kmem_cache",
        64,
        [("size", U32, 8), ("oo", U32, 12), ("refcount", U32, 16), ("name", U64, 24), ("list", links, 32)],
    )
    kernel.struct("net", 64, [("dev_base_head", links, 16)])
    device = kernel.struct("net_device", 120, [("name", kernel.array(U64, 2), 0), ("dev_list", links, 16), ("mtu", U32, 64)])
    kernel.struct("sk_buff", 128, [("len", U32, 0), ("end", U32, 64), ("head", U64, 72)])
    kernel.struct("skb_shared_info", 64, [("nr_frags", U32, 0), ("dataref", U32, 32)])
    kernel.struct("task_struct", 64, [("stack", U64, 0), ("tasks", links, 8), ("comm", kernel.array(U64, 2), 24)])
    kernel.struct("neighbour", 64, [("tbl", U64, 8), ("ha", U64, 40)])
    queue = kernel.struct("queue", 16, [("head", U64, 0), ("tail", U64, 8)])
    kernel.variable("softnet", queue)
    base = kernel.btf()
    driver = Types(base)
    descriptor_type = driver.struct("my_desc", 16, [("status", U32, 0), ("address", U64, 8)])
    stats = driver.struct("my_stats", 16, [("packets", U64, 0)])
    driver.struct(
        "my_private",
        64,
        [
            ("device", driver.pointer(device), 0),
            ("ring", driver.pointer(descriptor_type), 8),
            ("buffers", driver.pointer(0), 16),
            ("stats", driver.pointer(stats), 24),
        ],
    )
    driver.struct("my_larger", 4096, [("device", driver.pointer(device), 0)])
    return base, driver.btf()


def _ram() -> Ram:
    ram = Ram()
    for cache, name, size, number in ((SKB_CACHE, "skbuff_head_cache", 128, 0), (KMALLOC, "kmalloc-256", 256, 1)):
        ram.words(cache, {8: size, 16: 1, 24: static(0x7000) + 32 * number})
        ram.write(static(0x7000) + 32 * number, name.encode() + b"\0")
    ram.words(CACHES, {0: SKB_CACHE + 32})
    ram.words(SKB_CACHE, {32: KMALLOC + 32})
    ram.words(KMALLOC, {32: CACHES})
    ram.words(descriptor(8), {8: SKB_CACHE})
    ram.words(descriptor(4), {8: KMALLOC})
    ram.words(descriptor(16), {8: KMALLOC})
    ram.words(INIT_NET, {16: DEVICE_SLAB + 16})
    ram.words(DEVICE_SLAB, {16: INIT_NET + 16, 128: DEVICE_SLAB, 136: RING, 144: KMALLOC_SLAB, 152: 0x40_0000 + CPU - CPU})
    ram.write(DEVICE_SLAB, b"eth0\0")
    ram.words(CPU_OFFSETS, {0: CPU})
    ram.words(CPU_BASE, {0: CPU})
    ram.words(CPU_SIZE, {0: 0x8000})
    ram.words(DEVICE_SLAB, {152: 0x2000})  # per processor
    ram.words(SKB_SLAB, {64: 192, 72: BUFFERS + 64})
    ram.words(INIT_TASK, {0: STACK, 8: INIT_TASK + 8})
    ram.write(INIT_TASK + 24, b"swapper/0\0")
    ram.words(KMALLOC_SLAB, {256 + 8: ARP_TBL})
    return ram


def _known(kernel: Btf | None, driver: Btf | None) -> Known:
    named = {
        "init_net": INIT_NET, "arp_tbl": ARP_TBL, "slab_caches": CACHES, "init_task": INIT_TASK, "__per_cpu_offset": CPU_OFFSETS,
        "pcpu_base_addr": CPU_BASE, "pcpu_unit_size": CPU_SIZE, "softnet": 0x100, "__per_cpu_end": 0x1000,
        "__counter_start": COUNTER, "counter": COUNTER,
    }  # fmt: skip
    variables = [Variable(address, name, "my" if name == "counter" else None) for name, address in named.items()]
    area = Area(VMALLOC[0], VMALLOC[0] + PAGE, "my_probe [my]")
    return Known(variables, [area], kernel, {"my": driver} if driver else {}, "my")


TOUCHED = [DEVICE_SLAB, SKB_SLAB, KMALLOC_SLAB, RING, BUFFERS]


@pytest.fixture
def objects() -> Objects:
    kernel, driver = _types()
    return Objects(_known(kernel, driver), _ram().memory(), TOUCHED)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (0x40_0000, Place("user space", "user space", "", -1)),
        (DEVICE_SLAB + 64, Place("net_device", "net_device eth0", "mtu", 64)),
        (DEVICE_SLAB + 136, Place("my_private", "my_private eth0", "ring", 8)),
        (RING + 24, Place("page of a driver", "ring eth0", "address", 24)),
        (KMALLOC_SLAB + 40, Place("buffers", "buffers eth0", "+40", 40)),
        (KMALLOC_SLAB + 256 + 40, Place("neighbour", "neighbour", "ha", 40)),
        (KMALLOC_SLAB + 512 + 5, Place("kmalloc-256", "kmalloc-256", "+0", 5)),
        (SKB_SLAB + 128 + 72, Place("sk_buff", "sk_buff", "head", 72)),
        (BUFFERS + 64 + 70, Place("packet data", "packet data", "", 70)),
        (BUFFERS + 64 + 192 + 32, Place("skb_shared_info", "skb_shared_info", "dataref", 32)),
        (BUFFERS + 2048, Place("packet data", "packet data", "of an earlier frame", -1)),
        (page(40), Place("page", "page", "", -1)),
        (CPU + 0x108, Place("per-CPU data", "per-CPU data", "softnet.tail", 8)),
        (CPU + 0x2000, Place("my_stats", "my_stats eth0", "packets", 0)),
        (CPU + 0x3000, Place("per-CPU data", "per-CPU data", "(allocated)", -1)),
        (STACK + 4 * PAGE - 72, Place("stack", "stack of swapper/0", "", 71)),
        (VMALLOC[0] + 8, Place("vmalloc", "vmalloc: my_probe [my]", "", 8)),
        (VMALLOC[0] + 2 * PAGE, Place("vmalloc", "vmalloc", "", -1)),
        (COUNTER + 4, Place("static data", "static data of my", "counter", 4)),
        (INIT_NET + 16, Place("static data", "static data of the kernel", "init_net.dev_base_head.next", 16)),
        (descriptor(3) + 8, Place("page", "struct page", "lru.next", 8)),
        (0xFFFF_FE00_0000_0010, Place("processor's tables", "processor's tables (IDT, TSS)", "", -1)),
    ],
)
def test_what_is_at_an_address(objects: Objects, address: int, place: Place) -> None:
    assert objects.at(address) == place
    assert objects.lacking == []


def test_without_types_only_kinds_of_memory_are_known() -> None:
    objects = Objects(_known(None, None), _ram().memory(), TOUCHED)
    assert "no BTF" in objects.lacking[0]
    assert objects.at(SKB_SLAB).kind == "other memory"
    assert objects.at(COUNTER) == Place("static data", "static data of my", "counter", 0)


def test_a_driver_without_types_is_named_by_offsets() -> None:
    kernel, _ = _types()
    objects = Objects(_known(kernel, None), _ram().memory(), TOUCHED)
    assert objects.at(DEVICE_SLAB + 136) == Place("private data", "private data eth0", "+8", 8)
    assert objects.at(RING + 24).object == "+8 eth0"
    assert objects.at(KMALLOC_SLAB + 40).object == "private data eth0: +16"


def test_a_kernel_that_lacks_symbols_says_so() -> None:
    kernel, driver = _types()
    known = Known([], [], kernel, {"my": driver}, "my")
    objects = Objects(known, Ram().memory(), TOUCHED)
    assert len(objects.lacking) == 2
    assert objects.at(SKB_SLAB) == Place("page", "page", "", -1)


def test_types() -> None:
    made = Types()
    inner = made.struct("", 8, [("a", U32, 0), ("b", U32, 4)])
    either = made.union("", 8, [("", inner, 0), ("both", U64, 0)])
    outer = made.struct("outer", 48, [("", either, 0), ("many", made.array(inner, 3), 8), ("tail", made.array(U32, 0), 48)])
    alias = made.typedef("outer_t", outer)
    found = made.btf()
    assert [found.path(alias, at) for at in (0, 4, 8, 20, 40, 48)] == ["a", "b", "many[].a", "many[].b", "", "tail[]"]
    assert found.path(alias, 20, deep=False) == "many"
    assert found.offset("outer", "none", "b") == 4
    assert found.offset("outer", "none") is None
    assert found.struct("none") is None
    assert (found.size(alias), found.name(alias)) == (48, "outer")


def test_what_is_not_btf() -> None:
    assert btf.section(b"no ELF file") is None
    assert btf.end_of_text(b"no ELF file") > 1 << 63
    with pytest.raises(ValueError, match="BTF"):
        Btf(bytes(24))


def test_memory_is_read_once_and_in_pages() -> None:
    ram = Ram()
    ram.words(PAGE - 8, {0: 0x41_42_43_44_45_46_47_48, 8: 0x49})
    memory = ram.memory()
    assert memory.text(PAGE - 8) == "HGFEDCBAI"
    assert (memory.u64(PAGE), memory.u32(PAGE + 8), memory.u64(1 << 40)) == (0x49, 0, 0)
    before = ram.commands
    assert memory.bytes(PAGE - 1, 2) == b"AI"
    assert ram.commands == before
    ram.words(0x5000, {0: 0x5010, 16: 0x5020, 32: 0x5000})
    assert list(memory.linked(0x5000)) == [0x5010, 0x5020]
    assert list(GuestMemory(lambda ranges: [None] * len(ranges)).linked(0x5000)) == []


def test_allocated_areas_and_hidden_ones() -> None:
    text = "0xffffc90000000000-0xffffc90000005000   20480 my_probe+0xf8/0x130 [my] pages=4 vmalloc\n0x1-0x2 4096 hidden+0x1/0x2\n"
    assert lines.allocated(text) == [Area(VMALLOC[0], VMALLOC[0] + 0x5000, "my_probe [my]")]
    assert lines.variables("00 A a\nff d b\t[my]\n\n") == [Variable(0, "a", None), Variable(255, "b", "my")]


F, G = 0xFFFF_FFFF_8100_0000, 0xFFFF_FFFF_C000_0000
ANSWER: dict[str, Any] = {
    "intervals": 10,
    "line_bytes": [32, 64],
    "users": [[F, "softirq", 30, 40], [G, "hardirq", 10, 10]],
    "code": [[0, F, 20, 0, 10, [5, 1]], [0, F + 32, 10, 0, 10, [0, 0]], [1, G, 10, 0, 10, [10, 0]]],
    "data": [
        [0, SKB_SLAB + 64, 10, 0, 10, [10, 2]],
        [0, SKB_SLAB + 72, 20, 10, 0, [0, 0]],
        [1, SKB_SLAB + 128 + 72, 5, 5, 10, [1, 0]],
        [1, COUNTER, 0, 10, 10, [0, 0]],
    ],
}


@pytest.fixture
def row(objects: Objects) -> dict[str, Any]:
    symbols = Symbols.parse("ffffffff81000000 T ip_rcv\nffffffffc0000000 t my_irq\t[my]\n")
    found = lines.examine(ANSWER, symbols, objects, ("L1I", "L1D", "L2"))
    return {"summary": {"frames": 10, "memory": {**found, "hardware": "common"}}}


def test_sums_by_function_and_by_field(row: dict[str, Any]) -> None:
    found = row["summary"]["memory"]
    first, second = found["functions"]
    assert (first["function"], first["code_lines"], first["data_lines"]) == ("ip_rcv", 30, 40)
    assert (first["new_code_lines"], first["new_data_lines"], first["code_misses"], first["data_misses"]) == (
        20,
        10,
        [5, 1],
        [10, 2],
    )
    assert (second["function"], second["module"], second["context"], second["stores"]) == ("my_irq", "my", "hardirq", 15)
    fields = {(f["object"], f["field"]): f for f in found["fields"]}
    head = fields["sk_buff", "head"]
    assert (head["line"], head["loads"], head["stores"], head["lines"], head["window_lines"]) == (1, 25, 15, 10, 2)
    assert head["users"] == ["ip_rcv", "my_irq"]
    assert found["objects"] == {"sk_buff": 2, "static data of my": 1}
    assert found["window_code_lines"] == {"my": 1, "the kernel": 2}
    for what, key in (("new_data_lines", "lines"), ("loads", "loads"), ("stores", "stores")):
        assert sum(f[what] for f in found["functions"]) == sum(f[key] for f in found["fields"])


def test_tables(row: dict[str, Any]) -> None:
    totals = line_tables.caches_table(row)
    assert [[cell.text for cell in line] for line in totals.rows] == [
        ["Instructions", "3.00", "3", "1.50", "0.10"],
        ["Data", "3.00", "3", "1.10", "0.20"],
    ]
    assert [line.object for line in line_tables.object_lines(row)] == ["sk_buff", "static data of my"]
    (part, counter) = line_tables.parts(row)
    assert (part.object, part.name, part.lines, part.misses, part.text) == ("sk_buff", "1", 2.0, 1.1, "head, end")
    assert (counter.name, counter.accesses) == ("counter", 1.0)
    function = line_tables.function_lines(row)[0]
    assert (function.new_lines_per_frame, function.l1i_misses_per_frame, function.l2_misses_per_frame) == (3.0, 0.5, 0.3)
    assert function.l3_misses_per_frame is None
    assert next(line.functions for line in line_tables.field_lines(row)) == "ip_rcv my_irq"
    assert "32 bytes (instructions) and 64 bytes (data)" in line_tables.summary(row)
    assert line_tables.parts_table(row, 1).note == line_tables.functions_table(row, 1).note.replace(
        "functions", "lines and variables"
    )
    assert len(line_tables.objects_table(row).rows) == 2


def test_the_picture_has_a_box_for_each_line(row: dict[str, Any]) -> None:
    tree = ElementTree.fromstring(line_map.svg(row))
    titles = [title.text or "" for title in tree.iter() if title.tag.endswith("title")]
    assert "sk_buff, line 1: used by 2.00 per frame, 5.00 accesses, 1.10 misses; head, end" in titles
    assert any(title.startswith("static data of my, counter") for title in titles)


def test_fields_need_memory(tmp_path: Any) -> None:
    with pytest.raises(IrqlabError, match="--memory"):
        Options(fields=tmp_path / "a.csv")


def test_types_of_a_module_from_its_debugging_information(tmp_path: Path) -> None:
    kernel = Types()
    device = kernel.struct("net_device", 120, [("mtu", U32, 64)])
    base = kernel.btf()
    (tmp_path / "a.c").write_text(
        "struct net_device { int wrong; };\n"
        "struct mine { struct net_device *device; union { int a; short b; }; const char text[3][4]; unsigned low:4, high:12; };\n"
        "struct mine one;\n"
    )
    done = subprocess.run(["gcc", "-g", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=False, capture_output=True)
    if done.returncode:
        pytest.skip("no compiler")
    data = dwarf.types((tmp_path / "a.o").read_bytes(), base)
    assert data is not None
    found = btf.Btf(data, base)
    assert list(found.own_structs()) == ["mine"]
    number = found.own_structs()["mine"]
    assert [found.path(number, at) for at in (0, 8, 12, 24)] == ["device", "a", "text[]", "low"]
    assert [(offset, path, target) for offset, path, target in found.pointers(number)] == [(0, "device", device)]
    assert dwarf.types(b"no ELF file", base) is None


def test_a_modules_debugging_information_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Types()
    kernel.struct("net_device", 120, [("mtu", U32, 64)])
    base = kernel.btf()
    own = Types(base)
    own.struct("mine", 8, [("a", U32, 0)])
    read: list[bytes] = []

    def types(elf: bytes, _base: btf.Btf) -> bytes | None:
        read.append(elf)
        return own.data() if elf != b"none" else None

    monkeypatch.setattr(lines.dwarf, "types", types)
    module: Any = SimpleNamespace(data=b"no ELF file", path=tmp_path / "mine.ko")
    assert lines.types_of(module, base) is None, "nothing is kept of it"
    debug = module.path.with_suffix(DEBUG)
    for content in (b"one", b"one", b"two", b"none", b"none"):
        debug.write_bytes(content)
        found = lines.types_of(module, base)
        assert (found is None) == (content == b"none")
    assert read == [b"one", b"two", b"none", b"none"]
    for kept in tmp_path.glob("*.btf"):
        kept.write_bytes(b"broken")
    debug.write_bytes(b"one")
    assert lines.types_of(module, base) is not None
    assert read[-1] == b"one"
