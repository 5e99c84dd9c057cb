// SPDX-License-Identifier: GPL-2.0-or-later
//! Perturbs the kernel's allocators: makes many objects, frees some of them in a random order, and keeps the rest.
//!
//! What is kept belongs to a background process that sleeps for ever, so it takes no CPU time. The lab writes this program into
//! the device under test (src/irqlab/perturb/churn.py): it is not in the guest image, since another image is another boot.

use clap::{Parser, ValueEnum};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, send, setsockopt, socket, socketpair, sockopt,
};
use nix::unistd::{ForkResult, fork, pause, pipe, read, write};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

/// Makes and frees kernel objects in an order that depends only on the seed.
#[derive(Parser)]
#[command(name = "irqlab-churn", version)]
struct Options {
    /// What to allocate
    what: What,
    /// Seed of the random numbers
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Objects of the slab allocator: sockets, packets, pipes
    Slab,
    /// Pages: files of many sizes
    Pages,
}

/// Objects made; those that are not kept are freed, and as many made again.
const OBJECTS: u64 = 96;
const ROUNDS: usize = 2;
/// Shares of a thousand that are freed in a round, at least and at most.
const FREED: (u64, u64) = (300, 800);
const MAX_PACKETS: u64 = 6;
const MAX_PACKET: u64 = 2000;
const MAX_PAGES: u64 = 16;
const PAGE: usize = 4096;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and less than `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// An object: all its descriptors are closed when it is freed.
type Object = Vec<OwnedFd>;

fn main() -> ExitCode {
    let options = Options::parse();
    match churn_in_background(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("irqlab-churn: {text}");
            ExitCode::FAILURE
        }
    }
}

/// Returns when the background process is done and sleeps.
fn churn_in_background(options: &Options) -> Result<(), String> {
    let (done, tell) = pipe().map_err(|error| format!("pipe: {error}"))?;
    // SAFETY: the process has one thread.
    match unsafe { fork() }.map_err(|error| format!("fork: {error}"))? {
        ForkResult::Parent { .. } => {
            drop(tell);
            let mut answer = [0; 1];
            match read(&done, &mut answer) {
                Ok(1) => Ok(()),
                _ => Err("the background process failed".into()),
            }
        }
        ForkResult::Child => {
            drop(done);
            let kept = churn(options.what, &mut Random(options.seed))?;
            write(&tell, b"!").map_err(|error| format!("pipe: {error}"))?;
            drop(tell);
            loop {
                pause();
                std::hint::black_box(&kept);
            }
        }
    }
}

/// Makes and frees; returns what is kept.
fn churn(what: What, random: &mut Random) -> Result<Vec<Object>, String> {
    let mut kept = Vec::new();
    for _ in 0..ROUNDS {
        while (kept.len() as u64) < OBJECTS {
            kept.push(match what {
                What::Slab => object(random)?,
                What::Pages => pages(random)?,
            });
        }
        let share = FREED.0 + random.below(FREED.1 - FREED.0);
        for _ in 0..OBJECTS * share / 1000 {
            let place = random.below(kept.len() as u64) as usize;
            kept.swap_remove(place);
        }
    }
    Ok(kept)
}

/// A pair of sockets with packets in them, a socket, or a pipe with data.
fn object(random: &mut Random) -> Result<Object, String> {
    let trouble = |error: nix::errno::Errno| format!("sockets and pipes: {error}");
    match random.below(4) {
        0 => {
            let (reader, writer) = pipe().map_err(trouble)?;
            let length = 1 + random.below(MAX_PACKET * 4) as usize;
            write(&writer, &vec![0; length]).map_err(trouble)?;
            Ok(vec![reader, writer])
        }
        1 => {
            let kind = [SockType::Datagram, SockType::Stream][random.below(2) as usize];
            Ok(vec![
                socket(AddressFamily::Inet, kind, SockFlag::empty(), None).map_err(trouble)?,
            ])
        }
        _ => {
            let (left, right) = socketpair(
                AddressFamily::Unix,
                SockType::Datagram,
                None,
                SockFlag::empty(),
            )
            .map_err(trouble)?;
            setsockopt(&left, sockopt::SndBuf, &(1 << 20)).map_err(trouble)?;
            for _ in 0..random.below(MAX_PACKETS) {
                let packet = vec![0; 1 + random.below(MAX_PACKET) as usize];
                send(left.as_raw_fd(), &packet, MsgFlags::MSG_DONTWAIT).map_err(trouble)?;
            }
            Ok(vec![left, right])
        }
    }
}

/// A file in memory.
fn pages(random: &mut Random) -> Result<Object, String> {
    let trouble = |error: &dyn std::fmt::Display| format!("files: {error}");
    let file = memfd_create("churn", MFdFlags::empty()).map_err(|error| trouble(&error))?;
    let mut file = File::from(file);
    let count = 1 + random.below(MAX_PAGES) as usize;
    for _ in 0..count {
        file.write_all(&[1; PAGE])
            .map_err(|error| trouble(&error))?;
    }
    Ok(vec![file.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut random = Random(seed);
            (0..4).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        // The first output of the reference implementation for the seed 0.
        assert_eq!(Random(0).next(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn something_is_kept_and_something_freed() {
        for what in [What::Slab, What::Pages] {
            let kept = churn(what, &mut Random(7)).unwrap().len() as u64;
            assert!(
                (OBJECTS * 2 / 10..OBJECTS * 7 / 10 + 1).contains(&kept),
                "{kept}"
            );
        }
    }
}
