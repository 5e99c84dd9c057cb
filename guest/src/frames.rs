// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends frames from one interface to another, byte by byte as told, and prints what arrives there.

use crate::Ending;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::{self, BufRead, Write};
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{from_mut, from_ref};
use std::time::{Duration, Instant};

/// Which interfaces, and how long a frame may take.
#[derive(clap::Args)]
pub struct Options {
    /// The interface that sends
    #[arg(long)]
    from: String,
    /// The interface that receives
    #[arg(long)]
    to: String,
    /// How long to wait for a frame, in ms
    #[arg(long, default_value_t = 50)]
    wait_ms: u64,
    /// Frames have the hash that the driver gives them; they must be longer than 511 bytes
    #[arg(long)]
    hashes: bool,
}

/// A line of the input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The frame, in base64.
    data: String,
    /// The ten bytes of a virtio_net_hdr, in base64: checksums and segments that are left to the interface.
    #[serde(default)]
    offload: Option<String>,
    /// How many frames are expected to arrive.
    #[serde(default = "one")]
    expect: usize,
    /// Nobody waits for it: what arrives meanwhile is reported with the next order.
    #[serde(default)]
    hold: bool,
}

fn one() -> usize {
    1
}

/// A line of the output: what became of the order with the same number.
#[derive(Serialize)]
struct Report {
    /// Why the interface did not take it; null: it did.
    error: Option<String>,
    got: Vec<Arrival>,
}

/// A frame that arrived.
#[derive(Serialize)]
struct Arrival {
    data: String,
    /// The receiver says that the checksum is right.
    verified: bool,
    /// The VLAN tag, which the kernel takes out of the frame.
    tag: Option<u16>,
    /// To whom it is, as in sll_pkttype: 0 this host, 1 broadcast, 2 multicast, 3 another host.
    to: u8,
    /// The driver's hash of its flow; 0: none. Null: it was not asked for.
    hash: Option<u32>,
}

const HEADER_BYTES: usize = 10;
const MOST_BYTES: usize = 65_536 + 64;
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_VNET_HDR: libc::c_int = 15;
const TP_STATUS_CSUM_VALID: u32 = 1 << 7;
/// Codes of classic BPF (include/uapi/linux/bpf_common.h) and the place of a packet's hash (include/uapi/linux/filter.h).
const LOAD_WORD: u16 = 0x20;
const SHIFT_RIGHT: u16 = 0x74;
const AND: u16 = 0x54;
const ADD: u16 = 0x04;
const RETURN: u16 = 0x16;
const HASH: u32 = -0x1000_i32 as u32 + 32;
/// Bytes of a frame that are kept if a byte of its hash is 0.
const LEAST_KEPT: usize = 256;

/// Carries the orders of standard input out, one after the other.
pub fn run(options: &Options) -> Ending {
    let from = open(&options.from, PACKET_VNET_HDR)?;
    let to = Receiver {
        frames: open(&options.to, PACKET_AUXDATA)?,
        hashes: if options.hashes {
            hash_sockets(&options.to)?
        } else {
            Vec::new()
        },
    };
    let wait = Duration::from_millis(options.wait_ms);
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let order: Order = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let error = send(&from, &order)?.err().map(|error| error.to_string());
        let got = if order.hold && error.is_none() {
            Vec::new()
        } else {
            let expected = if error.is_some() { 0 } else { order.expect };
            receive(&to, expected, wait).map_err(|error| error.to_string())?
        };
        let text = serde_json::to_string(&Report { error, got }).map_err(|e| e.to_string())?;
        writeln!(out, "{text}").map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}

/// A packet socket of an interface, with an option switched on.
fn open(interface: &str, option: libc::c_int) -> Result<OwnedFd, String> {
    let failed = |error: io::Error| format!("{interface}: {error}");
    let name = CString::new(interface).map_err(|error| error.to_string())?;
    // SAFETY: `name` is a string that ends with 0.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: creates a new file descriptor, or fails.
    let number = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol)) };
    if number < 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    // SAFETY: the kernel has just created it, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: an address of zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = index as i32;
    let on: libc::c_int = 1;
    // SAFETY: both values are valid, and have the given sizes.
    let bad = unsafe {
        libc::bind(
            number,
            from_ref(&address).cast(),
            size_of_val(&address) as u32,
        ) != 0
            || libc::setsockopt(
                number,
                libc::SOL_PACKET,
                option,
                from_ref(&on).cast(),
                size_of_val(&on) as u32,
            ) != 0
    };
    if bad {
        return Err(failed(io::Error::last_os_error()));
    }
    Ok(socket)
}

/// Sockets that receive the frames of an interface.
struct Receiver {
    frames: OwnedFd,
    /// One for each byte of a frame's hash, which it says by the length of what it keeps; none: hashes are not asked for.
    hashes: Vec<OwnedFd>,
}

