// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions of QEMU that the tester stands on, found by name in the running executable.
//!
//! They are QEMU's internal functions, not its plugin API: Debian's QEMU exports them. Their signatures are those of
//! QEMU 7.2 to 10.x (include/qemu/timer.h, include/net/net.h, net/hub.h, include/exec/memory.h); only what has
//! been the same in all of them is used.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use libloading::os::unix::Library;

/// `QEMU_CLOCK_VIRTUAL` of include/qemu/timer.h.
const CLOCK_VIRTUAL: c_int = 1;
/// `NET_CLIENT_DRIVER_USER` of qapi/net.json: the type shown by `info network`, of no other effect here.
const NET_CLIENT_DRIVER_USER: c_int = 2;
/// `DEVICE_LITTLE_ENDIAN` of include/exec/cpu-common.h.
const DEVICE_LITTLE_ENDIAN: c_int = 2;

/// Called when a timer expires.
pub type TimerCallback = unsafe extern "C" fn(*mut c_void);
/// Called when the peer of a net client sends a frame; returns the bytes taken.
pub type ReceiveCallback = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize;
/// Called when the guest reads an I/O port: (opaque, offset, bytes).
pub type PortRead = unsafe extern "C" fn(*mut c_void, u64, u32) -> u64;
/// Called when the guest writes an I/O port: (opaque, offset, value, bytes).
pub type PortWrite = unsafe extern "C" fn(*mut c_void, u64, u64, u32);

/// `NetClientInfo`: the first three members are all that is used and all that is stable.
#[repr(C)]
struct NetClientInfo {
    kind: c_int,
    size: usize,
    receive: ReceiveCallback,
    rest: [usize; 64],
}

#[repr(C)]
struct AccessSizes {
    min: u32,
    max: u32,
    unaligned: bool,
    accepts: *const c_void,
}

#[repr(C)]
struct ImplSizes {
    min: u32,
    max: u32,
    unaligned: bool,
}

/// `MemoryRegionOps`.
#[repr(C)]
struct MemoryRegionOps {
    read: PortRead,
    write: PortWrite,
    read_with_attrs: *const c_void,
    write_with_attrs: *const c_void,
    endianness: c_int,
    valid: AccessSizes,
    implementation: ImplSizes,
    rest: [usize; 8],
}

macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The resolved functions.
        #[derive(Clone, Copy)]
        pub struct Qemu { $($name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Qemu {
            /// Finds every function in the running executable, or names those it lacks.
            pub fn resolve() -> Result<Self, Vec<&'static str>> {
                let this = Library::this();
                let mut missing = Vec::new();
                $(
                    // SAFETY: the type is that of the QEMU function of this name; it is called only while QEMU runs.
                    let $name = unsafe { this.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing.push(stringify!($name)));
                )*
                match ($($name,)*) {
                    ($(Ok($name),)*) => Ok(Self { $($name,)* }),
                    _ => Err(missing),
                }
            }
        }
    };
}

functions! {
    timer_init_full: fn(*mut c_void, *mut c_void, c_int, c_int, c_int, TimerCallback, *mut c_void);
    timer_mod_ns: fn(*mut c_void, i64);
    timer_del: fn(*mut c_void);
    qemu_clock_get_ns: fn(c_int) -> i64;
    icount_get_raw: fn() -> i64;
    qemu_new_net_client: fn(*const NetClientInfo, *mut c_void, *const c_char, *const c_char) -> *mut c_void;
    net_hub_add_port: fn(c_int, *const c_char, *mut c_void) -> *mut c_void;
    qemu_can_send_packet: fn(*mut c_void) -> c_int;
    qemu_send_packet: fn(*mut c_void, *const u8, c_int) -> isize;
    memory_region_init_io: fn(*mut c_void, *mut c_void, *const MemoryRegionOps, *mut c_void, *const c_char, u64);
    memory_region_add_subregion: fn(*mut c_void, u64, *mut c_void);
    get_system_io: fn() -> *mut c_void;
    cpu_physical_memory_rw: fn(u64, *mut u8, u64, bool);
    qmp_stop: fn(*mut *mut c_void);
    qemu_get_aio_context: fn() -> *mut c_void;
    aio_bh_schedule_oneshot_full: fn(*mut c_void, TimerCallback, *mut c_void, *const c_char);
}

