# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up environment and document for made-up results; the command marks them as such."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from irqlab.results import document as results
from irqlab.results.document import MethodResult

COMMAND = ["irqlab", "synthetic-sample"]
MIPS = 250
WIRE_BPS = 100_000_000


def dut(driver: str, nic: str, build: str = "1", ring: int | None = 256, schemes: dict[str, Any] | None = None) -> dict[str, Any]:
    """A made-up DUT as `Bed.describe` states it."""

    def digest(text: str) -> str:
        return sha256(f"synthetic {text}".encode()).hexdigest()

    return {
        "qemu": "0.0 (synthetic)",
        "qemu_sha256": digest("qemu"),
        "kernel": {
            "release": "0.0.0-synthetic",
            "package": "linux-image-synthetic",
            "version": "0.0.0-1",
            "sha256": digest("kernel"),
        },
        "guest_image_sha256": digest("guest"),
        "guest": {
            "packages": {"busybox-static": "1:1.35.0-4+deb12u1+b1", "iproute2": "6.1.0-3"},
            "agent_sha256": digest("agent"),
        },
        "tester_sha256": digest("tester"),
        "mips": MIPS,
        "cpu": "qemu64, 1 core",
        "memory_mib": 256,
        "kernel_command_line": "console=ttyS0 quiet panic=-1 nokaslr mitigations=off net.ifnames=0 synthetic=yes",
        "nic": {"model": nic, "properties": [], "line_rate_bps": WIRE_BPS},
        "modules": [
            {"name": "mii", "sha256": digest("mii"), "vermagic": "0.0.0-synthetic SMP"},
            {"name": driver, "sha256": digest(driver + build), "vermagic": "0.0.0-synthetic SMP"},
        ],
        "dut": {
            "lsm": "none",
            "qdisc": "pfifo_fast",
            "netdev_max_backlog": 1000,
            "netdev_budget": 300,
            "dev_weight": 64,
            "spectre_v2": "Vulnerable",
            "clocksource": "tsc",
            "ring_rx": 64 if nic == "rtl8139" else ring,
            "ring_tx": 64 if nic == "rtl8139" else ring,
            "offloads": ["generic-receive-offload", "rx-checksumming"],
            "schemes": schemes,
            "notes": [],
            "sysctls": {"net.core.netdev_max_backlog": "1000"},
            "module_parameters": "",
        },
    }


def document(found: list[MethodResult], duts: list[dict[str, Any]], complete: bool = True) -> dict[str, Any]:
    """A document that does not depend on the host."""
    made = results.document(COMMAND, duts, found, complete)
    made["environment"] |= {
        "irqlab": "0.0.0",
        "host": {"system": "Linux", "release": "0.0.0-synthetic", "machine": "x86_64", "python": "3.11.0"},
    }
    return made
