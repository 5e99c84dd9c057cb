// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the DUT's kernel enters interrupts: the addresses in its interrupt descriptor table.

use std::collections::HashSet;

use super::machine;

/// Linux maps the table here, whatever else is randomised (arch/x86/include/asm/pgtable_areas.h, CPU_ENTRY_AREA_RO_IDT).
const TABLE: u64 = 0xffff_fe00_0000_0000;
/// Vectors below are exceptions (Intel SDM, volume 3, 6.2).
const FIRST_VECTOR: usize = 32;
const GATE_BYTES: usize = 16;
const VECTORS: usize = 256;

/// Where interrupts are entered. An error if the table is not there.
pub fn entries() -> Result<HashSet<u64>, String> {
    let table = machine::read(TABLE, VECTORS * GATE_BYTES).unwrap_or_default();
    let found = of_table(&table);
    if found.is_empty() {
        return Err("the memory model cannot tell where this kernel enters interrupts: use hardware without \"interrupt\"".into());
    }
    Ok(found)
}

/// The addresses of the interrupt gates that are present (Intel SDM, volume 3, figure 6-8).
fn of_table(table: &[u8]) -> HashSet<u64> {
    let gates = table.chunks_exact(GATE_BYTES).skip(FIRST_VECTOR);
    gates
        .filter(|gate| gate[5] & 0x9f == 0x8e)
        .map(|gate| {
            u64::from_le_bytes([
                gate[0], gate[1], gate[6], gate[7], gate[8], gate[9], gate[10], gate[11],
            ])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_interrupts_are_found() {
        let mut table = vec![0; 64 * GATE_BYTES];
        for (vector, kind) in [(3, 0x8e), (32, 0x8e), (33, 0xee), (40, 0x0e), (41, 0x8f)] {
            let gate = [
                vector as u8,
                0x12,
                0x10,
                0,
                0,
                kind,
                0x34,
                0x56,
                0xff,
                0xff,
                0xff,
                0xff,
                0,
                0,
                0,
                0,
            ];
            table[vector * GATE_BYTES..][..GATE_BYTES].copy_from_slice(&gate);
        }
        let found = of_table(&table);
        assert_eq!(
            found,
            HashSet::from([0xffff_ffff_5634_1220, 0xffff_ffff_5634_1221])
        );
    }

    #[test]
    fn no_table_has_no_entries() {
        assert!(of_table(&[]).is_empty());
    }
}
