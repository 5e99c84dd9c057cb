// SPDX-License-Identifier: GPL-2.0-or-later
//! How commands arrive and answers are sent: through the tester's command port, or as lines of text.

use std::io::{self, BufRead, Write};

/// The first of the command port's eight I/O ports: command lengths are read, answer lengths written here.
pub const BASE: u16 = 0xe80;
/// The data register, four bytes at a time.
#[cfg(target_arch = "x86_64")]
const DATA: u16 = BASE + 4;
/// The number of I/O ports.
#[cfg(target_arch = "x86_64")]
const PORTS: libc::c_ulong = 8;
/// The value read from a port without a device.
const NOBODY: u32 = u32::MAX;
/// The longest command accepted. The longest ones carry a kernel module in base64.
pub const MAX_COMMAND: usize = 32 << 20;

/// The result of waiting for a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A command, not parsed yet.
    Command(Vec<u8>),
    /// The length of a command that is too long. It needs an answer nevertheless.
    TooLong(usize),
    /// There are no more commands.
    End,
}

/// A source of commands.
pub trait Port {
    /// Waits for the next command.
    fn next(&mut self) -> Result<Next, String>;
    /// Answers the command.
    fn answer(&mut self, answer: Vec<u8>) -> Result<(), String>;
}

/// The two registers of the command port. The length of every slice is a multiple of four.
pub trait Registers {
    /// Waits for a command; returns its length in bytes.
    fn read_length(&mut self) -> u32;
    /// Reads the bytes of the command.
    fn read_data(&mut self, bytes: &mut [u8]);
    /// Writes the bytes of the answer.
    fn write_data(&mut self, bytes: &[u8]);
    /// Completes the answer; `length` is in bytes.
    fn write_length(&mut self, length: u32);
}

/// The command port: lengths, and data padded to four bytes.
pub struct CommandPort<R> {
    registers: R,
}

/// Without I/O ports there is no command port: such a machine is never the lab's.
#[cfg(not(target_arch = "x86_64"))]
impl CommandPort<IoPorts> {
    /// Always an error.
    pub fn open() -> Result<Self, String> {
        Err("there is no command port on this processor: use `agent --stdio`".into())
    }
}

#[cfg(target_arch = "x86_64")]
impl CommandPort<IoPorts> {
    /// Enables access to the I/O ports, for this process only.
    pub fn open() -> Result<Self, String> {
        // SAFETY: ioperm only changes what this process may do.
        if unsafe { libc::ioperm(BASE.into(), PORTS, 1) } != 0 {
            return Err(format!(
                "no access to I/O port {BASE:#x}: {}",
                io::Error::last_os_error()
            ));
        }
        Ok(Self::new(IoPorts(())))
    }
}

impl<R: Registers> CommandPort<R> {
    /// A command port with these registers.
    pub fn new(registers: R) -> Self {
        Self { registers }
    }
}

impl<R: Registers> Port for CommandPort<R> {
    fn next(&mut self) -> Result<Next, String> {
        let length = self.registers.read_length();
        if length == NOBODY {
            return Err(format!("no tester at I/O port {BASE:#x}"));
        }
        let length = length as usize;
        if length > MAX_COMMAND {
            // Read it nevertheless, so that the tester is in the same state as after any other command.
            let mut rest = length.next_multiple_of(4);
            let mut sink = vec![0; 64 << 10];
            while rest > 0 {
                let some = rest.min(sink.len());
                self.registers.read_data(&mut sink[..some]);
                rest -= some;
            }
            return Ok(Next::TooLong(length));
        }
        let mut bytes = vec![0; length.next_multiple_of(4)];
        self.registers.read_data(&mut bytes);
        bytes.truncate(length);
        Ok(Next::Command(bytes))
    }

    fn answer(&mut self, mut answer: Vec<u8>) -> Result<(), String> {
        let length = u32::try_from(answer.len()).map_err(|_| "an answer of more than 4 GiB")?;
        answer.resize(answer.len().next_multiple_of(4), 0);
        self.registers.write_data(&answer);
        self.registers.write_length(length);
        Ok(())
    }
}

/// The real registers. Exists only where [`CommandPort::open`] has made sure of the access.
pub struct IoPorts(());

#[cfg(not(target_arch = "x86_64"))]
impl Registers for IoPorts {
    fn read_length(&mut self) -> u32 {
        NOBODY
    }
    fn read_data(&mut self, _bytes: &mut [u8]) {}
    fn write_data(&mut self, _bytes: &[u8]) {}
    fn write_length(&mut self, _length: u32) {}
}

#[cfg(target_arch = "x86_64")]
impl Registers for IoPorts {
    fn read_length(&mut self) -> u32 {
        let length;
        // SAFETY: the process has access to this port (see the type); reading it touches no memory.
        unsafe {
            std::arch::asm!("in eax, dx", in("dx") BASE, out("eax") length, options(nomem, nostack, preserves_flags));
        }
        length
    }

    fn read_data(&mut self, bytes: &mut [u8]) {
        // SAFETY: access as above; exactly `bytes.len() / 4` double words are stored into `bytes`, upwards (the ABI keeps
        // the direction flag clear).
        unsafe {
            std::arch::asm!("rep insd", in("dx") DATA, inout("rdi") bytes.as_mut_ptr() => _,
                inout("rcx") bytes.len() / 4 => _, options(nostack, preserves_flags));
        }
    }