/// A structure of QEMU's whose layout is none of our business, in a buffer larger than any version's.
#[repr(C, align(64))]
struct Opaque([u8; 4096]);

/// Such a buffer; it lives for ever.
pub fn opaque() -> *mut c_void {
    Box::into_raw(Box::new(Opaque([0; 4096]))).cast()
}

/// A timer on QEMU's virtual clock; lives as long as QEMU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Timer(*mut c_void);

/// Timers that are to be armed once [`Qemu::hold`] is over.
struct Held {
    depth: i32,
    wishes: Vec<(Timer, Option<u64>)>,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    depth: 0,
    wishes: Vec::new(),
});

/// A net client on a hub of its own with one NIC; lives as long as QEMU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NetClient(pub *mut c_void);

// SAFETY: both are handles that are only used while QEMU's global lock is held.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Send for NetClient {}

impl Qemu {
    /// Virtual time in ns.
    pub fn now_ns(&self) -> u64 {
        // SAFETY: plain call, see `functions!`.
        unsafe { (self.qemu_clock_get_ns)(CLOCK_VIRTUAL) as u64 }
    }

    /// Instructions the guest has executed.
    pub fn instructions(&self) -> u64 {
        // SAFETY: plain call; exact in a timer or I/O callback, where icount is settled.
        unsafe { (self.icount_get_raw)() as u64 }
    }

    /// A little-endian 64-bit number of the guest's memory, at a physical address; where there is no memory, whatever QEMU reads there.
    pub fn word(&self, address: u64) -> u64 {
        let mut bytes = [0u8; 8];
        // SAFETY: hwaddr is 64 bits wide; eight bytes are written to a buffer of eight, none to the guest.
        unsafe { (self.cpu_physical_memory_rw)(address, bytes.as_mut_ptr(), 8, false) };
        u64::from_le_bytes(bytes)
    }

    /// Pauses the machine. Not from inside a timer: pausing waits until no timer runs.
    pub fn stop(&self) {
        // SAFETY: qmp_stop ignores its Error** argument.
        unsafe { (self.qmp_stop)(std::ptr::null_mut()) }
    }

    /// Has the main loop call `callback`; if the guest idles and no timer is armed meanwhile, before virtual time moves on: idle
    /// time is skipped when a timer is armed, or by the main loop, which runs bottom halves first.
    pub fn soon(&self, callback: TimerCallback) {
        // SAFETY: the main loop's context exists; the name is NUL-terminated.
        unsafe {
            (self.aio_bh_schedule_oneshot_full)(
                (self.qemu_get_aio_context)(),
                callback,
                std::ptr::null_mut(),
                c"irqlab".as_ptr(),
            );
        }
    }

    /// A new, unarmed timer.
    pub fn timer(&self, callback: TimerCallback) -> Timer {
        self.timer_for(callback, std::ptr::null_mut())
    }

    /// A new, unarmed timer whose callback is given `token`.
    pub(crate) fn timer_for(&self, callback: TimerCallback, token: *mut c_void) -> Timer {
        let timer = opaque();
        // SAFETY: QEMUTimer fits into the buffer; a null list group is the main loop's; scale 1 is ns.
        unsafe {
            (self.timer_init_full)(
                timer,
                std::ptr::null_mut(),
                CLOCK_VIRTUAL,
                1,
                0,
                callback,
                token,
            );
        }
        Timer(timer)
    }

    /// Arms `timer` at `at_ns`, or disarms it; inside [`Qemu::hold`], once that is over.
    pub fn arm(&self, timer: Timer, at_ns: Option<u64>) {
        let mut held = HELD.lock().unwrap_or_else(|e| e.into_inner());
        if held.depth > 0 {
            held.wishes.retain(|(other, _)| *other != timer);
            held.wishes.push((timer, at_ns));
        } else {
            self.arm_now(timer, at_ns);
        }
    }

