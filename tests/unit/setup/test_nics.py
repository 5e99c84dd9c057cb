# SPDX-License-Identifier: GPL-2.0-or-later
from dataclasses import dataclass
from pathlib import Path

import pytest

from irqlab.setup import SetupError, nics
from irqlab.setup.modules import Module
from irqlab.setup.qemu import Qemu


@dataclass(frozen=True)
class Qemu72(Qemu):
    """A QEMU with the NIC models and properties of 7.2."""

    def devices(self) -> frozenset[str]:
        return frozenset({nic.device_type for nic in nics.TABLE} - {"igb"})

    def properties(self, device: str) -> frozenset[str]:
        return frozenset({"mac", "netdev", "mitigation"} if device == "e1000" else {"mac", "netdev"})


QEMU = Qemu72(Path("qemu"), (7, 2, 22), "QEMU emulator version 7.2.22")


def driver(name: str, *aliases: str) -> Module:
    return Module(name, Path(f"{name}.ko"), b"", "", "", (), aliases, {})


def pci(vendor: str, device: str, rest: str = "sv*sd*bc*sc*i*") -> str:
    return f"pci:v0000{vendor}d0000{device}{rest}"


@pytest.mark.parametrize(
    ("module", "model"),
    [
        (driver("8139cp", pci("0357", "000A"), pci("10EC", "8139")), "rtl8139"),
        (driver("e100", pci("8086", "1209"), pci("8086", "1229")), "i82557b"),
        (driver("er_only", pci("8086", "1209")), "i82559er"),
        (driver("e100", pci("8086", "2449", "sv*sd*bc02sc00i*")), "i82801"),
        (driver("e1000", pci("8086", "1000"), pci("8086", "100E")), "e1000"),
        (driver("e1000e", pci("8086", "10D3")), "e1000e"),
        (driver("irqmod_i82574", pci("8086", "10D3")), "irqlab-82574"),
        (driver("pcnet32", pci("1022", "2000")), "pcnet"),
        (driver("hp_only", pci("1011", "0019", "sv0000103Csd*bc*sc*i*")), "tulip"),
        (driver("any_ethernet", "pci:v*d*sv*sd*bc02sc00i*"), "rtl8139"),
    ],
)
def test_a_driver_gets_the_first_card_it_claims(module: Module, model: str) -> None:
    assert nics.choose(module, None, QEMU).model == model


USB_ALIASES = ("usb:v0424p7801d*dc*dsc*dp*ic*isc*ip*in*", "usb:v0424p7800d*dc*dsc*dp*ic*isc*ip*in*")


def test_a_usb_driver_gets_the_tester_s_own_card() -> None:
    lan78xx = driver("lan78xx", *USB_ALIASES)
    assert nics.choose(lan78xx, None, QEMU).usb_speed == "high"
    fast = nics.choose(lan78xx, "lan7800-superspeed", QEMU)
    assert (fast.usb_speed, fast.needs, fast.line_rate_bps) == ("super", ("xhci_pci", "microchip"), 10**9)
    with pytest.raises(SetupError, match="lan78xx does not support rtl8139"):
        nics.choose(lan78xx, "rtl8139", QEMU)
    with pytest.raises(SetupError, match="e100 does not support lan7800"):
        nics.choose(driver("e100", pci("8086", "1229")), "lan7800", QEMU)


def test_the_tester_s_own_pci_cards_are_chosen_by_name_only() -> None:
    e100 = driver("e100", pci("8086", "1209"), pci("8086", "1229"))
    own = nics.choose(e100, "irqlab-82558", QEMU)
    assert (own.is_own, own.pci_bus, own.timing) == (True, "33:32", "")
    assert not nics.choose(e100, None, QEMU).is_own
    with pytest.raises(SetupError, match="8139cp does not support irqlab-82559"):
        nics.choose(driver("8139cp", pci("10EC", "8139")), "irqlab-82559", QEMU)


def test_a_hunt_and_a_check_take_the_tester_s_own_pci_card() -> None:
    card = nics.own_card(driver("e100", pci("8086", "1209"), pci("8086", "1229")))
    assert card is not None
    assert card.model == "irqlab-82559"
    assert nics.own_card(driver("8139too", pci("10EC", "8139"))) is None
    assert nics.own_card(driver("lan78xx", *USB_ALIASES)) is None


