# SPDX-License-Identifier: GPL-2.0-or-later
"""Debugging: GDB's packets, a trial that is a list of instructions, listings, coverage, and fields that change."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from elftools.elf.elffile import ELFFile

from irqlab.cli import debug as command
from irqlab.debug import state, symbols, trace
from irqlab.debug.debuggee import Debuggee, Goto, Motion, Pause, Script
from irqlab.debug.evidence import replay_of
from irqlab.debug.server import Client, Server
from irqlab.errors import IrqlabError
from irqlab.hunting.options import Options
from irqlab.profile import coverage
from irqlab.profile.listing import Instruction, Listing
from irqlab.profile.symbols import Symbol, Symbols
from irqlab.qemu.gdb import framed, packet_in
from irqlab.trials.hunt import HuntTrial

NS = 4
"""An instruction."""
HOT = (0x100, 0x200)
"""The program executes 0x100 and 0x200 in turn, with ten other instructions after each; 0x200 writes to 0x9000."""
IDLE_AFTER, IDLE_NS = 30, 1_000
END_NS = 5_000


def test_packets_are_found_in_what_arrives() -> None:
    assert framed(b"g") == b"$g#67"
    assert packet_in(b"+$OK#9a$m1") == (b"OK", b"$m1")
    assert packet_in(b"+$OK#9") is None
    assert packet_in(b"++") is None


class Program:
    """A trial of which everything is known: QEMU, its stub and the tester in one. After 30 instructions it idles for 1,000 ns."""

    def __init__(self) -> None:
        self.count, self.now_ns = 0, 0
        self.instruction_ns, self.first_ns, self.end_ns = NS, 0, END_NS
        self.points: set[tuple[bytes, int]] = set()
        self.stub = self

    @property
    def pc(self) -> int:
        return HOT[self.count // 11 % 2] if self.count % 11 == 0 else 0x1000 + self.count

    def ask(self, request: bytes) -> bytes:
        if request == b"qC":
            return b"QC01"
        if request.startswith(b"qSupported"):
            return b"PacketSize=1000"
        kind, address = request[1:2], int(request.split(b",")[1], 16)
        if request[:1] == b"Z":
            self.points.add((kind, address))
        elif (kind, address) in self.points:
            self.points.remove((kind, address))
        else:
            return b"E22"
        return b"OK"

    def execute(self) -> bytes:
        """One instruction; returns the stub's notification if it wrote where a watchpoint is."""
        wrote = self.pc == HOT[1]
        if self.count == IDLE_AFTER and self.now_ns < IDLE_AFTER * NS + IDLE_NS:
            self.now_ns = IDLE_AFTER * NS + IDLE_NS
        self.count += 1
        self.now_ns += NS
        return b"T05watch:9000;thread:01;" if wrote and (b"2", 0x9000) in self.points else b""

    def pause(self, halted: bool, reply: bytes) -> Pause:
        idles = self.count == IDLE_AFTER and self.now_ns > IDLE_AFTER * NS
        return Pause(self.now_ns, self.count, IDLE_AFTER * NS if idles else self.now_ns, halted, reply)

    def move(self, motion: Motion) -> Pause:
        if isinstance(motion, Goto):
            if motion.at_ns < self.now_ns:
                assert not self.points, "breakpoints would be hit on the way"
                self.count, self.now_ns = 0, 0
            return self.run_until(motion.at_ns)
        if motion.request == b"s":
            return self.pause(False, self.execute() or b"T05thread:01;")
        return self.run_until(END_NS if motion.until_ns is None else motion.until_ns)

    def run_until(self, until_ns: int) -> Pause:
        while self.now_ns < until_ns:
            if (b"1", self.pc) in self.points:
                return self.pause(False, b"T05thread:01;")
            if self.count == IDLE_AFTER and until_ns < IDLE_AFTER * NS + IDLE_NS:
                self.now_ns = until_ns
                break
            if reply := self.execute():
                return self.pause(False, reply)
        return self.pause(True, b"T02thread:01;")


def session(program: Program, at_ns: int, *requests: bytes) -> list[bytes]:
    """What GDB is answered."""
    here, there = socket.socketpair()
    with here, there:
        for request in requests:
            here.sendall(framed(request))
        here.shutdown(socket.SHUT_WR)
        server = Server(cast(Debuggee, program), Client(there))

        def script() -> Script[None]:
            yield from server.script((yield Goto(at_ns)))

        running = script()
        motion = next(running)
        try:
            while True:
                motion = running.send(program.move(motion))
        except StopIteration:
            pass
        there.close()
        received = b""
        while new := here.recv(4096):
            received += new
    answers = []
    while (found := packet_in(received)) is not None:
        packet, received = found
        answers.append(packet)
    return answers


def test_gdb_is_told_that_there_is_a_way_back() -> None:
    assert session(Program(), 0, b"qSupported:x+") == [b"PacketSize=1000;ReverseStep+;ReverseContinue+"]


