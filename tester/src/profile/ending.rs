// SPDX-License-Identifier: GPL-2.0-or-later
//! How a block of x86-64 instructions ends, as far as a shadow stack needs it.

use iced_x86::Mnemonic;

use crate::x86;

/// The effect of a block's last instruction on the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    /// None: it falls through, jumps, or does something else.
    #[default]
    Other,
    /// `call`, near.
    Call,
    /// `ret`, near.
    Return,
    /// `iret`.
    InterruptReturn,
}

/// The effect of an instruction, given by its bytes, on the stack.
pub fn ending(instruction: &[u8]) -> Ending {
    match x86::decode(instruction).mnemonic() {
        Mnemonic::Call => Ending::Call,
        Mnemonic::Ret => Ending::Return,
        Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => Ending::InterruptReturn,
        _ => Ending::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_jumps_and_returns() {
        for (bytes, expected) in [
            (&[0xe8, 1, 2, 3, 4][..], Ending::Call),
            (&[0xff, 0xd0], Ending::Call),              // call *%rax
            (&[0x41, 0xff, 0xd3], Ending::Call),        // call *%r11
            (&[0x3e, 0x41, 0xff, 0xd3], Ending::Call),  // notrack call *%r11
            (&[0xff, 0x53, 0x10], Ending::Call),        // call *0x10(%rbx)
            (&[0x2e, 0xe8, 1, 2, 3, 4], Ending::Call),  // as the kernel pads them
            (&[0xff, 0xe0], Ending::Other),             // jmp *%rax
            (&[0xff, 0x35, 1, 2, 3, 4], Ending::Other), // push
            (&[0xc3], Ending::Return),
            (&[0xf3, 0xc3], Ending::Return),
            (&[0xc2, 8, 0], Ending::Return),
            (&[0x48, 0xcf], Ending::InterruptReturn),
            (&[0xeb, 0xc3], Ending::Other),       // jmp
            (&[0x0f, 0xc3, 0x07], Ending::Other), // movnti
            (&[0x90], Ending::Other),
            (&[], Ending::Other),
        ] {
            assert_eq!(ending(bytes), expected, "{bytes:02x?}");
        }
    }
}
