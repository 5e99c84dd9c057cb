// SPDX-License-Identifier: GPL-2.0-or-later
//! The places of the drivers where memory order or a lock decides, as models for loom: each is run in all interleavings, and
//! with all values that a load may return.
//!
//! A module is named like its litmus test in `drivers/irqmod/litmus`, which states the same in the kernel's own model. Each has a
//! test of the algorithm as it is in the driver, and tests that remove one barrier, or the lock, and must fail.
//! `unmask_against_stop` has no litmus test: what decides there is not memory order but the order of locks and waits.
//!
//! The kernel's primitives here: `smp_mb()` is `fence(SeqCst)`; `smp_store_release()` and `smp_load_acquire()` are stores and loads
//! with `Release` and `Acquire`; `READ_ONCE()` and `WRITE_ONCE()` are `Relaxed`. An atomic operation that returns a value is
//! ordered like one between two `smp_mb()`.

#[cfg(test)]
mod event_against_work;
#[cfg(test)]
mod full_against_wake;
#[cfg(test)]
mod hybrid_owner;
#[cfg(test)]
mod limits_against_pass;
#[cfg(test)]
mod open_urb;
#[cfg(test)]
mod returned_descriptors;
#[cfg(test)]
mod ring_handover;
#[cfg(test)]
mod timer_against_xmit;
#[cfg(test)]
mod unmask_against_completion;
#[cfg(test)]
mod unmask_against_stop;
