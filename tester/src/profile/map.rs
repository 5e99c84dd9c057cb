// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions of the device under test's kernel: where each begins, and which of them change the context.

use serde::Deserialize;

/// Kernel addresses begin here, user space ends before (Documentation/x86/x86_64/mm.rst).
pub const KERNEL_BASE: u64 = 0xffff_8000_0000_0000;
/// The number of the function that stands for all of user space.
pub const USER: u32 = 0;

/// What entering a function means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing special.
    #[default]
    None,
    /// The processor enters one of its many stubs for an interrupt.
    Vectors,
    /// The processor, or a stub, enters it for an interrupt.
    Interrupt,
    /// The processor enters it for an exception; the faulting instruction does not count as executed.
    Exception,
    /// It runs softirqs.
    Softirq,
    /// It belongs to the idle task.
    Idle,
    /// It switches to another task's stack.
    Switch,
}

/// The addresses that the lab sends: ADDRESSES of docs/inside/protocol.md.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// Where functions begin, ascending.
    pub functions: Vec<u64>,
    /// Of these: functions that consist of stubs, one for each interrupt vector.
    #[serde(default)]
    pub vectors: Vec<u64>,
    /// Entered for interrupts, by the processor or from a stub.
    #[serde(default)]
    pub interrupt: Vec<u64>,
    /// Entered for exceptions.
    #[serde(default)]
    pub exception: Vec<u64>,
    /// Run softirqs.
    #[serde(default)]
    pub softirq: Vec<u64>,
    /// The idle task's.
    #[serde(default)]
    pub idle: Vec<u64>,
    /// Switch tasks.
    #[serde(default)]
    pub switch: Vec<u64>,
}

/// The functions, numbered by address. [`USER`] is user space; the next number is kernel code before the first function.
#[derive(Debug)]
pub struct Map {
    starts: Vec<u64>,
    marks: Vec<Mark>,
}

impl Map {
    /// Checks the lab's addresses and makes the map.
    pub fn new(addresses: &Addresses) -> Result<Self, String> {
        let mut starts = vec![0, KERNEL_BASE];
        for &address in &addresses.functions {
            if address <= starts[starts.len() - 1] {
                return Err(format!(
                    "functions: {address:#x}: addresses must ascend, from above {KERNEL_BASE:#x}"
                ));
            }
            starts.push(address);
        }
        let mut marks = vec![Mark::None; starts.len()];
        for (name, marked, mark) in [
            ("vectors", &addresses.vectors, Mark::Vectors),
            ("interrupt", &addresses.interrupt, Mark::Interrupt),
            ("exception", &addresses.exception, Mark::Exception),
            ("softirq", &addresses.softirq, Mark::Softirq),
            ("idle", &addresses.idle, Mark::Idle),
            ("switch", &addresses.switch, Mark::Switch),
        ] {
            for address in marked {
                let at = starts
                    .binary_search(address)
                    .map_err(|_| format!("{name}: {address:#x} is not among the functions"))?;
                marks[at] = mark;
            }
        }
        Ok(Map { starts, marks })
    }

    /// The number of the function that contains an address.
    pub fn function(&self, address: u64) -> u32 {
        (self.starts.partition_point(|start| *start <= address) - 1) as u32
    }

    /// Where a function begins.
    pub fn start(&self, function: u32) -> u64 {
        self.starts[function as usize]
    }

    /// Where a function begins; 0 if there is no such function.
    pub fn start_or_zero(&self, function: u32) -> u64 {
        self.starts
            .get(function as usize)
            .copied()
            .unwrap_or_default()
    }

    /// What entering it means.
    pub fn mark(&self, function: u32) -> Mark {
        self.marks[function as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(functions: &[u64]) -> Addresses {
        Addresses {
            functions: functions.into(),
            vectors: vec![],
            interrupt: vec![],
            exception: vec![],
            softirq: vec![],
            idle: vec![],
            switch: vec![],
        }
    }

    #[test]
    fn every_address_lies_in_a_function() {
        let map = Map::new(&addresses(&[KERNEL_BASE + 16, KERNEL_BASE + 32])).unwrap();
        for (address, function) in [
            (0, USER),
            (0x40_0000, USER),
            (KERNEL_BASE - 1, USER),
            (KERNEL_BASE, 1),
            (KERNEL_BASE + 15, 1),
            (KERNEL_BASE + 16, 2),
            (KERNEL_BASE + 31, 2),
            (KERNEL_BASE + 32, 3),
            (u64::MAX, 3),
        ] {
            assert_eq!(map.function(address), function, "{address:#x}");
        }
        assert_eq!(map.start(3), KERNEL_BASE + 32);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Map::new(&addresses(&[KERNEL_BASE + 2, KERNEL_BASE + 1])).is_err());
        assert!(Map::new(&addresses(&[5])).is_err());
        let mut stray = addresses(&[KERNEL_BASE + 2]);
        stray.softirq = vec![KERNEL_BASE + 3];
        assert!(Map::new(&stray).unwrap_err().contains("softirq"));
    }
}
