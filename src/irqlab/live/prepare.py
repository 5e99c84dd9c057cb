# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets up this host's ports and the device under test, says each thing it changes, and puts it back.

Before a change is made, how to undo it is written to a journal, so that `restore` works after a crash, too.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from irqlab import files
from irqlab.config.addresses import dut_ip, tester_ip
from irqlab.errors import IrqlabError
from irqlab.live.ports import LiveError, binary
from irqlab.live.remote import Remote
from irqlab.qemu.rpc import TesterError
from irqlab.setup import network
from irqlab.setup.paths import cache_dir

Say = Callable[[str], None]
OFFLOADS = ("gro", "lro", "gso", "tso", "rx-gro-hw", "rx-udp-gro-forwarding")
"""Of the tester's ports: what would merge or split frames."""
_LONG = {
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
    "gso": "generic-segmentation-offload",
    "tso": "tcp-segmentation-offload",
}
_OFF_PORT = {"net/ipv4/conf/{}/forwarding": "0", "net/ipv6/conf/{}/disable_ipv6": "1"}
"""The host's own network stack has to keep out: it must neither forward the tester's frames nor send its own."""


@dataclass(frozen=True)
class Undo:
    """How a change is undone: a command, or a file's old content."""

    where: Literal["here", "dut"]
    what: str
    argv: tuple[str, ...] = ()
    path: str = ""
    text: str = ""


class NotMadeError(LiveError):
    """A change was refused, so there is nothing to undo."""


class Journal:
    """What `restore` has to do, in a file."""

    def __init__(self, ports: tuple[str, str]) -> None:
        self.path = cache_dir() / "live" / f"prepared-{'-'.join(sorted(ports))}.json"
        self.dut: str | None = None
        self.undo: list[Undo] = []

    def load(self) -> bool:
        """Reads the file; False: there is none. Raises LiveError if it cannot be read."""
        try:
            content = json.loads(self.path.read_text())
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise LiveError(
                f"cannot read {self.path}: {error}; undo by hand what `irqlab live prepare` said it changed"
            ) from error
        self.dut = content["dut"]
        self.undo = [Undo(**{**one, "argv": tuple(one["argv"])}) for one in content["undo"]]
        return True

    def note(self, undo: Undo) -> None:
        """Adds an entry, before the change is made. Raises IrqlabError if it cannot be kept."""
        self.undo.append(undo)
        try:
            self.save()
        except IrqlabError:
            self.undo.pop()
            raise

    def forget(self) -> None:
        """Removes the last entry: its change was not made."""
        self.undo.pop()
        self.save()

    def check(self) -> None:
        """Whether the file can be changed. Raises LiveError."""
        if not os.access(self.path.parent, os.W_OK):
            owner = self.path.stat().st_uid
            raise LiveError(f"{self.path} belongs to the user {_user(owner)}: run this command as that user")

    def save(self) -> None:
        """Writes the file; removes it if there is nothing to undo."""
        if self.undo:
            content = {"dut": self.dut, "undo": [asdict(one) for one in self.undo]}
            files.write_atomically(self.path, (json.dumps(content, indent=1) + "\n").encode())
        else:
            self.path.unlink(missing_ok=True)


class Here:
    """This host."""

    where: Literal["here", "dut"] = "here"

    def run(self, *argv: str) -> str:
        """Runs a command. Raises NotMadeError."""
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, env=network.environment())
        except OSError as error:
            raise NotMadeError(f"cannot run {argv[0]}: {error.strerror}") from error
        if done.returncode != 0:
            why = (done.stderr or done.stdout).strip()
            mend = "; this needs root: sudo" if os.geteuid() != 0 else ""
            raise NotMadeError(f"`{' '.join(argv)}` failed: {why}{mend}")
        return done.stdout

    def read(self, path: str) -> str | None:
        """A file's content; None: it cannot be read."""
        try:
            return Path(path).read_text()
        except OSError:
            return None

    def write(self, path: str, text: str) -> None:
        """Writes a file of the kernel's. Raises NotMadeError."""
        try:
            Path(path).write_text(text)
        except OSError as error:
            mend = "; this needs root: sudo" if os.geteuid() != 0 else ""
            raise NotMadeError(f"cannot write {text} to {path}: {error.strerror}{mend}") from error


