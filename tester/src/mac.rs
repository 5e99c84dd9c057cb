// SPDX-License-Identifier: GPL-2.0-or-later
//! Ethernet addresses.

use serde::{Deserialize, Deserializer, de::Error};

/// An Ethernet address (IEEE 802), written `52:54:00:00:00:01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether it is a group's address (multicast or broadcast).
    pub fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Reads one; None: it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next()?;
            if part.len() != 2 || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            *octet = u8::from_str_radix(part, 16).ok()?;
        }
        parts.next().is_none().then_some(Mac(octets))
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Mac::parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not an Ethernet address such as 52:54:00:00:00:01"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_strictly() {
        assert_eq!(
            Mac::parse("52:54:00:aB:Cd:ff"),
            Some(Mac([0x52, 0x54, 0, 0xab, 0xcd, 0xff]))
        );
        for wrong in [
            "",
            "52:54:00:00:00",
            "52:54:00:00:00:01:02",
            "52:54:00:00:00:1",
            "+1:54:00:00:00:01",
            "ä:1",
        ] {
            assert_eq!(Mac::parse(wrong), None, "{wrong}");
        }
        assert!(Mac([0xff; 6]).is_group());
        assert!(!Mac([0x52, 0x54, 0, 0, 0, 1]).is_group());
    }
}