/// The sockets of [`Receiver::hashes`]: no other way leads to the hash as the driver gave it, which the kernel may replace later.
fn hash_sockets(interface: &str) -> Result<Vec<OwnedFd>, String> {
    (0..4_u32)
        .map(|byte| {
            let socket = open(interface, PACKET_AUXDATA)?;
            let codes = [
                (LOAD_WORD, HASH),
                (SHIFT_RIGHT, 8 * byte),
                (AND, 0xff),
                (ADD, LEAST_KEPT as u32),
                (RETURN, 0),
            ];
            let mut filter = codes.map(|(code, k)| libc::sock_filter {
                code,
                jt: 0,
                jf: 0,
                k,
            });
            let program = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_mut_ptr(),
            };
            // SAFETY: the kernel copies the program, which has this size.
            let failed = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_ATTACH_FILTER,
                    from_ref(&program).cast(),
                    size_of_val(&program) as u32,
                ) != 0
            };
            if failed {
                return Err(format!("{interface}: {}", io::Error::last_os_error()));
            }
            Ok(socket)
        })
        .collect()
}

/// The hash of the oldest frame that waits.
fn take_hash(sockets: &[OwnedFd]) -> io::Result<Option<u32>> {
    let mut hash = None;
    for (number, socket) in sockets.iter().enumerate() {
        let mut bytes = [0_u8; 2 * LEAST_KEPT];
        // SAFETY: the buffer is valid for writing.
        let kept = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if kept < 0 {
            return Err(io::Error::last_os_error());
        }
        let byte = (kept as usize).saturating_sub(LEAST_KEPT) as u32;
        hash = Some(hash.unwrap_or(0) | byte << (8 * number));
    }
    Ok(hash)
}

/// Sends a frame. The outer error is that of the order, the inner one that of the interface.
fn send(socket: &OwnedFd, order: &Order) -> Result<io::Result<()>, String> {
    let mut bytes = match &order.offload {
        Some(text) => STANDARD.decode(text).map_err(|error| error.to_string())?,
        None => vec![0; HEADER_BYTES],
    };
    if bytes.len() != HEADER_BYTES {
        return Err(format!("offload: not {HEADER_BYTES} bytes"));
    }
    bytes.extend(
        STANDARD
            .decode(&order.data)
            .map_err(|error| error.to_string())?,
    );
    // SAFETY: the bytes are valid for reading.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    Ok(if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    })
}

/// What arrives until `expected` frames are there and no further one waits, or until the time is over.
fn receive(receiver: &Receiver, expected: usize, wait: Duration) -> io::Result<Vec<Arrival>> {
    let end = Instant::now() + wait;
    let mut got = Vec::new();
    loop {
        while let Some(arrival) = take(receiver)? {
            got.extend(arrival);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || (expected > 0 && got.len() >= expected) {
            return Ok(got);
        }
        let mut waiting = libc::pollfd {
            fd: receiver.frames.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `waiting` is one valid entry.
        unsafe { libc::poll(&raw mut waiting, 1, left.as_millis() as i32 + 1) };
    }
}

/// A frame that waits in the socket, if there is one; inside, nothing if the interface sent it itself.
fn take(receiver: &Receiver) -> io::Result<Option<Option<Arrival>>> {
    let socket = &receiver.frames;
    let mut bytes = vec![0_u8; MOST_BYTES];
    let mut control = [0_u64; 16];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: zeros are valid for both.
    let (mut address, mut message): (libc::sockaddr_ll, libc::msghdr) =
        unsafe { (zeroed(), zeroed()) };
    message.msg_name = from_mut(&mut address).cast();
    message.msg_namelen = size_of_val(&address) as u32;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the message refers to valid memory of the given sizes.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    if length < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(error),
        };
    }
    let hash = take_hash(&receiver.hashes)?;
    if address.sll_pkttype == libc::PACKET_OUTGOING {
        return Ok(Some(None));
    }
    let (mut verified, mut tag) = (false, None);
    // SAFETY: the kernel has filled the message's control data in.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            if (*entry).cmsg_level == libc::SOL_PACKET && (*entry).cmsg_type == PACKET_AUXDATA {
                debug_assert!((*entry).cmsg_len >= size_of::<libc::tpacket_auxdata>());
                let known: libc::tpacket_auxdata = libc::CMSG_DATA(entry)
                    .cast::<libc::tpacket_auxdata>()
                    .read_unaligned();
                verified = known.tp_status & TP_STATUS_CSUM_VALID != 0;
                tag = (known.tp_status & libc::TP_STATUS_VLAN_VALID != 0)
                    .then_some(known.tp_vlan_tci);
            }
            entry = libc::CMSG_NXTHDR(&raw const message, entry);
        }
    }
    Ok(Some(Some(Arrival {
        data: STANDARD.encode(&bytes[..length as usize]),
        verified,
        tag,
        to: address.sll_pkttype,
        hash,
    })))
}