    /// Does `work`, which may arm timers; they are armed when it is over, the earliest first.
    ///
    /// Whoever arms a timer while the guest idles has QEMU skip idle time there and then, to whatever is armed so far. So nothing
    /// may be armed from the midst of what happens at one instant.
    pub fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        let depth = |change: i32| {
            let mut held = HELD.lock().unwrap_or_else(|e| e.into_inner());
            held.depth += change;
            if held.depth > 0 {
                Vec::new()
            } else {
                std::mem::take(&mut held.wishes)
            }
        };
        depth(1);
        let value = work();
        let mut wishes = depth(-1);
        wishes.sort_by_key(|(_, at_ns)| *at_ns); // those to disarm come first
        for (timer, at_ns) in wishes {
            self.arm_now(timer, at_ns);
        }
        value
    }

    fn arm_now(&self, timer: Timer, at_ns: Option<u64>) {
        // SAFETY: the timer came from `timer()`.
        unsafe {
            match at_ns {
                Some(at_ns) => (self.timer_mod_ns)(timer.0, at_ns.min(i64::MAX as u64) as i64),
                None => (self.timer_del)(timer.0),
            }
        }
    }

    /// A net client on hub `hub`, whose peer's frames go to `receive`.
    pub fn net_client(&self, hub: usize, receive: ReceiveCallback) -> NetClient {
        let info: &'static NetClientInfo = Box::leak(Box::new(NetClientInfo {
            kind: NET_CLIENT_DRIVER_USER,
            size: 65536, // of NetClientState; generous
            receive,
            rest: [0; 64],
        }));
        let name = format!("tester{hub}\0");
        // SAFETY: strings are NUL-terminated and copied by QEMU; `info` lives for ever.
        unsafe {
            let client = (self.qemu_new_net_client)(
                info,
                std::ptr::null_mut(),
                c"tester".as_ptr(),
                name.as_ptr().cast(),
            );
            (self.net_hub_add_port)(hub as c_int, std::ptr::null(), client);
            NetClient(client)
        }
    }

    /// Delivers a frame (without FCS) now. False: the NIC cannot take it, and it is gone.
    pub fn send(&self, client: NetClient, frame: &[u8]) -> bool {
        // SAFETY: the client came from `net_client()`. QEMU would queue a frame that the NIC refuses, hence the question first.
        unsafe {
            if (self.qemu_can_send_packet)(client.0) == 0 {
                return false;
            }
            (self.qemu_send_packet)(client.0, frame.as_ptr(), frame.len() as c_int);
        }
        true
    }

    /// Maps `bytes` I/O ports at `base`, 32-bit accesses only.
    pub fn io_ports(&self, base: u64, bytes: u64, read: PortRead, write: PortWrite) {
        let ops: &'static MemoryRegionOps = Box::leak(Box::new(MemoryRegionOps {
            read,
            write,
            read_with_attrs: std::ptr::null(),
            write_with_attrs: std::ptr::null(),
            endianness: DEVICE_LITTLE_ENDIAN,
            valid: AccessSizes {
                min: 4,
                max: 4,
                unaligned: false,
                accepts: std::ptr::null(),
            },
            implementation: ImplSizes {
                min: 4,
                max: 4,
                unaligned: false,
            },
            rest: [0; 8],
        }));
        let region = opaque();
        // SAFETY: MemoryRegion fits into the buffer, which lives for ever, as does `ops`; called with QEMU's lock held.
        unsafe {
            (self.memory_region_init_io)(
                region,
                std::ptr::null_mut(),
                ops,
                std::ptr::null_mut(),
                c"irqlab".as_ptr(),
                bytes,
            );
            (self.memory_region_add_subregion)((self.get_system_io)(), base, region);
        }
    }
}

/// Reads memory of this process that may not be there.
pub fn peek<T: Copy>(address: usize) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let to = libc::iovec {
        iov_base: value.as_mut_ptr().cast(),
        iov_len: size_of::<T>(),
    };
    let from = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: size_of::<T>(),
    };
    // SAFETY: the kernel writes to our own buffer only, and fails where it cannot read. All that is read here is plain integers.
    unsafe {
        let read = libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0);
        (read == size_of::<T>() as isize).then(|| value.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_told() {
        let seven = 7_u64;
        assert_eq!(peek::<u64>(0), None);
        assert_eq!(peek::<u64>(usize::MAX - 64), None);
        assert_eq!(peek::<u64>((&raw const seven) as usize), Some(7));
    }
}
