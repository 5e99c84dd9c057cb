# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab check`: finds faults planted in the kernel's 8139cp, and no fault in it as it is, but for those that it has.

Faults are edits of Debian's source, so that no code of the kernel is copied here.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.dut.router import Dut
from irqlab.hunting.functions import functions
from irqlab.setup import drivers, kernel, kernel_sources
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli

LONG = pytest.mark.long
SOURCE = "drivers/net/ethernet/realtek/8139cp.c"
SERIES = "6.1"
CARD = ("--nic", "irqlab-8139cp")
OWN = {
    *("numbers-forwarded", "numbers-own", "numbers-long", "frames-jumbo", "failures-mappings", "failures-change", "races-mtu"),
    "polling-busy",
}
"""Rows that 8139cp itself fails (docs/use/findings.md)."""
UNLOCKED = "out_unlock:\n\tspin_unlock_irqrestore(&cp->lock, intr_flags);\n"
STOP = "\tif (TX_BUFFS_AVAIL(cp) <= (MAX_SKB_FRAGS + 1))\n\t\tnetif_stop_queue(dev);\n\n"
ACK = "\tcpw16(IntrStatus, cp_rx_intr_mask);\n"
DONE = "\tcp->rx_tail = rx_tail;\n"
Edits = tuple[tuple[str, str], ...]
FAULTS: dict[str, tuple[Edits, str, str]] = {
    # What is edited, the row that finds it, and what that says: 8139cp fails some rows as it is.
    "never_woken": (
        (("\tif (TX_BUFFS_AVAIL(cp) > (MAX_SKB_FRAGS + 1))\n\t\tnetif_wake_queue(cp->dev);\n", ""),),
        "ring-forward",
        "never came out",
    ),
    "acknowledged_late": (((f"{ACK}\n\twhile", "\twhile"), (DONE, DONE + ACK)), "races-arrivals", "lost wake-up"),
    "tx_bytes": ((("stats.tx_bytes += skb->len;", "stats.tx_bytes += skb->len + 4;"),), "numbers-forwarded", "tx_bytes grew"),
    "rx_bytes": ((("stats.rx_bytes += skb->len;", "stats.rx_bytes += skb->len + 18;"),), "numbers-forwarded", "(+4 a frame)"),
    "wrong_checksum_taken": (
        (("((protocol == RxProtoUDP) && !(status & UDPFail))", "(protocol == RxProtoUDP)"),),
        "frames-rx-checksums",
        "the driver says that the checksum is right",
    ),
    "buffers_leak": ((("\t\t\tdev_kfree_skb_any(cp->rx_skb[i]);\n", ""),), "life-down-up", "of memory"),
    "wrong_hash": ((("ha->addr) >> 26", "ha->addr) >> 27"),), "frames-filters", "in a group"),
    "tag_cut": ((("swab16(opts2 & 0xffff))", "swab16(opts2 & 0xffff) & 0xfff)"),), "frames-vlan", "it arrived with"),
    "ring_end_forgotten": (
        (("\t\t\teor = (entry == (CP_TX_RING_SIZE - 1)) ? RingEnd : 0;\n", ""),),
        "frames-scatter",
        "segments arrived",
    ),
    "indices_kept_at_resume": (
        (("\tcp_init_rings_index (cp);\n\tcp_init_hw", "\tcp_init_hw"),),
        "power-suspend",
        "NETDEV WATCHDOG",
    ),
    "one_more_than_the_budget": ((("while (rx < budget)", "while (rx <= budget)"),), "overload-livelock", "exceeding its budget"),
}


def _built(fault: str) -> Path:
    """The module with these edits, under a name of its own."""
    text = (kernel_sources.debian(SERIES).path / SOURCE).read_text()
    for old, new in FAULTS[fault][0]:
        assert old in text, old
        text = text.replace(old, new, 1)
    name = f"cp_{fault}"
    files = {f"{name}.c": text.encode(), "Kbuild": f"obj-m := {name}.o\n".encode()}
    return drivers.build_files(kernel.resolve(SERIES), files) / f"{name}.ko"


def _check(cli: Cli, tmp_path: Path, driver: str, *options: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "check.json"
    done = cli("check", "--driver", driver, "--kernel", SERIES, *CARD, "--json", str(file), *options, timeout_s=3_000)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(file.read_text())


@pytest.mark.parametrize("fault", ["never_woken", *(pytest.param(name, marks=LONG) for name in list(FAULTS)[1:])])
def test_a_fault_is_found(cli: Cli, tmp_path: Path, fault: str) -> None:
    module = shutil.copy(_built(fault), tmp_path)
    _, row, says = FAULTS[fault]
    code, found = _check(cli, tmp_path, str(module), "--only", row)
    (one,) = found["rows"]
    assert (code, one["status"]) == (1, "fail"), one
    assert any(says in text for text in (one["said"], *one["evidence"])), one
    assert one["replay"]


def test_no_fault_is_found_where_none_is(cli: Cli, tmp_path: Path) -> None:
    code, found = _check(cli, tmp_path, "8139cp", "--only", "life-up,ring-forward,frames-filters,frames-rx-checksums,frames-vlan")
    assert [(row["name"], row["status"]) for row in found["rows"] if row["status"] != "pass"] == []
    assert code == 0
    assert found["answer"].endswith("no fault was found, 5 rows passed.")


@LONG
def test_the_whole_list(cli: Cli, tmp_path: Path) -> None:
    code, found = _check(cli, tmp_path, "8139cp")
    assert {row["name"] for row in found["rows"] if row["status"] == "fail"} == OWN
    assert code == 1


def test_calls_are_seen_in_code_that_was_first_executed_between_trials() -> None:
    testbed = Testbed.resolve(TestbedConfig("8139cp", nic="irqlab-8139cp"))
    probes = [functions(testbed).address("dma_alloc_attrs")]
    trial = {"warmup_ns": 0, "duration_ns": 20_000_000, "drain_ns": 1_000, "probes": probes}
    mtu = "/sys/class/net/eth0/mtu"

    def change(dut: Dut) -> None:
        dut.sleep(1_000_000)
        dut.write(mtu, "1400")

    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        dut.wait_forwarding()
        assert not dut.run_trial(trial, [])["probes"]
        dut.write(mtu, "1300")
        assert dut.run_trial(trial, [], lambda _: change(dut))["probes"]
