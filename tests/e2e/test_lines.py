# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of memory, end to end: the trial is the plain one, sums agree, and the kernel's objects are found."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from irqlab import Lab
from irqlab.methods import catalogue
from tests.e2e.conftest import Cli


def test_lines_are_found_and_change_nothing(cli: Cli, tmp_path: Path) -> None:
    arguments = ("--driver", "8139cp", "--rate", "60000", "--duration", "0.02", "--no-cache")
    done = cli("profile", *arguments, "--memory", "--json", "a.json", "--report", "a.html", "--fields", "a.csv")
    assert done.returncode == 0, done.stderr
    assert "Lines of data by object" in done.stdout
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    (row,) = [row for row in document["measured"]["results"] if row["method"] == "profile"]
    found, frames = row["summary"]["memory"], row["summary"]["frames"]
    assert (found["levels"], found["lacking"], row["summary"]["residual"]) == (["L1I", "L1D", "L2"], [], 0)
    assert abs(found["intervals"] - frames) <= 0.1 * frames

    # The instrument does not show in what is measured.
    (trial,) = row["trials"]
    plain = Lab("8139cp", cached=False).trial(60_000.0, duration_ns=20_000_000)
    assert json.dumps(trial) == json.dumps(plain.to_json())

    # What the functions use and what the objects are used for is the same.
    for of_functions, of_fields in (("new_data_lines", "lines"), ("loads", "loads"), ("stores", "stores")):
        assert sum(f[of_functions] for f in found["functions"]) == sum(f[of_fields] for f in found["fields"])
    for level in range(2):
        misses = [sum(one["misses"][level] for one in found["fields"]), sum(f["data_misses"][level] for f in found["functions"])]
        assert misses[0] == misses[1]

    fields = {(f["object"], f["field"]): f for f in found["fields"]}
    assert "cp_start_xmit" in fields["cp_private eth1", "tx_head"]["users"]
    assert "ip_forward" in fields["sk_buff", "head"]["users"]
    assert fields["net_device eth1", "mtu"]["loads"] >= frames
    objects = {f["object"] for f in found["fields"]}
    assert {"rx_ring eth0", "tx_ring eth1", "packet data", "skb_shared_info", "neighbour", "rtable", "Qdisc eth1"} <= objects
    assert "cp_private" in (tmp_path / "a.csv").read_text()
    assert "Lines of data" in (tmp_path / "a.html").read_text()
