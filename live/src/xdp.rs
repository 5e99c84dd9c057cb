// SPDX-License-Identifier: GPL-2.0-or-later
//! A port through AF_XDP (Documentation/networking/af_xdp.rst): frames go through memory that is shared with the kernel, past its
//! network stack. One socket, on queue 0, serves both halves of the port. Each half has its own part of the memory and its own two rings,
//! so the two threads share nothing.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::clock::{Conversion, now_ns};
use crate::interface::Interface;
use crate::packet::{broken, busy};
use crate::permission;
use crate::port::{Port, Receiving, Sending};
use crate::program::{self, Attached, MAGIC, Mode, STAMP_BYTES};
use crate::sockopt;

/// A frame's place, in bytes.
const CHUNK: usize = 2048;
/// Places of each half; a power of two.
const CHUNKS: usize = 2048;
/// Frames in a batch.
const BATCH: usize = 64;

/// Opens the interface. Zero copy if its driver has that, else copy mode.
pub fn open(interface: &Interface) -> Result<Port, String> {
    let name = &interface.name;
    let queues = interface.receive_queues();
    if queues > 1 {
        return Err(format!(
            "port {name} receives through {queues} queues, and AF_XDP here serves one: `ethtool -L {name} combined 1`, or `irqlab live \
             prepare`, or --kind af_packet"
        ));
    }
    let mut refused = None;
    for zero_copy in [true, false] {
        for mode in [Mode::Native, Mode::Generic] {
            if zero_copy && mode == Mode::Generic {
                continue;
            }
            match Shared::open(interface, mode, zero_copy) {
                Ok(shared) => return Ok(shared),
                Err(error) => refused = Some(error),
            }
        }
    }
    let error = refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    Err(match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!(
            "port {name}: no permission for AF_XDP: {}, or use --kind af_packet",
            permission::mend()
        ),
        Some(libc::ENOBUFS | libc::ENOMEM) => format!(
            "port {name}: AF_XDP may not lock {} MiB of memory: raise `ulimit -l`, or use --kind af_packet",
            (2 * CHUNKS * CHUNK) >> 20
        ),
        Some(libc::EBUSY | libc::EEXIST) => format!(
            "port {name}: another XDP program or socket uses it: `ip link set {name} xdp off`, or use --kind af_packet"
        ),
        Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS) => format!(
            "port {name}: no AF_XDP here ({error}): the kernel needs CONFIG_XDP_SOCKETS and CONFIG_BPF_SYSCALL; use --kind af_packet"
        ),
        _ => format!("port {name}: AF_XDP: {error}; use --kind af_packet"),
    })
}

/// The memory that the frames are in.
struct Memory {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the halves of the port use different parts of it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, which nobody else knows.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Memory {
            start: start.cast(),
            bytes,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// What both halves need to stay open.
struct Shared {
    socket: OwnedFd,
    memory: Memory,
    name: String,
    _program: Attached,
}

impl Shared {
    fn open(interface: &Interface, mode: Mode, zero_copy: bool) -> io::Result<Port> {
        // SAFETY: a plain system call; the descriptor is owned from here on.
        let socket = unsafe {
            let raw = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            if raw < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(raw)
        };
        let memory = Memory::new(2 * CHUNKS * CHUNK)?;
        // The size that every kernel since 5.4 knows.
        let region = libc::xdp_umem_reg_v1 {
            addr: memory.start as u64,
            len: memory.bytes as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
        };
        let region = Region { region, flags: 0 };
        set(&socket, libc::XDP_UMEM_REG, &region)?;
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set(&socket, ring, &(CHUNKS as u32))?;
        }
        let offsets = offsets(&socket)?;
        let mut fill: Ring<u64> =
            Ring::map(&socket, &offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING as i64)?;
        let done = Ring::map(
            &socket,
            &offsets.cr,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64,
        )?;
        let received = Ring::map(&socket, &offsets.rx, libc::XDP_PGOFF_RX_RING)?;
        let sent = Ring::map(&socket, &offsets.tx, libc::XDP_PGOFF_TX_RING)?;
        for chunk in 0..CHUNKS {
            fill.put((chunk * CHUNK) as u64);
        }
        fill.publish();
        let copy = if zero_copy {
            libc::XDP_ZEROCOPY
        } else {
            libc::XDP_COPY
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: copy | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: interface.index,
            sxdp_queue_id: 0,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the kernel reads the address.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_xdp>() as u32,
            )
        };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        let attached = program::attach(interface.index, socket.as_raw_fd(), mode)?;
        let shared = Arc::new(Shared {
            socket,
            memory,
            name: interface.name.clone(),
            _program: attached,
        });
        let free = (CHUNKS..2 * CHUNKS).map(|chunk| (chunk * CHUNK) as u64);
        let sending = XdpSending {
            shared: Arc::clone(&shared),
            ring: sent,
            done,
            free: free.collect(),
        };
        let receiving = XdpReceiving {
            dropped: statistics(&shared.socket),
            shared,
            ring: received,
            fill,
            stamped: false,
        };
        Ok(Port {
            sending: Box::new(sending),
            receiving: Box::new(receiving),
            details: json!({"kind": "af_xdp", "mode": mode.name(), "zero_copy": zero_copy}),
        })
    }
}

