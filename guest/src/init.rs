// SPDX-License-Identifier: GPL-2.0-or-later
//! Process 1: sets the machine up, starts the agent, and from then on only waits: for orphans, which it is the parent
//! of, and for the agent's end, at which it switches the machine off.
//!
//! The agent is a process of its own, so its children are its own to wait for, and if it should die the machine ends
//! with a message instead of a kernel panic. Nothing here may panic.

use crate::Ending;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, fork, sethostname};
use std::io::Write;

/// What to mount: file system, place, options; and whether it matters if that fails.
const MOUNTS: &[(&str, &str, &str, bool)] = &[
    ("proc", "/proc", "", true),
    ("sysfs", "/sys", "", true),
    ("devtmpfs", "/dev", "mode=0755", true),
    ("tmpfs", "/run", "mode=0755", true),
    ("tmpfs", "/tmp", "mode=1777", true),
    ("debugfs", "/sys/kernel/debug", "", false),
];

/// Does all that; `agent` runs in a process of its own.
pub fn run(agent: impl FnOnce() -> Ending) -> ! {
    set_up();
    // SAFETY: there is only one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            // SAFETY: the name is a C string; it is for whoever looks at a list of processes.
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
                // An orphan; or an error that says nothing about the agent, such as EINVAL for an end by a signal that
                // has no name.
                _ => {}
            }
        },
        Err(error) => say(&format!("cannot start the agent: {error}")),
    }
    power_off()
}

fn set_up() {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    for &(kind, place, options, needed) in MOUNTS {
        let _ = std::fs::create_dir(place);
        let flags = MsFlags::MS_NOSUID;
        match mount(Some(kind), place, Some(kind), flags, Some(options)) {
            // EBUSY: it is mounted already.
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
    // The image holds us as /init only; in commands we are `irqlab-guest`.
    let _ = std::os::unix::fs::symlink("/init", "/bin/irqlab-guest");
    if let Err(error) = sethostname("dut") {
        say(&format!("cannot set the host name: {error}"));
    }
    seed_random();
    // IFF_UP; the kernel gives it its address.
    if let Err(error) = std::fs::write("/sys/class/net/lo/flags", "0x1") {
        say(&format!("cannot bring lo up: {error}"));
    }
}

/// Gives the kernel's random generator its seed: the same every time, as all in the DUT is.
///
/// Until it has one, the kernel makes every random number anew and at length, and the slab allocator asks for one with every new
/// slab: some hundred instructions a frame that a machine which is up for a minute does not spend.
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
            // SAFETY: the structure is the one that this request takes.
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

/// Says something on standard error, if that is possible.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "irqlab-guest: {text}");
}
