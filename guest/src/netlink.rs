// SPDX-License-Identifier: GPL-2.0-or-later
//! Generic netlink: requests and answers as messages of attributes (Documentation/userspace-api/netlink/intro.rst).

use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

/// `struct nlmsghdr` and `struct genlmsghdr`.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
/// `struct nlattr`.
const ATTRIBUTE_HEADER: usize = 4;
const ALIGNMENT: usize = 4;
/// The length of `struct nlmsgerr` without the message that it repeats.
const ERROR_CODE: usize = 4;
/// The longest answer of the kernel to one read.
const BUFFER: usize = 1 << 16;

const CONTROLLER: u16 = libc::GENL_ID_CTRL as u16;
const GET_FAMILY: u8 = libc::CTRL_CMD_GETFAMILY as u8;
const FAMILY_ID: u16 = libc::CTRL_ATTR_FAMILY_ID as u16;
const FAMILY_NAME: u16 = libc::CTRL_ATTR_FAMILY_NAME as u16;
/// `NLMSGERR_ATTR_MSG`: the kernel's explanation of an error.
const EXPLANATION: u16 = 1;

/// Attributes by type.
pub type Attributes = BTreeMap<u16, Vec<u8>>;

/// What the kernel refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error number.
    pub errno: i32,
    /// The kernel's explanation; may be empty.
    pub explanation: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        match self.explanation.as_str() {
            "" => write!(to, "{error}"),
            text => write!(to, "{error}: {text}"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self {
            errno: error.raw_os_error().unwrap_or(libc::EIO),
            explanation: String::new(),
        }
    }
}

/// A request to a family.
pub struct Request {
    family: u16,
    flags: u16,
    command: u8,
    attributes: Vec<u8>,
}

impl Request {
    /// Asks for one object, or to change it.
    pub fn new(family: u16, command: u8) -> Self {
        Self {
            family,
            flags: (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16,
            command,
            attributes: Vec::new(),
        }
    }

    /// Asks for all objects.
    pub fn dump(family: u16, command: u8) -> Self {
        Self {
            flags: (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16,
            ..Self::new(family, command)
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (ATTRIBUTE_HEADER + value.len()) as u16;
        self.attributes.extend(length.to_ne_bytes());
        self.attributes.extend(kind.to_ne_bytes());
        self.attributes.extend(value);
        self.attributes
            .resize(self.attributes.len().next_multiple_of(ALIGNMENT), 0);
        self
    }

    /// Adds a number as the kernel's `uint`: of 32 bits if they are enough, else of 64.
    pub fn with_uint(self, kind: u16, value: u64) -> Self {
        match u32::try_from(value) {
            Ok(short) => self.with(kind, &short.to_ne_bytes()),
            Err(_) => self.with(kind, &value.to_ne_bytes()),
        }
    }

    fn encode(&self, sequence: u32) -> Vec<u8> {
        let length = HEADER + GENERIC_HEADER + self.attributes.len();
        let mut message = Vec::with_capacity(length);
        message.extend((length as u32).to_ne_bytes());
        message.extend(self.family.to_ne_bytes());
        message.extend(self.flags.to_ne_bytes());
        message.extend(sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes()); // port: the kernel's
        message.extend([self.command, 1, 0, 0]); // version 1, reserved
        message.extend(&self.attributes);
        message
    }
}

/// A number of 4 or 8 bytes.
pub fn number(value: &[u8]) -> Option<u64> {
    if let Ok(short) = value.try_into() {
        return Some(u32::from_ne_bytes(short).into());
    }
    value.try_into().ok().map(u64::from_ne_bytes)
}

/// One of the messages that answer a request.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Object(Attributes),
    /// No more messages follow.
    End,
    Refused(Refusal),
}

/// The messages that one read returned. An incomplete one is an error (EBADMSG).
fn decode(mut rest: &[u8]) -> Result<Vec<Answer>, Refusal> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = u32_at(rest, 0).ok_or_else(bad)? as usize;
        let message = rest.get(..length).ok_or_else(bad)?;
        let body = message.get(HEADER..).ok_or_else(bad)?;
        let kind = u16_at(message, 4).ok_or_else(bad)?;
        let flags = u16_at(message, 6).ok_or_else(bad)?;
        found.push(match i32::from(kind) {
            libc::NLMSG_DONE | libc::NLMSG_ERROR => ending(body, flags)?,
            _ => Answer::Object(attributes(body.get(GENERIC_HEADER..).ok_or_else(bad)?)?),
        });
        rest = rest
            .get(length.next_multiple_of(ALIGNMENT)..)
            .unwrap_or_default();
    }
    Ok(found)
}

