# SPDX-License-Identifier: GPL-2.0-or-later
"""How many instructions other architectures take for the code that the DUT executes on x86-64 (docs/use/validity.md).

    apt-get install linux-source-6.1 flex bison bc libelf-dev gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf gcc-powerpc-linux-gnu
    tar xf /usr/src/linux-source-6.1.tar.xz
    python -m tools.instruction_factor linux-source-6.1 [BUILD]

Compiles the same files of the kernel for each architecture, with the same small configuration, and counts the instructions of
the functions that a forwarded frame passes. The factor of an architecture is the sum of its instructions over that of x86-64. It
counts each instruction of a function once, executed or not. BUILD (default: build/instruction-factor) keeps what was compiled.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ARCHES = {
    "x86_64": ("x86_64", "", "CONFIG_64BIT=y CONFIG_SMP=y"),
    "arm64": ("arm64", "aarch64-linux-gnu-", ""),
    "armhf": (
        "arm",
        "arm-linux-gnueabihf-",
        "CONFIG_ARCH_MULTI_V7=y CONFIG_MMU=y CONFIG_AEABI=y CONFIG_SMP=y",
    ),
    "powerpc": (
        "powerpc",
        "powerpc-linux-gnu-",
        "CONFIG_PPC_BOOK3S_32=y CONFIG_PPC_82xx=y CONFIG_EP8248E=y",
    ),
}
"""Name -> the kernel's name, the compiler's prefix, and configuration that the processor needs. All but the MPC8250,
which cannot, have a kernel for several processors, as the DUT has."""
CONFIG = """CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y CONFIG_NET=y CONFIG_INET=y CONFIG_PCI=y CONFIG_HAS_IOMEM=y CONFIG_NETDEVICES=y
CONFIG_ETHERNET=y CONFIG_NET_CORE=y CONFIG_MII=y CONFIG_NET_VENDOR_REALTEK=y CONFIG_8139CP=y CONFIG_NET_VENDOR_INTEL=y
CONFIG_E100=y CONFIG_E1000=y CONFIG_MODULES=y CONFIG_IP_ADVANCED_ROUTER=y CONFIG_SLUB=y CONFIG_HIGH_RES_TIMERS=y
CONFIG_NO_HZ_IDLE=y"""
FUNCTIONS = {
    "drivers/net/ethernet/realtek/8139cp.o": "cp_interrupt cp_rx_poll cp_start_xmit",
    "drivers/net/ethernet/intel/e100.o": "e100_intr e100_poll e100_rx_indicate e100_xmit_frame e100_xmit_prepare",
    "drivers/net/ethernet/intel/e1000/e1000_main.o": "e1000_intr e1000_clean e1000_clean_rx_irq e1000_xmit_frame "
    "e1000_alloc_rx_buffers e1000_unmap_and_free_tx_resource",
    "net/core/dev.o": "__netif_receive_skb_core netif_receive_skb_list_internal netif_receive_skb __dev_queue_xmit "
    "dev_hard_start_xmit validate_xmit_skb netif_skb_features net_rx_action napi_complete_done process_backlog "
    "enqueue_to_backlog netif_rx net_tx_action __napi_schedule",
    "net/core/gro.o": "napi_gro_receive dev_gro_receive gro_normal_list",
    "net/core/skbuff.o": "__build_skb_around build_skb __alloc_skb __netdev_alloc_skb __napi_alloc_skb skb_release_data "
    "skb_release_head_state consume_skb kfree_skb_reason napi_consume_skb skb_put",
    "net/ethernet/eth.o": "eth_type_trans eth_header",
    "net/ipv4/ip_input.o": "ip_rcv ip_rcv_core ip_list_rcv ip_rcv_finish_core ip_local_deliver",
    "net/ipv4/ip_forward.o": "ip_forward ip_forward_finish",
    "net/ipv4/ip_output.o": "ip_output ip_finish_output ip_finish_output2 ip_send_check",
    "net/ipv4/route.o": "ip_route_input_noref ip_route_input_rcu ip_route_input_slow "
    "ip_mkroute_input __mkroute_input rt_dst_alloc",
    "net/ipv4/fib_frontend.o": "fib_validate_source __fib_validate_source",
    "net/ipv4/fib_trie.o": "fib_table_lookup",
    "net/ipv4/fib_semantics.o": "fib_select_path",
    "net/core/neighbour.o": "neigh_resolve_output neigh_connected_output",
    "net/sched/sch_generic.o": "sch_direct_xmit __qdisc_run pfifo_fast_enqueue pfifo_fast_dequeue",
    "mm/slub.o": "kmem_cache_alloc kmem_cache_free kfree __kmalloc __slab_free ___slab_alloc",
    "mm/page_alloc.o": "get_page_from_freelist __alloc_pages free_unref_page page_frag_alloc_align page_frag_free",
    "kernel/softirq.o": "__do_softirq irq_exit irq_enter raise_softirq_irqoff",
    "kernel/irq/handle.o": "handle_irq_event __handle_irq_event_percpu handle_irq_event_percpu",
    "kernel/irq/chip.o": "handle_fasteoi_irq handle_level_irq handle_edge_irq",
    "kernel/time/timer.o": "mod_timer run_timer_softirq",
    "kernel/time/hrtimer.o": "hrtimer_interrupt hrtimer_start_range_ns",
}
"""Object files -> functions on the way of a frame. What one of the architectures inlines or lacks is left out for all."""

INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
DATA = re.compile(r"\t\.(word|long|short|byte|inst)\b")


def run(*command: str, cwd: Path) -> None:
    """Runs a command. Exits with its output if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def compiled(tree: Path, build: Path, arch: str) -> dict[str, dict[str, int]]:
    """The instructions of each function, by object file."""
    name, prefix, own = ARCHES[arch]
    home = build / arch
    home.mkdir(parents=True, exist_ok=True)
    (home / "wanted").write_text("\n".join([*CONFIG.split(), *own.split(), ""]))
    make = ("make", "-s", f"O={home}", f"ARCH={name}", *([f"CROSS_COMPILE={prefix}"] if prefix else []))
    if not (home / ".config").exists():
        run(*make, f"KCONFIG_ALLCONFIG={home / 'wanted'}", "allnoconfig", cwd=tree)
    run(*make, f"-j{os.cpu_count()}", *FUNCTIONS, cwd=tree)
    return {file: counted(home / file, f"{prefix}objdump") for file in FUNCTIONS}


