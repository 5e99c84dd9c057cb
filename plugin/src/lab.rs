// SPDX-License-Identifier: GPL-2.0-or-later
//! The socket to the lab (docs/inside/protocol.md, link 1).

use std::ffi::c_int;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use super::api::Callback;
use super::die::{die, exit};
use super::main_loop;

/// The tester's end of the socket.
pub struct Lab {
    input: BufReader<UnixStream>,
    output: UnixStream,
}

impl Lab {
    /// Takes the socket over, and ends QEMU when the lab closes its end.
    ///
    /// # Safety
    /// `fd` is a socket that nothing else in this process uses.
    pub unsafe fn connect(fd: RawFd) -> Result<Lab, String> {
        // SAFETY: the caller's promise.
        let output = unsafe { UnixStream::from_raw_fd(fd) };
        let input = output.try_clone().map_err(|e| format!("fd={fd}: {e}"))?;
        std::thread::spawn(move || watch(fd));
        Ok(Lab {
            input: BufReader::new(input),
            output,
        })
    }

    /// Waits for the next line. Ends QEMU if the lab is gone.
    pub fn next_line(&mut self) -> String {
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) | Err(_) => die("the lab is gone"),
            Ok(_) => line,
        }
    }

    /// Whether there is something to read.
    pub fn has_line(&self) -> bool {
        !self.input.buffer().is_empty() || is_readable(self.output.as_raw_fd(), 0)
    }

    /// Has `callback` called in the main loop once there is something to read. A callback that waits already is enough.
    pub fn when_readable(&self, callback: Callback) {
        static WAITING: AtomicBool = AtomicBool::new(false);
        if WAITING.swap(true, Ordering::SeqCst) {
            return;
        }
        let fd = self.output.as_raw_fd();
        std::thread::spawn(move || {
            block_signals();
            while !is_readable(fd, -1) {}
            WAITING.store(false, Ordering::SeqCst);
            main_loop::call_soon(callback);
        });
    }

    /// Sends a line. Ends QEMU if the lab is gone.
    pub fn say(&mut self, line: &str) {
        if writeln!(self.output, "{line}").is_err() {
            die("the lab is gone");
        }
    }
}

/// All signals in the calling thread, which is one of our own.
fn block_signals() {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

/// Whether there is something to read, within so many ms; -1: waits for it.
fn is_readable(fd: RawFd, limit_ms: c_int) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: polls a descriptor that stays open.
    unsafe { libc::poll(&mut poll, 1, limit_ms) > 0 }
}

/// Ends QEMU as soon as the lab's end of the socket closes, whatever the guest is doing.
fn watch(fd: RawFd) {
    block_signals();
    // SAFETY: polls a descriptor that stays open.
    unsafe {
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLRDHUP,
            revents: 0,
        };
        loop {
            if libc::poll(&mut poll, 1, -1) > 0 && poll.revents != 0 {
                exit(0);
            }
        }
    }
}