/// The last message: success, or an error with the kernel's explanation. The request's header precedes the explanation, and
/// is all that is repeated of it (NETLINK_CAP_ACK).
fn ending(body: &[u8], flags: u16) -> Result<Answer, Refusal> {
    let code = u32_at(body, 0).ok_or_else(bad)? as i32;
    if code == 0 {
        return Ok(Answer::End);
    }
    let explained = flags & libc::NLM_F_ACK_TLVS as u16 != 0;
    let text = body
        .get(ERROR_CODE + HEADER..)
        .filter(|_| explained)
        .map(attributes)
        .transpose()?
        .and_then(|mut found| found.remove(&EXPLANATION))
        .unwrap_or_default();
    Ok(Answer::Refused(Refusal {
        errno: -code,
        explanation: String::from_utf8_lossy(&text).trim_end_matches('\0').into(),
    }))
}

fn attributes(mut rest: &[u8]) -> Result<Attributes, Refusal> {
    let mut found = Attributes::new();
    while !rest.is_empty() {
        let length = usize::from(u16_at(rest, 0).ok_or_else(bad)?);
        let kind = u16_at(rest, 2).ok_or_else(bad)? & libc::NLA_TYPE_MASK as u16;
        let value = rest.get(ATTRIBUTE_HEADER..length).ok_or_else(bad)?;
        found.insert(kind, value.to_vec());
        rest = rest
            .get(length.next_multiple_of(ALIGNMENT)..)
            .unwrap_or_default();
    }
    Ok(found)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let value = bytes.get(at..at + 2)?;
    value.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let value = bytes.get(at..at + 4)?;
    value.try_into().ok().map(u32::from_ne_bytes)
}

fn bad() -> Refusal {
    io::Error::from_raw_os_error(libc::EBADMSG).into()
}

/// A connection to the kernel's generic netlink.
pub struct Connection {
    socket: File,
    sequence: u32,
}

