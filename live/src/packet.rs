// SPDX-License-Identifier: GPL-2.0-or-later
//! A port through AF_PACKET, which works with any driver (packet(7)). Frames are received through a ring shared with the kernel
//! (TPACKET_V3), and sent in batches (sendmmsg), past the queueing discipline.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::clock::Conversion;
use crate::interface::Interface;
use crate::permission;
use crate::port::{Port, Receiving, Sending};
use crate::sockopt;
use crate::stamps::{self, Clock};

/// Frames in a batch.
const BATCH: usize = 64;
/// Of a block of the ring, in bytes.
const BLOCK: usize = 1 << 18;
/// Of the ring: 16 MiB hold 80 ms of 64-byte frames at 1 million frames/s.
const BLOCKS: usize = 64;
/// A block that is not full is ours after so many ms.
const RETIRE_MS: u32 = 1;
const MAX_FRAME: usize = 1514;

/// Opens the interface.
pub fn open(interface: &Interface) -> Result<Port, String> {
    let sending = PacketSending::open(interface)?;
    let clock = Clock::open(interface);
    let details = match &clock {
        Ok(clock) => json!({"kind": "af_packet", "clock": clock.path()}),
        Err(why) => json!({"kind": "af_packet", "clock": "kernel", "no_hardware_time_stamps": why}),
    };
    let receiving = PacketReceiving::open(interface, clock.ok())?;
    Ok(Port {
        sending: Box::new(sending),
        receiving: Box::new(receiving),
        details,
    })
}

/// A socket, bound to the interface, for the frames of a protocol; 0: none are received.
fn socket(
    interface: &Interface,
    protocol: u16,
    set_up: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> Result<OwnedFd, String> {
    let explained = |error: io::Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!(
            "port {}: no permission for raw frames: {}",
            interface.name,
            permission::mend()
        ),
        Some(libc::ENETDOWN) => format!(
            "port {0} is down: `ip link set {0} up`, or `irqlab live prepare`",
            interface.name
        ),
        _ => format!("port {}: AF_PACKET: {error}", interface.name),
    };
    // SAFETY: plain system calls; the descriptor is owned from here on.
    unsafe {
        let raw = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(explained(io::Error::last_os_error()));
        }
        let socket = OwnedFd::from_raw_fd(raw);
        set_up(&socket).map_err(explained)?;
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = interface.index as i32;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        if libc::bind(raw, (&raw const address).cast(), length) != 0 {
            return Err(explained(io::Error::last_os_error()));
        }
        Ok(socket)
    }
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    sockopt::set(socket, libc::SOL_PACKET, option, value)
}

/// The sending half. The frames' vectors point into `frames`, so these are allocated once.
struct PacketSending {
    socket: OwnedFd,
    name: String,
    frames: Vec<u8>,
    lengths: Vec<usize>,
    /// How many of the batch the kernel has taken.
    gone: usize,
}

impl PacketSending {
    fn open(interface: &Interface) -> Result<Self, String> {
        let socket = socket(interface, 0, |socket| {
            set(socket, libc::PACKET_QDISC_BYPASS, &1_i32)
        })?;
        Ok(PacketSending {
            socket,
            name: interface.name.clone(),
            frames: vec![0; BATCH * MAX_FRAME],
            lengths: Vec::with_capacity(BATCH),
            gone: 0,
        })
    }
}

impl Sending for PacketSending {
    fn has_room(&self) -> bool {
        self.lengths.len() < BATCH
    }

    fn push(&mut self, frame: &[u8]) {
        let at = self.lengths.len() * MAX_FRAME;
        self.frames[at..at + frame.len()].copy_from_slice(frame);
        self.lengths.push(frame.len());
    }

    fn flush(&mut self) -> Result<usize, String> {
        if self.lengths.is_empty() {
            return Ok(0);
        }
        // SAFETY: vectors and messages of zeros are valid; those in use point to frames and vectors that outlive the calls.
        unsafe {
            let mut vectors: [libc::iovec; BATCH] = std::mem::zeroed();
            let mut messages: [libc::mmsghdr; BATCH] = std::mem::zeroed();
            for (index, length) in self.lengths.iter().enumerate() {
                vectors[index].iov_base = self.frames.as_mut_ptr().add(index * MAX_FRAME).cast();
                vectors[index].iov_len = *length;
                messages[index].msg_hdr.msg_iov = &mut vectors[index];
                messages[index].msg_hdr.msg_iovlen = 1;
            }
            while self.gone < self.lengths.len() {
                let sent = libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr().add(self.gone),
                    (self.lengths.len() - self.gone) as u32,
                    libc::MSG_DONTWAIT as _,
                );
                if sent > 0 {
                    self.gone += sent as usize;
                    continue;
                }
                match io::Error::last_os_error() {
                    error if busy(&error) => return Ok(self.lengths.len() - self.gone),
                    error => return Err(broken(&self.name, &error)),
                }
            }
        }
        self.lengths.clear();
        self.gone = 0;
        Ok(0)
    }
}

/// Whether the kernel takes the frame, but not now.
pub fn busy(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EBUSY | libc::EINTR)
    )
}

/// The message about a port that stopped working.
pub fn broken(name: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
            format!("port {name} went down during the measurement: check the cable and `ip link`")
        }
        _ => format!("port {name}: cannot send: {error}"),
    }
}