def test_errata_and_the_bus_are_chosen_for_the_tester_s_own_cards_only() -> None:
    cp = driver("8139cp", pci("10EC", "8139"))
    nic = nics.choose(cp, "irqlab-8139cp+lost-poll", QEMU, "66:64")
    assert (nic.model, nic.card, nic.errata, nic.pci_bus) == ("irqlab-8139cp+lost-poll", "irqlab-8139cp", ("lost-poll",), "66:64")
    assert nics.choose(cp, "irqlab-8139cp", QEMU).errata == ()
    for requested, bus, complaint in (
        ("irqlab-8139cp+lost-rnr", None, "allowed errata are lost-poll, phy-off"),
        ("rtl8139+lost-poll", None, "allowed errata are none"),
        ("irqlab-8139cp", "25:32", "--bus 25:32: allowed are 33:32, 33:64"),
        (None, "33:32", "the bus of rtl8139 takes no time"),
    ):
        with pytest.raises(SetupError, match=complaint):
            nics.choose(cp, requested, QEMU, bus)


def test_qemu_s_e1000e_stays_the_default() -> None:
    e1000e = driver("e1000e", pci("8086", "10D3"))
    own = nics.choose(e1000e, "irqlab-82574", QEMU)
    assert (own.is_own, own.line_rate_bps, own.timing) == (True, 1_000_000_000, "")
    assert nics.choose(e1000e, None, QEMU).model == "e1000e"


def test_qemu_s_models_say_what_their_timing_gets_wrong() -> None:
    assert all("transmits in no time" in nic.timing for nic in nics.TABLE if not nic.is_own)
    igb = next(nic for nic in nics.TABLE if nic.model == "igb")
    assert "4.1 times too long" in igb.timing


def test_properties_this_qemu_lacks_are_left_out() -> None:
    e1000 = driver("e1000", pci("8086", "100E"), pci("8086", "100F"))
    assert nics.choose(e1000, None, QEMU).properties == ("mitigation=off",)
    assert nics.choose(e1000, "e1000-82545em", QEMU).properties == ()


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (driver("8139too", pci("10EC", "8139")), "revision 0x20.*8139cp.*--nic rtl8139"),
        (driver("igb", pci("8086", "10C9")), "7.2.22 lacks: --qemu 10.0"),
        (driver("r8169", pci("10EC", "8168")), "r8169 supports none of QEMU's NIC models"),
        (driver("bare"), "bare supports none of QEMU's NIC models"),
    ],
)
def test_a_driver_without_a_card_is_told_why(module: Module, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint):
        nics.choose(module, None, QEMU)


def test_a_requested_card_is_taken_if_the_driver_claims_it_or_claims_none() -> None:
    assert nics.choose(driver("e100", pci("8086", "1209"), pci("8086", "1229")), "i82551", QEMU).model == "i82551"
    assert nics.choose(driver("8139too", pci("10EC", "8139")), "rtl8139", QEMU).model == "rtl8139"
    assert nics.choose(driver("bare"), "e1000", QEMU).model == "e1000"


@pytest.mark.parametrize(
    ("requested", "complaint"),
    [
        ("e1000", "8139cp does not support e1000.*it supports rtl8139"),
        ("e1001", "no NIC model e1001; allowed are:\n  rtl8139"),
        ("igb", "7.2.22 has no igb"),
    ],
)
def test_a_requested_card_that_the_driver_does_not_claim_is_rejected(requested: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint):
        nics.choose(driver("8139cp", pci("10EC", "8139")), requested, QEMU)


def test_every_card_is_named_once_and_has_a_wire() -> None:
    assert len({nic.model for nic in nics.TABLE}) == len(nics.TABLE)
    assert all(nic.line_rate_bps >= 10_000_000 and nic.driver for nic in nics.TABLE)


def test_virtio_is_refused_because_its_results_do_not_repeat() -> None:
    module = driver("virtio_net", "virtio:d00000001v*")
    with pytest.raises(SetupError, match="results are not reproducible"):
        nics.choose(module, None, QEMU)
    assert nics.choose(module, "virtio-net-pci", QEMU).model == "virtio-net-pci"


def test_a_driver_whose_only_card_needs_another_qemu_gets_it() -> None:
    igb = driver("igb", pci("8086", "10C9"))
    assert nics.needed_qemu(igb, None) == nics.needed_qemu(igb, "igb") == "10.0"
    assert nics.needed_qemu(driver("e1000", pci("8086", "100E")), None) is None
    assert nics.needed_qemu(igb, "no-such-card") is None


@pytest.mark.parametrize(
    ("model", "driver"),
    [
        ("irqlab-82574", "irqmod_i82574"),
        ("i82557b", "irqmod_i8255x"),
        ("irqlab-8139cp+lost-poll", "irqmod_rtl8139cp"),
        ("lan7800", "irqmod_lan78xx"),
        ("tulip", None),
        ("none", None),
    ],
)
def test_our_driver_for_a_nic(model: str, driver: str | None) -> None:
    assert nics.our_driver(model) == driver
