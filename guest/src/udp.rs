// SPDX-License-Identifier: GPL-2.0-or-later
//! The UDP receiver: one process of normal priority that receives and counts datagrams and, with --echo, returns them. It
//! has the role of ITGRecv in Salah and Qahtan's measurements.

use crate::Ending;
use crate::counters::{Counters, print_line};
use crate::wait::{self, Wait};
use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvfrom, sendto, setsockopt, sockopt};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// What the receiver is told.
#[derive(clap::Args)]
pub struct Options {
    /// The address to receive at
    #[arg(long, default_value = "0.0.0.0")]
    bind: IpAddr,
    /// The port to receive at
    #[arg(long)]
    port: u16,
    /// Send every datagram back to where it came from
    #[arg(long)]
    echo: bool,
    /// Mark what is sent with this DSCP (RFC 2474)
    #[arg(long, value_parser = clap::value_parser!(u8).range(..64))]
    dscp: Option<u8>,
    /// Ask for a receive buffer of this size; the kernel doubles it
    #[arg(long, value_name = "BYTES")]
    rcvbuf: Option<usize>,
    #[command(flatten)]
    wait: wait::Options,
    /// The file to count in; "irqlab-guest counters" prints it [default: /run/udp-receive.PORT]
    #[arg(long)]
    file: Option<PathBuf>,
}

/// The counters: received datagrams and payload bytes, datagrams returned and not returned, failed receive calls.
const NAMES: &[&str] = &["datagrams", "bytes", "echoed", "echo_failed", "errors"];
const DATAGRAMS: usize = 0;
const BYTES: usize = 1;
const ECHOED: usize = 2;
const ECHO_FAILED: usize = 3;
const ERRORS: usize = 4;

/// Set by a signal.
static STOP: AtomicBool = AtomicBool::new(false);
/// The socket that the signal handler shuts down.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

/// Receives until SIGTERM or SIGINT. The counter file is created once datagrams can be received, and removed at the
/// end.
pub fn run(options: &Options) -> Ending {
    let address = (options.bind, options.port);
    let socket = UdpSocket::bind(address)
        .map_err(|error| format!("{}:{}: {error}", options.bind, options.port))?;
    if let Some(size) = options.rcvbuf {
        // Beyond net.core.rmem_max, if permitted.
        setsockopt(&socket, sockopt::RcvBufForce, &size)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &size))
            .map_err(|error| format!("--rcvbuf {size}: {error}"))?;
    }
    if let Some(dscp) = options.dscp {
        setsockopt(&socket, sockopt::Ipv4Tos, &(i32::from(dscp) << 2))
            .map_err(|error| format!("--dscp {dscp}: {error}"))?;
    }
    let wait = Wait::new(&options.wait, &socket)?;
    let port = socket
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    let file = options
        .file
        .clone()
        .unwrap_or_else(|| format!("/run/udp-receive.{port}").into());
    SOCKET.store(socket.as_raw_fd(), Ordering::Relaxed);
    stop_on_signals().map_err(|error| format!("signal handlers: {error}"))?;
    let counters =
        Counters::create(&file, NAMES).map_err(|error| format!("{}: {error}", file.display()))?;
    receive(&socket, &wait, options.echo, &counters, &STOP);
    counters.remove();

    let mut values = counters.values();
    let memory = memory(&socket).map_err(|error| format!("SO_MEMINFO: {error}"))?;
    values.insert("drops".into(), memory[SK_MEMINFO_DROPS].into());
    values.insert("rcvbuf".into(), memory[SK_MEMINFO_RCVBUF].into());
    print_line(&values)
}