class There:
    """The device under test."""

    where: Literal["here", "dut"] = "dut"

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def run(self, *argv: str) -> str:
        """Runs a command. Raises NotMadeError, or LiveError if the agent is gone."""
        try:
            done = self._remote.guest("exec", argv=list(argv), stdin=None)
        except TesterError as error:
            raise NotMadeError(f"the device cannot run {argv[0]}; if it has none, install it there ({error})") from error
        if done["code"] != 0:
            raise NotMadeError(f"on the device, `{' '.join(argv)}` failed: {(done['err'] or done['out']).strip()}")
        return str(done["out"])

    def read(self, path: str) -> str | None:
        """A file's content; None: it cannot be read."""
        found: str | None = self._remote.guest("read", paths=[path])["files"].get(path)
        return found

    def write(self, path: str, text: str) -> None:
        """Writes a file of the kernel's. Raises NotMadeError, or LiveError if the agent is gone."""
        try:
            self._remote.guest("write", path=path, text=text)
        except TesterError as error:
            raise NotMadeError(f"on the device, cannot write {text} to {path}: {error}") from error


class Changes:
    """Makes changes on a machine, each noted in the journal first and said."""

    def __init__(self, machine: Here | There, journal: Journal, say: Say) -> None:
        self.machine = machine
        self._journal = journal
        self._say = say

    def command(self, what: str, argv: Sequence[str], back: Sequence[str]) -> None:
        """Runs a command that `back` undoes."""
        self._make(Undo(self.machine.where, what, tuple(back)), lambda: self.machine.run(*argv))

    def _make(self, undo: Undo, change: Callable[[], object]) -> None:
        """Notes how to undo a change, makes it, and says it."""
        self._journal.note(undo)
        try:
            change()
        except NotMadeError:
            self._journal.forget()
            raise
        self._say(f"  {'device: ' if undo.where == 'dut' else ''}{undo.what}")

    def file(self, path: str, text: str) -> None:
        """Writes a file of the kernel's, if it is there and says something else."""
        old = self.machine.read(path)
        if old is None or old.strip() == text:
            return
        what = f"{path}: {old.strip()} -> {text}"
        self._make(Undo(self.machine.where, what, (), path, old.strip()), lambda: self.machine.write(path, text))

    def addresses(self, interface: str) -> list[str]:
        """The addresses of an interface, with prefix lengths."""
        text = self.machine.run("ip", "-o", "address", "show", "dev", interface)
        return re.findall(r"\binet6? (\S+)", text)

    def link_up(self, interface: str) -> None:
        """Sets an interface up."""
        text = self.machine.run("ip", "-o", "link", "show", "dev", interface)
        flags = re.search(r"<([^>]*)>", text)
        if flags and "UP" not in flags[1].split(","):
            self.command(f"{interface}: up", ("ip", "link", "set", interface, "up"), ("ip", "link", "set", interface, "down"))


def check(ports: Sequence[str]) -> None:
    """Whether the host leaves the ports to the tester. Raises LiveError that says what to do. Says nothing of missing ports."""
    here = Here()
    prepare_it = f"`sudo irqlab live prepare {' '.join(ports)}` takes care of it"
    for port in ports:
        if here.read(f"/proc/sys/net/ipv4/conf/{port}/forwarding") is None:
            continue
        if state := _managed(port):
            raise LiveError(f"port {port} belongs to NetworkManager ({state}), which would change it at any time; {prepare_it}")
        for family in ("ipv4", "ipv6"):
            if (here.read(f"/proc/sys/net/{family}/conf/{port}/forwarding") or "0").strip() != "0" and not _v6_off(
                here, port, family
            ):
                raise LiveError(
                    f"port {port}: this host forwards {family} packets from it, so the tester's frames could leave through other "
                    f"interfaces; {prepare_it}"
                )
        owned = re.findall(r"\binet (\S+)", here.run("ip", "-o", "-4", "address", "show", "dev", port))
        if owned:
            raise LiveError(f"port {port} has the address {owned[0]}, so this host's own network stack uses it; {prepare_it}")


def _v6_off(here: Here, port: str, family: str) -> bool:
    return family == "ipv6" and (here.read(f"/proc/sys/net/ipv6/conf/{port}/disable_ipv6") or "").strip() == "1"


