// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors that the lab is told of: words for the user, and a kind by which programs tell them apart (docs/inside/protocol.md).

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// The number of Linux's error for what is not supported.
const EOPNOTSUPP: i32 = 95;

/// What an error means to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The command is wrong, comes at the wrong time, or failed.
    Refused,
    /// This QEMU, these NICs or their driver cannot do it.
    Unsupported,
    /// The agent gave no answer within its time.
    Silent,
}

/// An error with its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// For the user.
    #[serde(rename = "error")]
    pub text: String,
    /// For programs.
    pub kind: Kind,
}

/// Linux's number of the error (errno(3)).
const EOPNOTSUPP: i32 = 95;

impl Refusal {
    /// Something that cannot be done here.
    pub fn unsupported(text: impl Into<String>) -> Self {
        Refusal {
            text: text.into(),
            kind: Kind::Unsupported,
        }
    }

    /// The same, with the place where it happened.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Refusal {
            text: format!("{place}: {}", self.text),
            ..self
        }
    }

    /// What the agent says about a command that failed.
    pub fn of_agent(text: String) -> Self {
        // This is how Rust's errors of the operating system end.
        let unsupported = text.ends_with(&format!("(os error {EOPNOTSUPP})"));
        let kind = if unsupported {
            Kind::Unsupported
        } else {
            Kind::Refused
        };
        Refusal { text, kind }
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Refusal {
            text,
            kind: Kind::Refused,
        }
    }
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl Display for Refusal {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dut_s_kernel_does_not_support_has_a_kind_of_its_own() {
        for (text, kind) in [
            (
                "write /a: Operation not supported (os error 95)",
                Kind::Unsupported,
            ),
            ("write /a: Device busy (os error 16)", Kind::Refused),
            ("write /a (os error 95): bad base64", Kind::Refused),
        ] {
            let refusal = Refusal::of_agent(text.into());
            assert_eq!((refusal.text.as_str(), refusal.kind), (text, kind));
        }
    }

    #[test]
    fn a_place_leaves_the_kind() {
        let refusal = Refusal::unsupported("no cards").at("start");
        assert_eq!(refusal.to_string(), "start: no cards");
        assert_eq!(refusal.kind, Kind::Unsupported);
        assert_eq!(Refusal::from("no").kind, Kind::Refused);
    }
}
