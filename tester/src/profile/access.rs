// SPDX-License-Identifier: GPL-2.0-or-later
//! Accesses to devices: memory-mapped registers (MMIO), identified by their physical address, and I/O ports.

use iced_x86::Mnemonic;
use serde::Serialize;

use crate::x86;

/// The kind of register that an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// A memory-mapped register.
    Mmio,
    /// An I/O port. Its number is in a register of the processor, which the plugin cannot read.
    Port,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The kind of register.
    pub space: Space,
    /// The physical address; 0 for a port.
    pub address: u64,
    /// Whether it writes.
    pub write: bool,
}

/// The accesses to one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The kind of register.
    pub space: Space,
    /// The physical address; 0 for ports.
    pub address: u64,
    /// How many reads.
    pub reads: u64,
    /// How many writes.
    pub writes: u64,
}

/// The access of an instruction to a port, given by its bytes: `in`, `out`, and their string forms.
pub fn port(instruction: &[u8]) -> Option<Access> {
    let write = match x86::decode(instruction).mnemonic() {
        Mnemonic::In | Mnemonic::Insb | Mnemonic::Insw | Mnemonic::Insd => false,
        Mnemonic::Out | Mnemonic::Outsb | Mnemonic::Outsw | Mnemonic::Outsd => true,
        _ => return None,
    };
    Some(Access {
        space: Space::Port,
        address: 0,
        write,
    })
}

/// Counts an access.
pub fn add(counts: &mut Vec<Count>, access: Access) {
    let found = counts
        .iter()
        .position(|c| (c.space, c.address) == (access.space, access.address));
    let at = found.unwrap_or_else(|| {
        counts.push(Count {
            space: access.space,
            address: access.address,
            reads: 0,
            writes: 0,
        });
        counts.len() - 1
    });
    if access.write {
        counts[at].writes += 1;
    } else {
        counts[at].reads += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_and_written() {
        for (bytes, expected) in [
            (&[0xec][..], Some(false)),        // in (%dx),%al
            (&[0x66, 0xed], Some(false)),      // in (%dx),%ax
            (&[0xe4, 0x71], Some(false)),      // in $0x71,%al
            (&[0xee], Some(true)),             // out %al,(%dx)
            (&[0xe7, 0x80], Some(true)),       // out %eax,$0x80
            (&[0xf3, 0x6d], Some(false)),      // rep insl
            (&[0xf3, 0x66, 0x6f], Some(true)), // rep outsw
            (&[0x0f, 0xec, 0xc1], None),       // paddsb
            (&[0x48, 0x89, 0xec], None),       // mov %rbp,%rsp
            (&[0xe8, 0xec, 0xec, 0, 0], None), // call
            (&[], None),
        ] {
            assert_eq!(
                port(bytes).map(|access| access.write),
                expected,
                "{bytes:02x?}"
            );
        }
    }
}