/// struct xdp_umem_reg of Linux 5.4 to 6.7; later ones accept it.
#[repr(C)]
struct Region {
    region: libc::xdp_umem_reg_v1,
    flags: u32,
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    sockopt::set(socket, libc::SOL_XDP, option, value)
}

fn get<T>(socket: &OwnedFd, option: libc::c_int) -> io::Result<T> {
    // SAFETY: only used with structures of integers; the kernel writes at most `length` bytes.
    unsafe {
        let mut found: T = std::mem::zeroed();
        let mut length = size_of::<T>() as u32;
        let done = libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            option,
            (&raw mut found).cast(),
            &mut length,
        );
        if done == 0 {
            Ok(found)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    get(socket, libc::XDP_MMAP_OFFSETS)
}

/// Frames that our program passed on, but that the socket did not take.
fn statistics(socket: &OwnedFd) -> u64 {
    get::<libc::xdp_statistics>(socket, libc::XDP_STATISTICS)
        .map_or(0, |found| found.rx_dropped + found.rx_ring_full)
}

/// One side of a ring that is shared with the kernel. The side that produces counts `mine` in the producer's number.
struct Ring<T> {
    mapping: *mut libc::c_void,
    bytes: usize,
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    entries: *mut T,
    mine: u32,
}

// SAFETY: one half of the port owns it; with the kernel only the two numbers are shared.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: &OwnedFd, offset: &libc::xdp_ring_offset, page: i64) -> io::Result<Self> {
        let bytes = offset.desc as usize + CHUNKS * size_of::<T>();
        // SAFETY: a mapping of the ring's size, at the offsets that the kernel named.
        unsafe {
            let mapping = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                page,
            );
            if mapping == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start = mapping.cast::<u8>();
            Ok(Ring {
                mapping,
                bytes,
                producer: start.add(offset.producer as usize).cast(),
                consumer: start.add(offset.consumer as usize).cast(),
                entries: start.add(offset.desc as usize).cast(),
                mine: 0,
            })
        }
    }

    fn entry(&self, number: u32) -> *mut T {
        // SAFETY: the index is below CHUNKS.
        unsafe { self.entries.add(number as usize % CHUNKS) }
    }

    fn produced(&self) -> u32 {
        // SAFETY: in the mapping.
        unsafe { (*self.producer).load(Ordering::Acquire) }
    }

    fn consumed(&self) -> u32 {
        // SAFETY: in the mapping.
        unsafe { (*self.consumer).load(Ordering::Acquire) }
    }

    /// Adds an entry, which the kernel does not see yet. The caller makes sure that there is room: no more chunks than entries.
    fn put(&mut self, value: T) {
        // SAFETY: the kernel does not use this entry until it is published.
        unsafe { self.entry(self.mine).write(value) };
        self.mine = self.mine.wrapping_add(1);
    }

    /// Lets the kernel see what was added.
    fn publish(&self) {
        // SAFETY: in the mapping; we are the only producer.
        unsafe { (*self.producer).store(self.mine, Ordering::Release) };
    }

    /// Takes an entry that the kernel has added.
    fn take(&mut self) -> Option<T> {
        if self.produced() == self.mine {
            return None;
        }
        // SAFETY: the kernel has filled this entry, and leaves it alone until it is released.
        let value = unsafe { self.entry(self.mine).read() };
        self.mine = self.mine.wrapping_add(1);
        Some(value)
    }

    /// Gives the entries that were taken back to the kernel.
    fn release(&self) {
        // SAFETY: in the mapping; we are the only consumer.
        unsafe { (*self.consumer).store(self.mine, Ordering::Release) };
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`.
        unsafe { libc::munmap(self.mapping, self.bytes) };
    }
}

struct XdpSending {
    shared: Arc<Shared>,
    ring: Ring<libc::xdp_desc>,
    done: Ring<u64>,
    free: Vec<u64>,
}

impl XdpSending {
    fn reclaim(&mut self) {
        while let Some(address) = self.done.take() {
            self.free.push(address);
        }
        self.done.release();
    }

    fn waiting(&self) -> u32 {
        self.ring.mine.wrapping_sub(self.ring.consumed())
    }
}

impl Sending for XdpSending {
    fn has_room(&self) -> bool {
        !self.free.is_empty() && self.waiting() < BATCH as u32
    }

    fn push(&mut self, frame: &[u8]) {
        let Some(address) = self.free.pop() else {
            return; // not after has_room
        };
        // SAFETY: the chunk is ours until it is published, and longer than a frame.
        unsafe {
            let place = self.shared.memory.start.add(address as usize);
            std::ptr::copy_nonoverlapping(frame.as_ptr(), place, frame.len());
        }
        self.ring.put(libc::xdp_desc {
            addr: address,
            len: frame.len() as u32,
            options: 0,
        });
    }

    fn flush(&mut self) -> Result<usize, String> {
        self.ring.publish();
        while self.waiting() > 0 {
            // SAFETY: an empty message, which only makes the kernel look at the ring.
            let done = unsafe {
                libc::sendto(
                    self.shared.socket.as_raw_fd(),
                    std::ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null(),
                    0,
                )
            };
            if done < 0 {
                let error = io::Error::last_os_error();
                if !busy(&error) {
                    return Err(broken(&self.shared.name, &error));
                }
                // EAGAIN means that there is more than the kernel sends at once: go on as long as it makes progress.
                if error.raw_os_error() != Some(libc::EAGAIN) {
                    break;
                }
            }
        }
        self.reclaim();
        Ok(self.waiting() as usize)
    }
}

struct XdpReceiving {
    shared: Arc<Shared>,
    ring: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    dropped: u64,
    /// The last frame carried the time.
    stamped: bool,
}

impl Receiving for XdpReceiving {
    fn receive(&mut self, take: &mut dyn FnMut(u64, &[u8])) -> usize {
        if self.ring.produced() == self.ring.mine {
            return 0;
        }
        let conversion = Conversion::from(libc::CLOCK_MONOTONIC);
        let mut count = 0;
        while count < BATCH {
            let Some(entry) = self.ring.take() else { break };
            // SAFETY: the kernel has written a frame there, with at least STAMP_BYTES before it, and the chunk is ours.
            unsafe {
                let frame = self.shared.memory.start.add(entry.addr as usize);
                let magic = frame.sub(STAMP_BYTES).cast::<u64>();
                self.stamped = magic.read_unaligned() == MAGIC;
                let at_ns = if self.stamped {
                    magic.write_unaligned(0); // the next frame may come without a time
                    conversion.ours_ns(magic.add(1).read_unaligned())
                } else {
                    now_ns()
                };
                take(at_ns, std::slice::from_raw_parts(frame, entry.len as usize));
            }
            self.fill.put(entry.addr - entry.addr % CHUNK as u64);
            count += 1;
        }
        self.ring.release();
        self.fill.publish();
        count
    }

    fn descriptor(&self) -> libc::c_int {
        self.shared.socket.as_raw_fd()
    }

    fn dropped(&mut self) -> u64 {
        let now = statistics(&self.shared.socket);
        now - std::mem::replace(&mut self.dropped, now)
    }

    fn time_stamps(&mut self) -> &'static str {
        if self.stamped { "kernel" } else { "program" }
    }
}