    fn write_data(&mut self, bytes: &[u8]) {
        // SAFETY: access as above; exactly `bytes.len() / 4` double words are read from `bytes`, upwards.
        unsafe {
            std::arch::asm!("rep outsd", in("dx") DATA, inout("rsi") bytes.as_ptr() => _,
                inout("rcx") bytes.len() / 4 => _, options(nostack, preserves_flags, readonly));
        }
    }

    fn write_length(&mut self, length: u32) {
        // SAFETY: access as above; touches no memory.
        unsafe {
            std::arch::asm!("out dx, eax", in("dx") BASE, in("eax") length, options(nomem, nostack, preserves_flags));
        }
    }
}

/// Drops the access in a child of the agent. Only the agent uses the port, and an I/O permission bitmap makes every switch
/// to a task more expensive. May be called between fork and exec.
pub fn renounce() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: ioperm only changes the permissions of this process; dropping them needs no privilege.
    unsafe {
        libc::ioperm(BASE.into(), PORTS, 0)
    };
}

/// Commands and answers as lines of text, for manual use and without a tester.
pub struct Lines<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Lines<I, O> {
    /// Reads commands from `input`, writes answers to `output`.
    pub fn new(input: I, output: O) -> Self {
        Self { input, output }
    }
}

impl<I: BufRead, O: Write> Port for Lines<I, O> {
    fn next(&mut self) -> Result<Next, String> {
        let mut line = Vec::new();
        match self.input.read_until(b'\n', &mut line) {
            Ok(0) => Ok(Next::End),
            Ok(_) => Ok(Next::Command(line)),
            Err(error) => Err(format!("cannot read commands: {error}")),
        }
    }

    fn answer(&mut self, mut answer: Vec<u8>) -> Result<(), String> {
        answer.push(b'\n');
        let written = self
            .output
            .write_all(&answer)
            .and_then(|()| self.output.flush());
        written.map_err(|error| format!("cannot write answers: {error}"))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The tester's side of the registers: provides commands, takes answers, and checks the framing.
    #[derive(Default)]
    pub struct FakeTester {
        pub commands: std::collections::VecDeque<Vec<u8>>,
        pub answers: Vec<Vec<u8>>,
        pub words: usize,
        unread: Vec<u8>,
        written: Vec<u8>,
    }

    impl Registers for &mut FakeTester {
        fn read_length(&mut self) -> u32 {
            assert!(
                self.unread.is_empty(),
                "the command before was not taken whole"
            );
            assert!(self.written.is_empty(), "an answer was left incomplete");
            let Some(command) = self.commands.pop_front() else {
                return NOBODY;
            };
            let length = command.len() as u32;
            self.unread = command;
            self.unread
                .resize(self.unread.len().next_multiple_of(4), 0xee);
            length
        }

        fn read_data(&mut self, bytes: &mut [u8]) {
            assert_eq!(bytes.len() % 4, 0);
            self.words += bytes.len() / 4;
            bytes.copy_from_slice(&self.unread[..bytes.len()]);
            self.unread.drain(..bytes.len());
        }

        fn write_data(&mut self, bytes: &[u8]) {
            assert_eq!(bytes.len() % 4, 0);
            self.words += bytes.len() / 4;
            self.written.extend_from_slice(bytes);
        }

        fn write_length(&mut self, length: u32) {
            let length = length as usize;
            assert_eq!(self.written.len(), length.next_multiple_of(4));
            assert!(
                self.written[length..].iter().all(|&byte| byte == 0),
                "padding is zero"
            );
            let mut answer = std::mem::take(&mut self.written);
            answer.truncate(length);
            self.answers.push(answer);
        }
    }

    #[test]
    fn commands_and_answers_are_padded_to_four_bytes() {
        for length in 0..9 {
            let text: Vec<u8> = (1..=length).collect();
            let mut tester = FakeTester::default();
            tester.commands.push_back(text.clone());
            let mut port = CommandPort::new(&mut tester);
            assert_eq!(port.next().unwrap(), Next::Command(text.clone()));
            port.answer(text.clone()).unwrap();
            assert_eq!(port.next().unwrap_err(), "no tester at I/O port 0xe80");
            assert_eq!(tester.answers, [text]);
            assert_eq!(tester.words, 2 * usize::from(length).div_ceil(4));
        }
    }

    #[test]
    fn a_command_too_long_is_taken_but_not_kept() {
        let mut tester = FakeTester::default();
        tester
            .commands
            .extend([vec![b' '; MAX_COMMAND + 1], b"next".to_vec()]);
        let mut port = CommandPort::new(&mut tester);
        assert_eq!(port.next().unwrap(), Next::TooLong(MAX_COMMAND + 1));
        assert_eq!(port.next().unwrap(), Next::Command(b"next".to_vec()));
    }

    #[test]
    fn lines() {
        let mut output = Vec::new();
        let mut port = Lines::new(&b"one\ntwo"[..], &mut output);
        assert_eq!(port.next().unwrap(), Next::Command(b"one\n".to_vec()));
        port.answer(b"1".to_vec()).unwrap();
        assert_eq!(port.next().unwrap(), Next::Command(b"two".to_vec()));
        assert_eq!(port.next().unwrap(), Next::End);
        assert_eq!(output, b"1\n");
    }
}
