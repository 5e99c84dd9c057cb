// SPDX-License-Identifier: GPL-2.0-or-later
//! The socket to the lab (docs/protocol.md, link 1).

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;

use super::die::{die, exit};

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

    /// Sends a line. Ends QEMU if the lab is gone.
    pub fn say(&mut self, line: &str) {
        if writeln!(self.output, "{line}").is_err() {
            die("the lab is gone");
        }
    }
}

/// Ends QEMU as soon as the lab's end of the socket closes, whatever the guest is doing.
fn watch(fd: RawFd) {
    // SAFETY: blocks all signals in the calling thread, which is our own; polls a descriptor that stays open.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
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