@pytest.mark.parametrize("at_ns", [4 * NS, IDLE_AFTER * NS + 400, IDLE_AFTER * NS + IDLE_NS + 2 * NS])
def test_a_step_back_undoes_one_instruction_also_over_idle_time(at_ns: int) -> None:
    program = Program()
    program.run_until(at_ns)
    before = program.count
    assert session(program, at_ns, b"bs") == [b"T05thread:01;"]
    assert program.count == before - 1
    assert program.now_ns <= at_ns


def test_the_beginning_is_told() -> None:
    program = Program()
    assert session(program, NS, b"bs", b"bs", b"bc") == [
        b"T05thread:01;",
        b"T05replaylog:begin;thread:01;",
        b"T05replaylog:begin;thread:01;",
    ]
    assert program.count == 0


def test_the_end_is_told() -> None:
    program = Program()
    assert session(program, 0, b"vCont;c", b"c") == [b"T05replaylog:end;thread:01;"] * 2
    assert program.now_ns == END_NS


def test_back_to_the_last_breakpoint_and_the_one_before() -> None:
    program = Program()
    counts = []
    for back in (1, 2, 3):
        program.points.clear()
        answers = session(program, END_NS, b"Z1,100,1", *[b"bc"] * back)
        assert answers[-1] == b"T05thread:01;"
        assert program.pc == HOT[0]
        counts.append(program.count)
    assert counts[0] - counts[1] == counts[1] - counts[2] == 22
    assert counts[0] > (END_NS - IDLE_NS) // NS - 22, "it was the last one"


def test_back_to_before_the_last_write() -> None:
    program = Program()
    answers = session(program, 11 * NS + NS, b"Z2,9000,8", b"bc")
    assert answers == [b"OK", b"T05watch:9000;thread:01;"]
    assert (program.pc, program.count) == (HOT[1], 11), "just after it was made, it is undone"


def test_points_are_where_gdb_has_put_them_after_going_back() -> None:
    program = Program()
    session(program, 2_000, b"Z1,100,1", b"Z2,9000,8", b"bc", b"bs", b"z2,9000,8", b"bc")
    assert program.points == {(b"1", 0x100)}


def test_the_instant_can_be_asked_for_and_chosen() -> None:
    asked = [b"qRcmd," + text.hex().encode() for text in (b"when", b"goto 60", b"goto 99999", b"goto x", b"help")]
    said = [bytes.fromhex(answer.decode()).decode() for answer in session(Program(), 40, *asked)]
    assert said[0] == "40 ns after the start of the window, 10 instructions since power-on\n"
    assert said[1].startswith("60 ns ")
    assert "allowed are 0 to 5000 ns" in said[2]
    assert "goto x: " in said[3]
    assert "allowed are when, and goto NS" in said[4]


def test_the_file_of_names_is_elf_with_all_functions() -> None:
    known = Symbols([Symbol(0xFFFFFFFF81000000, "startup"), Symbol(0xFFFFFFFFC0001000, "cp_poll", "8139cp")])
    path = Path("/dev/shm/irqlab-names-test.elf")
    path.write_bytes(symbols.elf(known))
    try:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            found = {one.name: one["st_value"] for one in table.iter_symbols() if one.name}  # type: ignore[union-attr]
    finally:
        path.unlink()
    assert found == {"startup": 0xFFFFFFFF81000000, "cp_poll": 0xFFFFFFFFC0001000}


CODE = Listing(
    [
        Instruction(0x1000, "call   1005 <poll+0x5>", "poll", "rx.c:10", 0x1005),
        Instruction(0x1005, "mov    %eax,0x3c(%rdx)", "poll", "rx.c:11", 0x1008),
        Instruction(0x1008, "ret", "poll", "rx.c:12", 0x1009),
        Instruction(0x1009, "nopl   0x0(%rax)", "poll", "", 0x1010),
        Instruction(0x1010, "ret", "isr", "rx.c:20", 0),
    ]
)


def test_an_address_within_an_instruction_belongs_to_its_function() -> None:
    assert CODE.at(0x1005) == CODE.instructions[1]
    inside = CODE.at(0x1002)
    assert inside is not None
    assert (inside.function, inside.text) == ("poll", "")
    assert CODE.at(0xFFF) is None
    assert CODE.entries() == {0x1000: "poll", 0x1010: "isr"}


def test_coverage_counts_instructions_that_do_something() -> None:
    poll, isr = coverage.coverage(CODE, {0x1005, 0x1009, 0x5000})
    assert (poll.function, poll.instructions, poll.tried) == ("poll", 3, 1)
    assert [(line.offset, line.tried) for line in poll.listing] == [(0, False), (5, True), (8, False)]
    assert (isr.instructions, isr.tried, isr.listing) == (1, 0, ())
    assert coverage.totals([poll, isr]) == (4, 1)
    assert poll.share == 1 / 3


@pytest.mark.parametrize(
    ("operand", "expected"),
    [("$0x40", 0x40), ("%al", 0x78), ("%eax", 0x12345678), ("%ax", 0x5678), ("%r9b", 0x99), ("%r9", 0x1199), ("(%rax)", None)],
)
def test_the_value_that_is_written_to_a_register(operand: str, expected: int | None) -> None:
    assert trace._value(operand, {"rax": 0xFF12345678, "r9": 0x1199}) == expected


