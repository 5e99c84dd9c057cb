// SPDX-License-Identifier: GPL-2.0-or-later
//! The devices and the processors, reset and loaded as in a new process, without throwing away what was translated of the DUT's code.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::api::api;
use crate::layout::{NET_CLIENT_DRIVER_NONE, VmStateField, YANK_MIGRATION, YankInstance};
use crate::memory::{is_string, read};

use super::snapshot::Snapshot;

/// More than a machine has.
const MANY_CLIENTS: usize = 64;
/// QEMU's descriptions of a state are searched so far.
const WORDS: usize = 32;

/// The processors and the devices of the machine.
pub struct Devices {
    processors: Vec<*mut c_void>,
    /// Where a processor's object says whether it is halted, and which interrupts are pending.
    halted: usize,
    interrupt_request: usize,
}

// SAFETY: used while QEMU's global lock is held and the machine is paused.
unsafe impl Send for Devices {}

impl Devices {
    /// Finds what is needed.
    pub fn find() -> Result<Self, String> {
        let place = |name| {
            offset_of(name).ok_or("QEMU's processor is not described as in the tested releases")
        };
        // SAFETY: plain calls; null behind the last processor.
        let all = (0..).map(|one| unsafe { (api().qemu_get_cpu)(one) });
        Ok(Self {
            processors: all.take_while(|one| !one.is_null()).collect(),
            halted: place(c"halted")?,
            interrupt_request: place(c"interrupt_request")?,
        })
    }

    /// Resets everything but ROMs, which are RAM's business.
    pub fn reset(&self) {
        let api = api();
        // SAFETY: called with QEMU's lock held, the machine paused; objects of these names exist in every PC.
        unsafe {
            (api.bus_cold_reset)((api.sysbus_get_default)());
            for processor in &self.processors {
                (api.cpu_reset)(*processor);
                let apic = (api.object_resolve_path_at)(*processor, c"lapic".as_ptr());
                if !apic.is_null() {
                    (api.device_cold_reset)(apic);
                }
            }
            let mut clients = [std::ptr::null_mut(); MANY_CLIENTS];
            let found = (api.qemu_find_net_clients_except)(
                std::ptr::null(),
                clients.as_mut_ptr(),
                NET_CLIENT_DRIVER_NONE,
                MANY_CLIENTS as c_int,
            );
            let clients = &clients[..(found as usize).min(MANY_CLIENTS)];
            for client in clients {
                (api.qemu_purge_queued_packets)(*client);
            }
            for client in clients {
                (api.qemu_flush_queued_packets)(*client);
            }
        }
    }

    /// Loads their state.
    pub fn load(&self, snapshot: &Snapshot, stream: &[u8]) -> Result<(), String> {
        let kept = snapshot.processors();
        if kept.len() != self.processors.len() {
            return Err(format!("of a machine with {} processors", kept.len()));
        }
        for (processor, kept) in self.processors.iter().zip(kept) {
            let place = |offset| processor.cast::<u8>().wrapping_add(offset).cast::<u32>();
            // SAFETY: the places were found in the processor's description, which says that they are 32 bits wide.
            unsafe {
                place(self.halted).write(kept.halted);
                place(self.interrupt_request).write(kept.interrupt_request);
            }
        }
        let io = |error: io::Error| format!("a file in memory: {error}");
        // SAFETY: a new descriptor, ours alone.
        let mut file = unsafe {
            let fd = libc::memfd_create(c"irqlab".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io(io::Error::last_os_error()));
            }
            File::from_raw_fd(fd)
        };
        file.write_all(stream).map_err(io)?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
        let mut error = std::ptr::null_mut();
        // SAFETY: called with QEMU's lock held, the machine paused. QEMU takes the instance away when it has loaded.
        unsafe {
            let instance = YankInstance {
                kind: YANK_MIGRATION,
                rest: [0; 4],
            };
            (api().yank_register_instance)(&raw const instance, std::ptr::null_mut());
            (api().qmp_xen_load_devices_state)(path.as_ptr(), &raw mut error);
            if !error.is_null() {
                let why = CStr::from_ptr((api().error_get_pretty)(error));
                return Err(why.to_string_lossy().into_owned());
            }
        }
        Ok(())
    }
}

/// Where a `CPUState` has the 32-bit field of this name, by `vmstate_cpu_common`.
pub fn offset_of(name: &CStr) -> Option<usize> {
    let words = |at: usize| {
        (0..WORDS).filter_map(move |word| {
            let place = at + word * size_of::<usize>();
            Some((place, read::<usize>(place)?))
        })
    };
    let is_first =
        |fields: usize| read::<usize>(fields).is_some_and(|text| is_string(text, c"halted"));
    let (_, fields) =
        words(api().vmstate_cpu_common as usize).find(|(_, fields)| is_first(*fields))?;
    let (place, _) = words(fields).find(|(_, text)| is_string(*text, name))?;
    let field = read::<VmStateField>(place + size_of::<usize>())?;
    (field.hint == 0 && field.size == size_of::<u32>()).then_some(field.offset)
}
