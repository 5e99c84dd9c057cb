// SPDX-License-Identifier: GPL-2.0-or-later
//! The common parts of both ends of iperf3's protocol (iperf_api.h of iperf 3.12): states, cookies, and JSON preceded by its length.

use serde_json::{Value, json};

use super::flow::Flow;
use super::net::{Handle, Net};

/// The cookie: 36 characters and NUL.
pub const COOKIE_BYTES: usize = 37;
/// The largest UDP payload in an Ethernet frame, in bytes.
pub const MAX_DATAGRAM_BYTES: usize = 1472;
/// The most streams a test has.
pub const MAX_STREAMS: usize = 128;
const MAX_JSON_BYTES: usize = 1 << 20;

/// A state, one byte on the control connection.
#[allow(missing_docs)]
pub mod state {
    pub const TEST_START: i8 = 1;
    pub const TEST_RUNNING: i8 = 2;
    pub const TEST_END: i8 = 4;
    pub const PARAM_EXCHANGE: i8 = 9;
    pub const CREATE_STREAMS: i8 = 10;
    pub const SERVER_TERMINATE: i8 = 11;
    pub const CLIENT_TERMINATE: i8 = 12;
    pub const EXCHANGE_RESULTS: i8 = 13;
    pub const DISPLAY_RESULTS: i8 = 14;
    pub const IPERF_DONE: i8 = 16;
    pub const ACCESS_DENIED: i8 = -1;
    pub const SERVER_ERROR: i8 = -2;
}

/// The contents of a client's first datagram.
pub const UDP_HELLO: u32 = 0x3637_3839;
/// The server's answer to it.
pub const UDP_ANSWER: u32 = 0x3938_3736;

/// The control connection.
#[derive(Debug)]
pub struct Control {
    /// The connection.
    pub handle: Handle,
    inbox: Vec<u8>,
}

impl Control {
    /// A control connection over this TCP connection.
    pub fn new(handle: Handle) -> Self {
        Control {
            handle,
            inbox: Vec::new(),
        }
    }

    /// Reads what was received; returns whether the other end has closed the connection.
    pub fn fill(&mut self, net: &mut Net) -> bool {
        let tcp = net.tcp(self.handle);
        self.inbox.extend(tcp.receiver.read(usize::MAX));
        self.inbox.is_empty()
            && (tcp.state() == super::tcp::State::Broken || tcp.receiver.is_done())
    }

    /// Takes this many bytes, once they were received.
    pub fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.inbox.len() >= count).then(|| self.inbox.drain(..count).collect())
    }

    /// Takes a state.
    pub fn state(&mut self) -> Option<i8> {
        self.bytes(1).map(|bytes| bytes[0] as i8)
    }

    /// Takes a JSON document. An error is permanent.
    pub fn json(&mut self) -> Option<Result<Value, String>> {
        let length = self.inbox.first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_JSON_BYTES {
            return Some(Err(format!("a JSON document of {length} bytes")));
        }
        if self.inbox.len() < 4 + length {
            return None;
        }
        let document: Vec<u8> = self.inbox.drain(..4 + length).skip(4).collect();
        Some(serde_json::from_slice(&document).map_err(|error| error.to_string()))
    }

    /// Sends a state.
    pub fn say(&self, net: &mut Net, state: i8) {
        net.tcp(self.handle).sender.write([state as u8]);
    }

    /// Sends a JSON document.
    pub fn tell(&self, net: &mut Net, document: &Value) {
        let text = document.to_string();
        let length = (text.len() as u32).to_be_bytes();
        net.tcp(self.handle)
            .sender
            .write(length.into_iter().chain(text.into_bytes()));
    }

    /// Ends the sending half.
    pub fn close(&self, net: &mut Net) {
        net.tcp(self.handle).sender.finish();
    }
}

/// The results of a test that one end sends to the other.
pub fn results(flows: &[Flow], sends_tcp: bool, net: &Net) -> Value {
    let streams: Vec<Value> = flows.iter().map(|flow| flow.exchanged(net)).collect();
    json!({
        "cpu_util_total": 0.0, "cpu_util_user": 0.0, "cpu_util_system": 0.0,
        "sender_has_retransmits": if sends_tcp { 1 } else { -1 },
        "congestion_used": "reno",
        "streams": streams,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(bytes: &[u8]) -> Control {
        Control {
            handle: 0,
            inbox: bytes.to_vec(),
        }
    }

    #[test]
    fn a_document_is_taken_when_it_is_whole() {
        let mut whole = control(b"\0\0\0\x02{}\x09");
        assert_eq!(whole.json(), Some(Ok(json!({}))));
        assert_eq!(whole.state(), Some(state::PARAM_EXCHANGE));
        assert_eq!((whole.state(), whole.json()), (None, None));
        assert_eq!(control(b"\0\0\0\x02{").json(), None);
        assert_eq!(control(b"\0\0\0").json(), None);
        assert!(
            control(b"\0\0\0\x01{")
                .json()
                .is_some_and(|read| read.is_err())
        );
    }

    #[test]
    fn a_document_may_have_a_mebibyte() {
        let of = |length: usize| {
            let mut control = control(&(length as u32).to_be_bytes());
            control.json()
        };
        assert_eq!(of(1 << 20), None, "the rest has not come");
        for length in [(1 << 20) + 1, (1 << 20) + 2, usize::MAX] {
            assert!(of(length).is_some_and(|read| read.is_err()));
        }
    }

    #[test]
    fn so_many_bytes_are_taken_or_none() {
        let mut three = control(b"abc");
        assert_eq!(three.bytes(4), None);
        assert_eq!(three.bytes(2), Some(b"ab".to_vec()));
        assert_eq!(three.bytes(1), Some(b"c".to_vec()));
    }
}
