// SPDX-License-Identifier: GPL-2.0-or-later
//! Instructions of x86-64, decoded by the crate iced-x86.

use iced_x86::{Decoder, DecoderError, DecoderOptions, Instruction};

/// The instruction that these bytes begin with; an invalid one if they are none.
pub fn decode(code: &[u8]) -> Instruction {
    decoder(code).decode()
}

/// Whether these bytes are only the beginning of an instruction.
pub fn is_incomplete(code: &[u8]) -> bool {
    let mut decoder = decoder(code);
    let _ = decoder.decode();
    decoder.last_error() == DecoderError::NoMoreBytes
}

fn decoder(code: &[u8]) -> Decoder<'_> {
    Decoder::new(64, code, DecoderOptions::NONE)
}
