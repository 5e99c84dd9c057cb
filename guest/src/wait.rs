// SPDX-License-Identifier: GPL-2.0-or-later
//! How the receiver waits for datagrams: it blocks in the receive call, or in epoll_wait(); while it waits, it may poll the
//! device (Documentation/networking/napi.rst, "Busy polling").

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// How to wait.
#[derive(clap::Args)]
#[group(id = "wait")]
pub struct Options {
    /// Wait in epoll_wait() and then take what is there, instead of blocking in the receive call
    #[arg(long)]
    epoll: bool,
    /// Poll the device this long before going to sleep; with --epoll 0 means once
    #[arg(long, value_name = "USEC")]
    busy_poll: Option<u32>,
    /// Take at most so many frames at a time while polling the device
    #[arg(long, value_name = "N", requires = "epoll")]
    busy_poll_budget: Option<u16>,
    /// Keep the device's interrupts masked while polling it: NAPI's gro-flush-timeout or irq-suspend-timeout ends that
    #[arg(long, requires = "epoll")]
    prefer_busy_poll: bool,
}

#[cfg(test)]
impl Options {
    /// Without polling the device.
    pub fn new(epoll: bool) -> Self {
        Self {
            epoll,
            busy_poll: None,
            busy_poll_budget: None,
            prefer_busy_poll: false,
        }
    }
}

/// The kernel's default for polling by a process (BUSY_POLL_BUDGET).
const BUDGET: u16 = 8;
/// What epoll_wait() polls for if it has no parameters of its own.
const BUSY_POLL_SYSCTL: &str = "/proc/sys/net/core/busy_poll";

/// A way to wait.
pub enum Wait {
    /// In the receive call.
    Block,
    /// In epoll_wait(); the receive call does not block.
    Epoll(Epoll),
}

impl Wait {
    /// Prepares the socket.
    pub fn new(options: &Options, socket: &UdpSocket) -> Result<Self, String> {
        if options.epoll {
            return epoll(options, socket).map(Self::Epoll);
        }
        if let Some(time) = options.busy_poll {
            socket_busy_poll(socket, time)
                .map_err(|error| format!("--busy-poll {time}: {error}"))?;
        }
        Ok(Self::Block)
    }

    /// Waits until there may be something to receive.
    pub fn wait(&self) -> nix::Result<()> {
        match self {
            Self::Block => Ok(()),
            Self::Epoll(epoll) => {
                let mut events = [EpollEvent::empty()];
                epoll.wait(&mut events, EpollTimeout::NONE).map(|_| ())
            }
        }
    }
}

fn epoll(options: &Options, socket: &UdpSocket) -> Result<Epoll, String> {
    let made = || -> nix::Result<Epoll> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        Ok(epoll)
    };
    let epoll = made().map_err(|error| format!("epoll: {error}"))?;
    socket
        .set_nonblocking(true)
        .map_err(|error| format!("O_NONBLOCK: {error}"))?;
    if options.busy_poll.is_none()
        && options.busy_poll_budget.is_none()
        && !options.prefer_busy_poll
    {
        return Ok(epoll);
    }
    let parameters = libc::epoll_params {
        busy_poll_usecs: options.busy_poll.unwrap_or(0),
        busy_poll_budget: options.busy_poll_budget.unwrap_or(BUDGET),
        prefer_busy_poll: options.prefer_busy_poll.into(),
        __pad: 0,
    };
    match set_parameters(&epoll, &parameters) {
        Err(Errno::ENOTTY) => without_parameters(options).map(|()| epoll),
        Err(error) => Err(format!("EPIOCSPARAMS: {error}")),
        Ok(()) => Ok(epoll),
    }
}

fn set_parameters(epoll: &Epoll, parameters: &libc::epoll_params) -> nix::Result<()> {
    // SAFETY: the pointer refers to the structure that this ioctl reads.
    let result = unsafe {
        libc::ioctl(
            epoll.0.as_raw_fd(),
            libc::EPIOCSPARAMS,
            std::ptr::from_ref(parameters),
        )
    };
    Errno::result(result).map(|_| ())
}

/// Kernels before 6.9: the time is the same for all processes; budget and preference are fixed.
fn without_parameters(options: &Options) -> Result<(), String> {
    if options.prefer_busy_poll || options.busy_poll_budget.is_some() {
        return Err(
            "the kernel has no EPIOCSPARAMS, which --prefer-busy-poll and --busy-poll-budget need: \
             it came with Linux 6.9"
                .into(),
        );
    }
    let time = options.busy_poll.unwrap_or(0).to_string();
    std::fs::write(BUSY_POLL_SYSCTL, time).map_err(|error| format!("{BUSY_POLL_SYSCTL}: {error}"))
}

fn socket_busy_poll(socket: &UdpSocket, time: u32) -> io::Result<()> {
    let time = libc::c_int::try_from(time).map_err(io::Error::other)?;
    // SAFETY: the value of this option is an int, to which the pointer refers.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BUSY_POLL,
            (&raw const time).cast(),
            size_of_val(&time) as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(arguments: &[&str]) -> Result<Options, clap::Error> {
        let line = Line::try_parse_from(["x"].iter().chain(arguments))?;
        Ok(line.options)
    }

    #[test]
    fn epoll_makes_the_socket_nonblocking() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let wait = Wait::new(&options(&["--epoll"]).unwrap(), &socket).unwrap();
        assert!(matches!(wait, Wait::Epoll(_)));
        let error = socket.recv(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        wait.wait().unwrap();
        assert_eq!(socket.recv(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn parameters_of_epoll_need_epoll() {
        assert!(options(&["--prefer-busy-poll"]).is_err());
        assert!(options(&["--busy-poll-budget", "8"]).is_err());
        assert!(options(&["--busy-poll", "8"]).is_ok());
    }

    #[test]
    fn older_kernels_have_no_preference() {
        for arguments in [
            ["--epoll", "--prefer-busy-poll"],
            ["--epoll", "--busy-poll-budget=9"],
        ] {
            let error = without_parameters(&options(&arguments).unwrap()).unwrap_err();
            assert!(error.contains("6.9"), "{error}");
        }
    }

    #[test]
    fn the_kernel_takes_the_parameters_or_has_none() {
        let epoll = Epoll::new(EpollCreateFlags::empty()).unwrap();
        let parameters = libc::epoll_params {
            busy_poll_usecs: 50,
            busy_poll_budget: 8,
            prefer_busy_poll: 1,
            __pad: 0,
        };
        assert!(matches!(
            set_parameters(&epoll, &parameters),
            Ok(()) | Err(Errno::ENOTTY)
        ));
    }
}