impl Connection {
    /// Opens it.
    pub fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkGeneric,
        )?;
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            let on: libc::c_int = 1;
            // SAFETY: the value of these options is an int, to which the pointer refers.
            let result = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_NETLINK,
                    option,
                    (&raw const on).cast(),
                    size_of_val(&on) as libc::socklen_t,
                )
            };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self {
            socket: File::from(socket),
            sequence: 0,
        })
    }

    /// The number of a family. Refused with ENOENT if the kernel does not have it.
    pub fn family(&mut self, name: &str) -> Result<u16, Refusal> {
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let request = Request::new(CONTROLLER, GET_FAMILY).with(FAMILY_NAME, &text);
        let answers = self.call(&request)?;
        answers
            .first()
            .and_then(|found| u16_at(found.get(&FAMILY_ID)?, 0))
            .ok_or_else(bad)
    }

    /// Sends a request, and returns the objects of the answer.
    pub fn call(&mut self, request: &Request) -> Result<Vec<Attributes>, Refusal> {
        self.sequence += 1;
        self.socket.write_all(&request.encode(self.sequence))?;
        let mut objects = Vec::new();
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = self.socket.read(&mut buffer)?;
            for answer in decode(&buffer[..length])? {
                match answer {
                    Answer::Object(found) => objects.push(found),
                    Answer::End => return Ok(objects),
                    Answer::Refused(why) => return Err(why),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
        let mut whole = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        whole.extend(kind.to_ne_bytes());
        whole.extend(flags.to_ne_bytes());
        whole.extend([0; 8]);
        whole.extend(body);
        whole.resize(whole.len().next_multiple_of(ALIGNMENT), 0);
        whole
    }

    #[test]
    fn a_request_is_encoded() {
        let request = Request::new(0x1c, 14)
            .with(2, &7u32.to_ne_bytes())
            .with_uint(7, 20_000_000)
            .with_uint(6, 1 << 40)
            .with(9, b"a");
        let bytes = request.encode(3);
        // nlmsghdr: length, type, REQUEST | ACK, sequence, port; genlmsghdr: command, version.
        let mut expected = vec![56, 0, 0, 0, 0x1c, 0, 5, 0, 3, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([14, 1, 0, 0]);
        expected.extend([8, 0, 2, 0, 7, 0, 0, 0]);
        expected.extend([8, 0, 7, 0, 0x00, 0x2d, 0x31, 0x01]);
        expected.extend([12, 0, 6, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        expected.extend([5, 0, 9, 0, b'a', 0, 0, 0]);
        assert_eq!(bytes, expected);
        assert_eq!(Request::dump(1, 1).encode(1)[6..8], [1, 3]);
    }

    #[test]
    fn answers_are_decoded() {
        let mut object = vec![11, 1, 0, 0];
        object.extend([8, 0, 2, 0, 9, 0, 0, 0]);
        object.extend([5, 0, 3, 0x80, b'x', 0, 0, 0]); // NLA_F_NESTED is not part of the type
        let mut bytes = message(0x1c, 2, &object);
        bytes.extend(message(libc::NLMSG_DONE as u16, 2, &[0; 4]));
        let expected = Attributes::from([(2, vec![9, 0, 0, 0]), (3, vec![b'x'])]);
        assert_eq!(
            decode(&bytes).unwrap(),
            [Answer::Object(expected), Answer::End]
        );
    }

    #[test]
    fn a_refusal_has_the_kernels_explanation() {
        let mut body = (-libc::EINVAL).to_ne_bytes().to_vec();
        body.extend([0; HEADER]);
        let plain = message(libc::NLMSG_ERROR as u16, 0, &body);
        body.extend([10, 0, 1, 0]);
        body.extend(b"bad x\0");
        let explained = message(libc::NLMSG_ERROR as u16, libc::NLM_F_ACK_TLVS as u16, &body);
        let refused = |explanation: &str| {
            [Answer::Refused(Refusal {
                errno: libc::EINVAL,
                explanation: explanation.into(),
            })]
        };
        assert_eq!(decode(&plain).unwrap(), refused(""));
        assert_eq!(decode(&explained).unwrap(), refused("bad x"));
    }

    #[test]
    fn incomplete_messages_are_errors() {
        let whole = message(0x1c, 0, &[11, 1, 0, 0, 8, 0, 2, 0, 9, 0, 0, 0]);
        for length in 1..whole.len() {
            assert_eq!(decode(&whole[..length]).unwrap_err(), bad(), "{length}");
        }
        let mut short = whole.clone();
        short[20] = 3; // shorter than an attribute's header
        assert_eq!(decode(&short).unwrap_err(), bad());
        let mut long = whole;
        long[20] = 200;
        assert_eq!(decode(&long).unwrap_err(), bad());
    }

    #[test]
    fn numbers_have_4_or_8_bytes() {
        assert_eq!(number(&[1, 0, 0, 0]), Some(1));
        assert_eq!(number(&[0, 0, 0, 0, 1, 0, 0, 0]), Some(1 << 32));
        assert_eq!(number(&[1, 0]), None);
    }

    #[test]
    fn the_kernel_answers() {
        let mut connection = Connection::open().unwrap();
        assert_eq!(connection.family("nlctrl").unwrap(), CONTROLLER);
        let missing = connection.family("no-such-family").unwrap_err();
        assert_eq!(missing.errno, libc::ENOENT);
        assert!(missing.to_string().starts_with("No such file"));
    }
}
