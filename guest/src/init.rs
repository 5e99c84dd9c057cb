// SPDX-License-Identifier: GPL-2.0-or-later
//! Process 1: sets the machine up, starts the agent, reaps orphans, and powers the machine off when the agent
//! ends.
//!
//! The agent is a separate process, so that it can wait for its own children, and so that the machine powers off with a
//! message instead of a kernel panic if the agent dies. Nothing in this module may panic.

use crate::Ending;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, fork, sethostname};
use std::io::Write;

/// What to mount: file system, mount point, options; and whether a failure is reported.
const MOUNTS: &[(&str, &str, &str, bool)] = &[
    ("proc", "/proc", "", true),
    ("sysfs", "/sys", "", true),
    ("devtmpfs", "/dev", "mode=0755", true),
    ("tmpfs", "/run", "mode=0755", true),
    ("tmpfs", "/tmp", "mode=1777", true),
    ("debugfs", "/sys/kernel/debug", "", false),
];

/// Runs process 1; `agent` runs in a separate process.
pub fn run(agent: impl FnOnce() -> Ending) -> ! {
    set_up();
    // SAFETY: there is only one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            // SAFETY: the name is a C string. It is shown in process lists.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"irqlab-agent".as_ptr()) };
            let ending = agent();
            if let Err(text) = &ending {
                say(text);
            }
            std::process::exit(ending.is_err().into())
        }
        Ok(ForkResult::Parent { child }) => loop {
            match wait() {
                Ok(WaitStatus::Exited(pid, _)) if pid == child => break,
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                    say(&format!("the agent was killed by {signal}"));
                    break;
                }
                Err(Errno::ECHILD) => {
                    say("the agent is gone");
                    break;
                }
                // An orphan; or an error that does not concern the agent, such as EINVAL for a process killed by a signal
                // that nix has no name for.
                _ => {}
            }
        },
        Err(error) => say(&format!("cannot start the agent: {error}")),
    }
    power_off()
}

/// Where the agent takes its commands, by `irqlab.agent=/dev/...` on the kernel's command line; None: from the tester's command port.
pub fn agent_terminal() -> Option<String> {
    let words = std::fs::read_to_string("/proc/cmdline").ok()?;
    let word = words
        .split_whitespace()
        .find_map(|word| word.strip_prefix("irqlab.agent="));
    word.map(Into::into)
}

fn set_up() {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    for &(kind, place, options, needed) in MOUNTS {
        let _ = std::fs::create_dir(place);
        let flags = MsFlags::MS_NOSUID;
        match mount(Some(kind), place, Some(kind), flags, Some(options)) {
            // EBUSY: already mounted.
            Ok(()) | Err(Errno::EBUSY) => {}
            Err(error) if needed => say(&format!("cannot mount {place}: {error}")),
            Err(_) => {}
        }
    }
    // SAFETY: there is only one thread.
    unsafe {
        std::env::set_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        std::env::set_var("HOME", "/");
    }
    // The image contains us only as /init; commands use the name `irqlab-guest`.
    let _ = std::os::unix::fs::symlink("/init", "/bin/irqlab-guest");
    if let Err(error) = sethostname("dut") {
        say(&format!("cannot set the host name: {error}"));
    }
    seed_random();
    // IFF_UP; the kernel sets the address.
    if let Err(error) = std::fs::write("/sys/class/net/lo/flags", "0x1") {
        say(&format!("cannot bring lo up: {error}"));
    }
}

/// Seeds the kernel's random generator, always with the same seed, so that the DUT is deterministic.
///
/// Without a seed, every random number is expensive, and the slab allocator needs one for every new slab. This would cost some
/// hundred instructions per frame that a machine with an uptime of a minute does not spend.
fn seed_random() {
    /// `RNDADDENTROPY` of include/uapi/linux/random.h, and its `struct rand_pool_info`.
    const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;
    #[repr(C)]
    struct Pool {
        entropy_bits: libc::c_int,
        bytes: libc::c_int,
        seed: [u8; 32],
    }
    let pool = Pool {
        entropy_bits: 256,
        bytes: 32,
        seed: *b"irqlab: the same in every DUT...",
    };
    let seeded = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/urandom")
        .map(|random| {
            use std::os::fd::AsRawFd;
            // SAFETY: this is the structure that the request takes.
            unsafe { libc::ioctl(random.as_raw_fd(), RNDADDENTROPY, &pool) }
        });
    match seeded {
        Ok(0) => {}
        Ok(_) => say(&format!(
            "cannot seed the random generator: {}",
            std::io::Error::last_os_error()
        )),
        Err(error) => say(&format!("cannot open /dev/urandom: {error}")),
    }
}

fn power_off() -> ! {
    let Err(error) = reboot(RebootMode::RB_POWER_OFF);
    say(&format!("cannot power off: {error}"));
    loop {
        nix::unistd::pause();
    }
}

/// Prints a message on standard error; ignores errors.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "irqlab-guest: {text}");
}