def _managed(port: str) -> str:
    """What NetworkManager does with a port; empty: nothing, or it does not run."""
    if shutil.which("nmcli") is None:
        return ""
    done = subprocess.run(["nmcli", "-g", "GENERAL.STATE", "device", "show", port], capture_output=True, text=True, check=False)
    state = done.stdout.strip()
    return "" if done.returncode != 0 or "unmanaged" in state else state


def prepare(ports: tuple[str, str], target: str | None, theirs: tuple[str, str] | None, governor: bool, say: Say) -> None:
    """Prepares the ports and, with an agent, the device. After an error its changes are undone. Raises IrqlabError.

    If the ports were prepared before without an agent, as for `irqlab live calibrate`, only the device is left to do.
    """
    for port in ports:
        if not _exists(port):
            raise LiveError(f"port {port}: there is no such interface; `ip link` lists those there are")
    journal = Journal(ports)
    before = journal.load()
    if before and (target is None or any(one.where == "dut" for one in journal.undo)):
        raise LiveError(f"these ports are prepared already: `irqlab live restore {' '.join(ports)}` first")
    keep = len(journal.undo)
    journal.dut = target
    try:
        if not before:
            for port in ports:
                say(f"{port}:")
                _prepare_port(Changes(Here(), journal, say), port)
            if governor:
                _full_speed(Changes(Here(), journal, say))
        if target is not None and theirs is not None:
            _prepare_dut(journal, target, ports, theirs, say)
    except BaseException:
        if len(journal.undo) > keep:
            say("not possible; putting everything back")
            undo(journal, say, keep)
        raise
    say(f"`irqlab live restore {' '.join(ports)}` puts it back" if journal.undo else "nothing to change")


def _prepare_port(change: Changes, port: str) -> None:
    if _managed(port):
        change.command(
            f"{port}: not managed by NetworkManager",
            ("nmcli", "device", "set", port, "managed", "no"),
            ("nmcli", "device", "set", port, "managed", "yes"),
        )
    for path, value in _OFF_PORT.items():
        change.file(f"/proc/sys/{path.format(port)}", value)
    for address in change.addresses(port):
        change.command(
            f"{port}: without the address {address}",
            ("ip", "address", "del", address, "dev", port),
            ("ip", "address", "replace", address, "dev", port),
        )
    features = change.machine.run("ethtool", "-k", port)
    for short in OFFLOADS:
        if re.search(rf"^{_LONG.get(short, short)}: on$", features, re.MULTILINE):
            change.command(f"{port}: {short} off", ("ethtool", "-K", port, short, "off"), ("ethtool", "-K", port, short, "on"))
    queues = re.search(r"Current hardware settings:.*?^Combined:\s*(\d+)", _channels(change, port), re.DOTALL | re.MULTILINE)
    if queues and int(queues[1]) > 1:
        change.command(
            f"{port}: 1 queue, was {queues[1]}",
            ("ethtool", "-L", port, "combined", "1"),
            ("ethtool", "-L", port, "combined", queues[1]),
        )
    change.link_up(port)
    _stamp(change, port)
    _move_interrupts(change, port)


def _stamp(change: Changes, port: str) -> None:
    """Has the NIC stamp the frames that arrive, if it can. If it refuses, the times are the kernel's."""
    tester = str(binary())
    try:
        found = json.loads(change.machine.run(tester, "stamps", port))
        if found["clock"] is None or found["set"] is None or found["on"]:
            return
        sent, _, _ = str(found["set"]).partition(",")
        setting = (tester, "stamps", port, "--set")
        change.command(f"{port}: time stamps of {found['clock']}", (*setting, f"{sent},1"), (*setting, str(found["set"])))
    except NotMadeError:
        return


def _channels(change: Changes, port: str) -> str:
    try:
        return change.machine.run("ethtool", "-l", port)
    except LiveError:
        return ""  # its driver has no such setting


def _move_interrupts(change: Changes, port: str) -> None:
    """Leaves the last two processors to the tester's threads."""
    cpus = sorted(os.sched_getaffinity(0))
    numbers = Path(f"/sys/class/net/{port}/device/msi_irqs")
    if len(cpus) < 3 or not numbers.is_dir():
        return
    for number in sorted(numbers.iterdir()):
        change.file(f"/proc/irq/{number.name}/smp_affinity_list", str(cpus[0]))