/// The receiving half: a ring of blocks, each full of frames.
struct PacketReceiving {
    socket: OwnedFd,
    ring: *mut u8,
    block: usize,
    /// Frames of the present block that are left, and where the next is.
    left: u32,
    at: usize,
    conversion: Conversion,
    /// The NIC's clock, if it stamps frames, and the conversion of its times.
    clock: Option<(Clock, Conversion)>,
    /// Frames stamped by the kernel and by the NIC since the last report.
    stamped: [u64; 2],
}

// SAFETY: the ring belongs to this half alone, wherever it is.
unsafe impl Send for PacketReceiving {}

impl PacketReceiving {
    fn open(interface: &Interface, clock: Option<Clock>) -> Result<Self, String> {
        let socket = socket(interface, libc::ETH_P_ALL as u16, |socket| {
            if clock.is_some() {
                set(
                    socket,
                    libc::PACKET_TIMESTAMP,
                    &(stamps::SOF_RAW_HARDWARE as i32),
                )?;
            }
            set(
                socket,
                libc::PACKET_VERSION,
                &(libc::tpacket_versions::TPACKET_V3 as i32),
            )?;
            set(socket, PACKET_IGNORE_OUTGOING, &1_i32)?;
            let request = libc::tpacket_req3 {
                tp_block_size: BLOCK as u32,
                tp_block_nr: BLOCKS as u32,
                tp_frame_size: 2048,
                tp_frame_nr: (BLOCK / 2048 * BLOCKS) as u32,
                tp_retire_blk_tov: RETIRE_MS,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            set(socket, libc::PACKET_RX_RING, &request)
        })?;
        // SAFETY: a mapping of the size that the ring has.
        let ring = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCK * BLOCKS,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            return Err(format!("port {}: AF_PACKET: {error}", interface.name));
        }
        Ok(PacketReceiving {
            socket,
            ring: ring.cast(),
            block: 0,
            left: 0,
            at: 0,
            conversion: Conversion::from(libc::CLOCK_REALTIME),
            clock: clock.map(|clock| {
                let conversion = Conversion::from(clock.id());
                (clock, conversion)
            }),
            stamped: [0; 2],
        })
    }

    /// The status of the present block, which the kernel shares with us.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: in the mapping; the status is the first word of a block's header, after version and offset.
        unsafe { &*self.ring.add(self.block * BLOCK + 8).cast::<AtomicU32>() }
    }

    /// Whether the present block has frames for us.
    fn enter(&mut self) -> bool {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block is ours until its status changes; its header follows version and offset.
        let header = unsafe {
            &*self
                .ring
                .add(self.block * BLOCK + 8)
                .cast::<libc::tpacket_hdr_v1>()
        };
        self.left = header.num_pkts;
        self.at = self.block * BLOCK + header.offset_to_first_pkt as usize;
        self.conversion = Conversion::from(libc::CLOCK_REALTIME);
        if let Some((clock, conversion)) = &mut self.clock {
            *conversion = Conversion::from(clock.id());
        }
        true
    }

    fn leave(&mut self) {
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % BLOCKS;
    }
}

impl Drop for PacketReceiving {
    fn drop(&mut self) {
        // SAFETY: the mapping of `open`.
        unsafe { libc::munmap(self.ring.cast(), BLOCK * BLOCKS) };
    }
}

impl Receiving for PacketReceiving {
    fn receive(&mut self, take: &mut dyn FnMut(u64, &[u8])) -> usize {
        if self.left == 0 && !self.enter() {
            return 0;
        }
        let count = self.left.min(BATCH as u32);
        for _ in 0..count {
            // SAFETY: the kernel wrote `num_pkts` frames to the block, each with the offset of the next one.
            unsafe {
                let header = &*self.ring.add(self.at).cast::<libc::tpacket3_hdr>();
                let frame = self.ring.add(self.at + usize::from(header.tp_mac));
                let frame = std::slice::from_raw_parts(frame, header.tp_snaplen as usize);
                let at_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
                let hardware = header.tp_status & libc::TP_STATUS_TS_RAW_HARDWARE != 0;
                let conversion = match &self.clock {
                    Some((_, conversion)) if hardware => *conversion,
                    _ => self.conversion,
                };
                self.stamped[usize::from(hardware)] += 1;
                take(conversion.ours_ns(at_ns), frame);
                self.at += header.tp_next_offset as usize;
            }
        }
        self.left -= count;
        if self.left == 0 {
            self.leave();
        }
        count as usize
    }

    fn descriptor(&self) -> libc::c_int {
        self.socket.as_raw_fd()
    }

    fn dropped(&mut self) -> u64 {
        let mut found = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut length = size_of::<libc::tpacket_stats_v3>() as u32;
        // SAFETY: the kernel writes at most `length` bytes to `found`.
        unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut found).cast(),
                &mut length,
            );
        }
        u64::from(found.tp_drops)
    }

    fn time_stamps(&mut self) -> &'static str {
        match std::mem::take(&mut self.stamped) {
            [_, 0] => "kernel",
            [0, _] => "hardware",
            _ => "hardware and kernel",
        }
    }
}

/// linux/if_packet.h
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