def counted(file: Path, objdump: str) -> dict[str, int]:
    """The instructions of each function of an object file, without padding and constants between functions."""
    text = subprocess.run([objdump, "-dw", "--no-show-raw-insn", str(file)], capture_output=True, text=True, check=True).stdout
    found: dict[str, int] = {}
    pending, function = 0, ""
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            function, pending = match[1], 0
        elif INSTRUCTION.match(line) and not DATA.search(line):
            # Padding follows the last instruction.
            padding = re.search(r"\t(nop|nopw|nopl|int3|xchg +%ax,%ax|cs nopw|data16)", line)
            pending += 1
            if not padding:
                # Parts that the compiler has split off belong to their function.
                own = re.sub(r"\.(cold|part|isra|constprop)(\.\d+)*", "", function)
                found[own] = found.get(own, 0) + pending
                pending = 0
    return found


def main() -> None:
    """Prints the table and the factors."""
    if not 2 <= len(sys.argv) <= 3 or not (Path(sys.argv[1]) / "Kbuild").exists():
        print(__doc__)
        sys.exit(0 if sys.argv[1:] == ["--help"] else 2)
    tree = Path(sys.argv[1]).resolve()
    build = Path(sys.argv[2] if len(sys.argv) == 3 else "build/instruction-factor").resolve()
    of = {arch: compiled(tree, build, arch) for arch in ARCHES}
    others = [arch for arch in ARCHES if arch != "x86_64"]
    rows: list[tuple[str, str, list[int]]] = []
    missing: list[str] = []
    for file, names in FUNCTIONS.items():
        for name in names.split():
            counts = [of[arch][file][name] for arch in ARCHES if name in of[arch][file]]
            if len(counts) == len(ARCHES):
                rows.append((f"{file.removesuffix('.o')}.c", name, counts))
            else:
                missing.append(name)
    print(f"| file | function | {' | '.join(ARCHES)} |\n|---|---|{'---:|' * len(ARCHES)}")
    for file, name, counts in rows:
        print(f"| {file} | {name} | {' | '.join(map(str, counts))} |")
    sums = [sum(counts[n] for _, _, counts in rows) for n in range(len(ARCHES))]
    whole = [sum(sum(of[arch][file].values()) for file in FUNCTIONS) for arch in ARCHES]
    print(f"| sum | {len(rows)} functions | {' | '.join(map(str, sums))} |")
    print(f"| sum | all functions of the files | {' | '.join(map(str, whole))} |\n")
    for n, arch in enumerate(ARCHES):
        if arch in others:
            ratios = statistics.quantiles([counts[n] / counts[0] for _, _, counts in rows], n=4)
            print(
                f"{arch}: {sums[n] / sums[0]:.2f}; all functions of the files: {whole[n] / whole[0]:.2f}; "
                f"quartiles of the functions' ratios: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
            )
    print("Left out:", ", ".join(missing) or "none")


if __name__ == "__main__":
    main()