def _full_speed(change: Changes) -> None:
    for path in sorted(Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")):
        change.file(str(path), "performance")


def _prepare_dut(journal: Journal, target: str, ports: tuple[str, str], theirs: tuple[str, str], say: Say) -> None:
    remote = Remote(target)
    try:
        change = Changes(There(remote), journal, say)
        say("device:")
        change.file("/proc/sys/net/ipv4/ip_forward", "1")
        for port, interface in enumerate(theirs):
            if change.machine.read(f"/sys/class/net/{interface}/address") is None:
                raise LiveError(f"--dut-ports: the device has no interface {interface}")
            change.link_up(interface)
            if re.search(r"^driver: veth$", change.machine.run("ethtool", "-i", interface), re.MULTILINE):
                # No hardware adds checksums to what the device itself sends, such as echoes of its application.
                change.command(
                    f"{interface}: tx checksums off",
                    ("ethtool", "-K", interface, "tx", "off"),
                    ("ethtool", "-K", interface, "tx", "on"),
                )
            address = f"{dut_ip(port)}/24"
            if address not in change.addresses(interface):
                change.command(
                    f"{interface}: {address}",
                    ("ip", "address", "add", address, "dev", interface),
                    ("ip", "address", "del", address, "dev", interface),
                )
            mac = _mac(ports[port])
            change.command(
                f"{interface}: {tester_ip(port)} is at {mac}",
                ("ip", "neigh", "replace", tester_ip(port), "lladdr", mac, "dev", interface, "nud", "permanent"),
                ("ip", "neigh", "del", tester_ip(port), "dev", interface),
            )
    finally:
        remote.close()


def _mac(port: str) -> str:
    found = re.search(r"link/ether (\S+)", Here().run("ip", "-o", "link", "show", "dev", port))
    if not found:
        raise LiveError(f"port {port}: not an Ethernet interface")
    return found[1]


def restore(ports: tuple[str, str], say: Say) -> None:
    """Undoes what `prepare` has changed. Raises LiveError if something could not be undone; that stays in the journal."""
    journal = Journal(ports)
    if not journal.load():
        say("nothing to restore")
        return
    journal.check()
    undo(journal, say)
    if journal.undo:
        left = "\n".join(f"  {one.what}" for one in journal.undo)
        raise LiveError(f"these changes could not be undone; {_mend(ports, journal)}:\n{left}")


def _mend(ports: tuple[str, str], journal: Journal) -> str:
    """What to do so that everything can be undone."""
    gone = [port for port in ports if not _exists(port)]
    if not gone:
        return "run `irqlab live restore` again once the causes are removed"
    return (
        f"there is no interface {' and '.join(gone)} here: run it again in its network namespace or when it is back; "
        f"if it is gone for good, delete {journal.path}"
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _exists(port: str) -> bool:
    return Path(f"/proc/sys/net/ipv4/conf/{port}").exists()


def undo(journal: Journal, say: Say, keep: int = 0, agent: Remote | None = None) -> None:
    """Undoes all but the first `keep` changes, in reverse order; what fails stays in the journal.

    `agent`: a connection to the device; None: it is made if it is needed.
    """
    remote = agent
    failed: list[Undo] = []
    lost: IrqlabError | None = None
    while len(journal.undo) > keep:
        one = journal.undo.pop()
        try:
            if one.where == "dut" and remote is None:
                if lost is not None:
                    raise lost
                try:
                    remote = Remote(journal.dut or "")
                except IrqlabError as error:
                    lost = error
                    say(f"  {error}")
                    raise
            machine: Any = There(remote) if one.where == "dut" and remote is not None else Here()
            if one.argv:
                machine.run(*one.argv)
            else:
                machine.write(one.path, one.text)
            say(f"  undone: {one.what}")
        except IrqlabError as error:
            say(f"  not undone: {one.what}: {error}")
            failed.insert(0, one)
        remaining = Journal(("", ""))
        remaining.path, remaining.dut, remaining.undo = journal.path, journal.dut, [*journal.undo, *failed]
        remaining.save()
    journal.undo += failed
    if remote is not None and remote is not agent:
        remote.close()