def test_addresses_of_operands() -> None:
    registers = {"rdx": 0x2000, "rcx": 3}
    for text, expected in (("mov %eax,0x3c(%rdx)", 0x203C), ("mov -0x8(%rdx,%rcx,4),%al", 0x2004), ("mov (%rdx),%al", 0x2000)):
        found = trace._MEMORY.search(text)
        assert found is not None
        assert trace._address(found, registers) == expected


def test_the_registers_of_a_nic_are_read_by_its_model() -> None:
    found = state.State([], [state.Registers(0x5000, 0x6000, "eth0", 0)], "rtl8139")
    content = {0x503E: b"\x40\x00", 0x503C: b"\x7f\x00"}
    assert found.registers(lambda address, _: content[address]) == "eth0: cause 0x0040, enabled 0x007f"
    assert found.register(0x5037) == "eth0+0x37"
    assert found.register(0x6000) is None
    assert state.State([], found.mappings, "vmxnet3").registers(lambda *_: b"") == ""


def test_the_replay_of_a_finding_is_the_last_pair() -> None:
    replay = replay_of(HuntTrial(pairs=3, first_gap_ns=100, step_ns=4))
    assert (replay.first_ns, replay.second_ns) == (17_000_000, 17_000_108)
    assert replay.trial["pairs"] == 3


def test_a_trace_is_shown_around_an_event() -> None:
    steps = [trace.Step(n, "enter", f"f{n}", 0, "", (), "") for n in range(10)]
    steps[5] = trace.Step(5, "event", "the second frame arrives, while", 1, "rx.c:3", ("a 1 → 2",), "eth0: cause 0x40")
    lines = trace.shown(steps, 1, 1, None)
    assert [line[0] for line in lines] == [" ", ">", " ", " ", " ", "("]
    assert [line.split("ns")[-1].strip() for line in lines] == [
        "enter f4",
        "event the second frame arrives, while  [rx.c:3]",
        "a 1 → 2",
        "eth0: cause 0x40",
        "enter f6",
        "(7 more steps are in the report and in the JSON file)",
    ]
    steps[8] = trace.Step(8, "event", "the next frame arrives", 0, "", (), "")
    assert trace.shown(steps, 0, 0, 5)[0].startswith(">       5 ns    event the second frame arrives")
    assert trace.shown(steps, 0, 0, None)[0].startswith(">       8 ns  event the next frame arrives")


def test_the_functions_that_held_the_processor_are_named_with_their_time() -> None:
    told = [(0, "enter", "work, called by a timer", 0), (10, "enter", "inner", 1), (400, "leave", "inner", 1),
            (500, "leave", "work", 0), (520, "enter", "poll, called by net_rx", 0), (540, "leave", "poll", 0),
            (600, "enter", "work, called by a timer", 0), (800, "leave", "work", 0)]  # fmt: skip
    steps = [trace.Step(at, what, text, depth, "", (), "") for at, what, text, depth in told]
    assert trace.held_by(steps, 100, 700).replace("\u202f", " ") == "work 500 ns, the kernel 80 ns"
    assert trace.held_by(steps, 0, 520).replace("\u202f", " ") == "work 500 ns"
    assert trace.held_by(steps, 300, 560).replace("\u202f", " ") == "work 200 ns, the kernel 40 ns"
    assert trace.held_by([], 0, 50).replace("\u202f", " ") == "the kernel 50 ns"


@pytest.mark.parametrize("what", ["memory", "functional"])
def test_without_exact_instants_there_is_no_debugging(what: str) -> None:
    config = SimpleNamespace(cpus=1, memory=object() if what == "memory" else None, functional=what == "functional")
    with pytest.raises(IrqlabError, match=r"no instant|cannot go back to an instant"):
        Debuggee(cast(Any, SimpleNamespace(config=config)), cast(Any, None))


def test_too_many_traces_are_refused() -> None:
    with pytest.raises(IrqlabError, match="--traces"):
        Options(traces=-1)


def test_findings_have_the_numbers_that_hunt_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first cannot be replayed, and still counts."""
    findings = [{"what": "late"}, {"what": "late", "replay": {}}]
    row = {"method": "hunt", "complete": True, "summary": {"testbed": {}}, "samples": [{"findings": findings}]}
    monkeypatch.setattr("irqlab.cli.debug.catalogue.read", lambda file: {"measured": {"results": [row]}})
    request = SimpleNamespace(testbeds=[SimpleNamespace(driver=command.UNKNOWN)])
    with pytest.raises(IrqlabError, match=r"^--finding 1: allowed are 2, which can be replayed$"):
        command._found(Path("found.json"), 1, request)  # type: ignore[arg-type]
    del findings[1]
    with pytest.raises(IrqlabError, match=r"^found\.json has no finding that can be replayed$"):
        command._found(Path("found.json"), 1, request)  # type: ignore[arg-type]
