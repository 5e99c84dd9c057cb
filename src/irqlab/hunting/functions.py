# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of functions in the DUT: by name, and those with which drivers transmit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from irqlab.config.addresses import INTERFACES
from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.profile.btf import section
from irqlab.profile.guest_memory import GuestMemory
from irqlab.profile.kallsyms import addresses
from irqlab.setup import paths
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.testbed import Testbed

FREED = "skb_release_head_state"
"""Called once for each packet that is freed (net/core/skbuff.c)."""


@dataclass(frozen=True)
class Functions:
    """What is known about the initial state of trials."""

    by_name: dict[str, int]
    transmit: tuple[int, ...]
    """ndo_start_xmit of the interfaces' drivers; each once."""

    def address(self, name: str) -> int:
        """A function's address. Raises IrqlabError."""
        if name not in self.by_name:
            raise IrqlabError(f"the DUT's kernel has no function {name}")
        return self.by_name[name]


def functions(testbed: Testbed) -> Functions:
    """Reads them from a DUT of their own, once; they are kept beside the snapshot. Raises IrqlabError."""
    known = addresses(testbed)
    kept = testbed.prepared.state.parent / f"transmit-{code_fingerprint(__name__)[:16]}.json"
    with paths.locked(f"transmit-{kept.parent.name}"):
        try:
            transmit = json.loads(kept.read_text())
        except (OSError, json.JSONDecodeError):
            with testbed.open() as dut:
                memory = GuestMemory(lambda ranges: dut.rpc.call("read_memory", ranges=ranges)["memory"])
                transmit = _transmit(testbed, known, memory)
            write_atomically(kept, json.dumps(transmit).encode())
    return Functions(known, tuple(transmit))


def _transmit(testbed: Testbed, symbols: dict[str, int], memory: GuestMemory) -> list[int]:
    """Follows the list of interfaces (include/linux/netdevice.h)."""
    types = section(testbed.machine.kernel.vmlinux.read_bytes())
    if types is None:
        raise IrqlabError("--what transmit: the DUT's kernel has no BTF (CONFIG_DEBUG_INFO_BTF), so its structures are not known")

    def offset(struct: str, name: str) -> int:
        found = types.offset(struct, name)
        if found is None:
            raise IrqlabError(f"--what transmit: the DUT's kernel has no {struct}.{name}")
        return found

    found = []
    for entry in memory.linked(symbols["init_net"] + offset("net", "dev_base_head")):
        device = entry - offset("net_device", "dev_list")
        if memory.text(device + offset("net_device", "name"), 16) in INTERFACES:
            operations = memory.u64(device + offset("net_device", "netdev_ops"))
            found.append(memory.u64(operations + offset("net_device_ops", "ndo_start_xmit")))
    return sorted(set(found))


def named(functions: Functions, names: Iterable[str]) -> dict[str, int]:
    """Those of the names that the kernel has."""
    return {name: functions.by_name[name] for name in names if name in functions.by_name}


ALLOCATORS = {
    "dma_map_page_attrs": (1 << 64) - 1,
    "dma_alloc_attrs": 0,
    "dma_pool_alloc": 0,
    "__alloc_skb": 0,
    "__netdev_alloc_skb": 0,
    "__napi_alloc_skb": 0,
    "napi_alloc_skb": 0,
    "__netdev_alloc_frag_align": 0,
    "__napi_alloc_frag_align": 0,
    "build_skb": 0,
    "__build_skb": 0,
    "napi_build_skb": 0,
    "slab_build_skb": 0,
    "__alloc_pages": 0,
    "__alloc_pages_noprof": 0,
    "alloc_pages_noprof": 0,
    "alloc_pages": 0,
    "page_pool_alloc_pages": 0,
    "page_pool_alloc_frag": 0,
    "__kmalloc": 0,
    "__kmalloc_noprof": 0,
    "kmalloc_trace": 0,
    "__kmalloc_cache_noprof": 0,
    "kmem_cache_alloc": 0,
    "kmem_cache_alloc_noprof": 0,
    "vzalloc": 0,
    "vzalloc_noprof": 0,
    "usb_alloc_urb": 0,
    "request_threaded_irq": (1 << 64) - 12,
}
"""Functions that drivers get memory (and interrupts) from -> what they return if they fail."""


def used(testbed: Testbed, known: Functions, of: Iterable[str] = ALLOCATORS) -> dict[str, int]:
    """Those of some functions that the driver under test, or a module that it needs, calls, by name -> address."""
    wanted = set()
    for module in testbed.modules:
        wanted |= {name for name in of if re.search(rb"\0" + name.encode() + rb"\0", module.data)}
    return named(known, sorted(wanted))