/// The receiving loop. Ends when `stop` is set and a datagram arrives or the socket is shut down. After a wait it receives
/// until nothing is left, which a receive call that blocks never reports.
fn receive(socket: &UdpSocket, wait: &Wait, echo: bool, counters: &Counters, stop: &AtomicBool) {
    let mut buffer = [0; 1 << 16];
    let number = socket.as_raw_fd();
    let mut drained = true;
    loop {
        if std::mem::take(&mut drained) && !matches!(wait.wait(), Ok(()) | Err(Errno::EINTR)) {
            counters.add(ERRORS, 1);
        }
        // Not the standard library's, which panics if a socket that was shut down returns no sender address.
        let received = recvfrom::<SockaddrStorage>(number, &mut buffer);
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if received == Err(Errno::EAGAIN) {
            drained = true;
            continue;
        }
        let Ok((length, from)) = received else {
            counters.add(ERRORS, 1);
            continue;
        };
        counters.add(DATAGRAMS, 1);
        counters.add(BYTES, length as u64);
        if echo {
            let send = |to| sendto(number, &buffer[..length], &to, MsgFlags::empty()).ok();
            let sent = from.and_then(send).is_some();
            counters.add(if sent { ECHOED } else { ECHO_FAILED }, 1);
        }
    }
}

fn stop_on_signals() -> nix::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(stop),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        // SAFETY: the handler is async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// The signal may arrive just before the receive call blocks; shutting the socket down makes the call return nevertheless.
extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
    // SAFETY: shutdown is async-signal-safe. It sets this thread's errno (ENOTCONN for an unconnected socket), which is
    // restored.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::shutdown(SOCKET.load(Ordering::Relaxed), libc::SHUT_RD);
        *errno = before;
    }
}

// Indices into the values of SO_MEMINFO (linux/sock_diag.h).
const SK_MEMINFO_RCVBUF: usize = 1;
const SK_MEMINFO_DROPS: usize = 8;

/// The socket's memory use, including the datagrams dropped for lack of buffer space or with a bad checksum.
fn memory(socket: &UdpSocket) -> io::Result<[u32; 9]> {
    let mut values = [0u32; 9];
    let mut length = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `values`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            (&raw mut values).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(values)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Sends these datagrams to a receiver; returns the echoes and the counters.
    fn exchange(epoll: bool, echo: bool, datagrams: &[&[u8]]) -> (Vec<Vec<u8>>, serde_json::Value) {
        let directory = tempfile::tempdir().unwrap();
        let counters = Counters::create(&directory.path().join("counters"), NAMES).unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        sender
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let stop = AtomicBool::new(false);
        let wait = Wait::new(&wait::Options::new(epoll), &receiver).unwrap();
        let mut back = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| receive(&receiver, &wait, echo, &counters, &stop));
            for datagram in datagrams {
                sender.send(datagram).unwrap();
                if echo {
                    let mut buffer = [0; 2000];
                    let length = sender.recv(&mut buffer).unwrap();
                    back.push(buffer[..length].to_vec());
                }
            }
            while counters.get(DATAGRAMS).load(Ordering::Relaxed) < datagrams.len() as u64 {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            sender.send(b"").unwrap();
        });
        (back, counters.values().into())
    }

    #[test]
    fn counts() {
        let expected = serde_json::json!({"datagrams": 3, "bytes": 8, "echoed": 0, "echo_failed": 0, "errors": 0});
        for epoll in [false, true] {
            let (_, values) = exchange(epoll, false, &[b"one", b"", b"three"]);
            assert_eq!(values, expected, "epoll: {epoll}");
        }
    }

    #[test]
    fn echoes() {
        let large = [7; 1472];
        for epoll in [false, true] {
            let (back, values) = exchange(epoll, true, &[b"one", b"", &large]);
            assert_eq!(back, [b"one".to_vec(), b"".to_vec(), large.to_vec()]);
            assert_eq!(values["echoed"], 3);
            assert_eq!(values["bytes"], 1475);
        }
    }

    #[test]
    fn reads_the_sockets_memory() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        setsockopt(&socket, sockopt::RcvBuf, &10_000).unwrap();
        assert_eq!(memory(&socket).unwrap()[SK_MEMINFO_RCVBUF], 20_000);
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            sender
                .send_to(&[0; 1000], socket.local_addr().unwrap())
                .unwrap();
        }
        assert!(memory(&socket).unwrap()[SK_MEMINFO_DROPS] > 50);
    }
}
