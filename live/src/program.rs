// SPDX-License-Identifier: GPL-2.0-or-later
//! The program that the kernel runs for every frame that arrives at an AF_XDP port: it notes the time before the frame and passes it
//! to our socket. It is attached through a link, so the kernel removes it when our process ends, however it ends (bpf(2)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Written before the time, so that a time can be told from what was there before.
pub const MAGIC: u64 = 0x4952_5154_494d_4531;
/// Magic and time, in bytes.
pub const STAMP_BYTES: usize = 16;

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const ADJUST_META: i32 = 54;
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;

/// How the program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver.
    Native,
    /// Behind it, in the kernel's receive path; any driver can do that.
    Generic,
}

impl Mode {
    fn flags(self) -> u32 {
        match self {
            Mode::Native => 1 << 2,
            Mode::Generic => 1 << 1,
        }
    }

    /// For the result.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Native => "native",
            Mode::Generic => "generic",
        }
    }
}

/// The program, attached; dropping it removes it.
pub struct Attached {
    _map: OwnedFd,
    _program: OwnedFd,
    _link: OwnedFd,
}

/// Attaches the program to an interface, for the socket of queue 0.
pub fn attach(interface: u32, socket: RawFd, mode: Mode) -> io::Result<Attached> {
    let map = bpf(
        BPF_MAP_CREATE,
        &mut Words::new(&[BPF_MAP_TYPE_XSKMAP, 4, 4, 1]),
    )?;
    let (key, value) = (0_u32, socket as u32);
    let mut update = Words::new(&[map.as_raw_fd() as u32]);
    update.address(8, (&raw const key) as u64);
    update.address(16, (&raw const value) as u64);
    call(BPF_MAP_UPDATE_ELEM, &mut update)?;
    let code = instructions(map.as_raw_fd());
    let licence = c"GPL";
    let mut load = Words::new(&[BPF_PROG_TYPE_XDP, code.len() as u32]);
    load.address(8, code.as_ptr() as u64);
    load.address(16, licence.as_ptr() as u64);
    let program = bpf(BPF_PROG_LOAD, &mut load)?;
    let link = bpf(
        BPF_LINK_CREATE,
        &mut Words::new(&[program.as_raw_fd() as u32, interface, BPF_XDP, mode.flags()]),
    )?;
    Ok(Attached {
        _map: map,
        _program: program,
        _link: link,
    })
}

/// The argument of bpf(2).
#[repr(C, align(8))]
struct Words([u32; 36]);

impl Words {
    fn new(first: &[u32]) -> Self {
        let mut words = [0; 36];
        words[..first.len()].copy_from_slice(first);
        Words(words)
    }

    fn address(&mut self, at: usize, address: u64) {
        self.0[at / 4] = address as u32;
        self.0[at / 4 + 1] = (address >> 32) as u32;
    }
}

fn call(command: libc::c_long, words: &mut Words) -> io::Result<i32> {
    // SAFETY: the words have the size that is said; addresses in them are valid during the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            words.0.as_mut_ptr(),
            size_of::<Words>(),
        )
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(done as i32)
    }
}

fn bpf(command: libc::c_long, words: &mut Words) -> io::Result<OwnedFd> {
    // SAFETY: these commands return a new descriptor.
    call(command, words).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An instruction: code, destination, source, offset, immediate value.
const fn op(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    (code as u64)
        | ((to as u64) << 8)
        | ((from as u64) << 12)
        | ((offset as u16 as u64) << 16)
        | ((value as u32 as u64) << 32)
}

const MOVE: u8 = 0xbf;
const MOVE_VALUE: u8 = 0xb7;
const ADD_VALUE: u8 = 0x07;
const LOAD_WORD: u8 = 0x61;
const STORE_DOUBLE: u8 = 0x7b;
const LOAD_WIDE: u8 = 0x18;
const JUMP_UNEQUAL: u8 = 0x55;
const JUMP_GREATER: u8 = 0x2d;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The wide value is a map's descriptor.
const IS_MAP: u8 = 1;

/// The program; registers are named by number. r6: the context (struct xdp_md).
fn instructions(map: RawFd) -> Vec<u64> {
    let stamp = STAMP_BYTES as i32;
    vec![
        op(MOVE, 6, 1, 0, 0),
        op(MOVE_VALUE, 2, 0, 0, -stamp),
        op(CALL, 0, 0, 0, ADJUST_META),
        op(JUMP_UNEQUAL, 0, 0, 10, 0), // no room before the frame: no time
        op(CALL, 0, 0, 0, KTIME_GET_NS),
        op(LOAD_WORD, 2, 6, 8, 0), // data_meta
        op(LOAD_WORD, 3, 6, 0, 0), // data
        op(MOVE, 4, 2, 0, 0),
        op(ADD_VALUE, 4, 0, 0, stamp),
        op(JUMP_GREATER, 4, 3, 4, 0),
        op(STORE_DOUBLE, 2, 0, 8, 0),
        op(LOAD_WIDE, 5, 0, 0, MAGIC as i32),
        (MAGIC >> 32) << 32,
        op(STORE_DOUBLE, 2, 5, 0, 0),
        op(LOAD_WORD, 2, 6, 16, 0), // rx_queue_index
        op(LOAD_WIDE, 1, IS_MAP, 0, map),
        0,
        op(MOVE_VALUE, 3, 0, 0, XDP_PASS),
        op(CALL, 0, 0, 0, REDIRECT_MAP),
        op(EXIT, 0, 0, 0, 0),
    ]
}
