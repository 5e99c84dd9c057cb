// SPDX-License-Identifier: GPL-2.0-or-later
//! PCI devices of QEMU, as far as a device type of the tester's own needs them.
//!
//! `DeviceClass`, `DeviceState` and `PCIDevice` differ between QEMU's releases, so nothing about them is relied on. What is needed is found
//! and verified instead:
//! - `PCIDeviceClass` begins with a `DeviceClass`, whose last member points to the string "PCI". What follows is the same in all tested
//!   releases; in the class of QEMU's i82557b, that NIC's identity must be found there.
//! - In a `PCIDevice`, the pointer to the configuration space is the one behind which the device's identity lies; pointers to masks of the
//!   same size follow it.

mod capabilities;

use std::ffi::{CStr, CString, c_int, c_uint, c_void};

use crate::api::{Callback, PropertyGetter, PropertySetter, api};
use crate::caches;
use crate::device_type::{self, DeviceType};
use crate::layout::{
    DEVICE_LITTLE_ENDIAN, INSTANCE_ID_ANY, ImplementedSizes, MemoryRegionOps, PCI_BAR_PORTS,
    PciCallbacks, ValidSizes,
};
use crate::memory::{opaque, read, read_bytes};
use irqlab_tester::pci::{Identity, Power, Signalling, Window};

/// Messages that any card has: spurious ones are sent modulo this.
const VECTORS: usize = 5;
/// How much of a device is searched for its configuration space, in words of eight bytes.
const DEVICE_WORDS: usize = 128;
/// Network controller, Ethernet.
const ETHERNET: u16 = 0x0200;

/// Configuration space.
const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const STATUS_CAPABILITIES: u8 = 0x10;
const CAPABILITIES: usize = 0x34;
const COMMAND_MASTER: u8 = 0x04;
const INTERRUPT_PIN: usize = 0x3d;
const MIN_GNT: usize = 0x3e;
/// The power management capability: an identifier, a link, PMC, PMCSR.
const POWER_MANAGEMENT: u8 = 1;
const PMCSR: usize = 4;
/// PMCSR: the state, and whether the card may wake the machine.
const PMCSR_WRITABLE: [u8; 2] = [0x03, 0x01];
const PMCSR_STATE: u8 = 0x03;
/// In its second byte.
const PMCSR_PME_ENABLE: u8 = 0x01;

/// The reason for a refusal.
pub const WRONG_LAYOUT: &str =
    "this QEMU's PCI devices are not laid out as those of the tested releases";

/// A `PCIDevice` of our type.
#[derive(Clone, Copy)]
pub struct Device {
    device: *mut c_void,
    configuration: *mut u8,
    /// Which bits of it the machine can write.
    writable: *mut u8,
    pmcsr: Option<usize>,
    msi: bool,
    /// The region of the window with MSI-X's tables.
    tables: Option<*mut c_void>,
}

// SAFETY: a handle that is used only while QEMU's global lock is held.
unsafe impl Send for Device {}

/// What a device type does.
pub struct Callbacks {
    /// (class, data)
    pub class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
    /// (device)
    pub instance_init: unsafe extern "C" fn(*mut c_void),
}

/// How QEMU reads and writes a window: (token, offset, bytes), (token, offset, value, bytes).
pub struct Accesses {
    /// Reads.
    pub read: unsafe extern "C" fn(*mut c_void, u64, u32) -> u64,
    /// Writes.
    pub write: unsafe extern "C" fn(*mut c_void, u64, u64, u32),
}

/// Registers a device type, and verifies that it will work. To be called before QEMU creates devices.
pub fn register(name: &'static CStr, callbacks: &Callbacks) -> Result<(), String> {
    let known = device_type::class_named(c"i82557b");
    let right = callbacks_of(known).is_some_and(|callbacks| {
        // SAFETY: lies in the class that was just read.
        let callbacks = unsafe { &*callbacks };
        let identity = (callbacks.vendor, callbacks.device, callbacks.revision);
        callbacks.realize.is_some()
            && callbacks.exit.is_some()
            && (identity, callbacks.class) == ((0x8086, 0x1229, 2), ETHERNET)
    });
    if !right {
        return Err(WRONG_LAYOUT.into());
    }
    device_type::register(&DeviceType {
        name,
        parent: c"pci-device",
        class_init: callbacks.class_init,
        instance_init: Some(callbacks.instance_init),
        interface: Some(c"conventional-pci-device"),
    });
    Ok(())
}

/// Where the callbacks of a class are.
fn callbacks_of(class: *mut c_void) -> Option<*mut PciCallbacks> {
    device_type::callbacks_of(class, c"PCI")
}

/// Fills in a class. False: it is not laid out as expected.
///
/// # Safety
/// `class` is what QEMU passed to our type's `class_init`.
pub unsafe fn fill_class(
    class: *mut c_void,
    identity: Identity,
    realize: unsafe extern "C" fn(*mut c_void, *mut c_void),
    exit: unsafe extern "C" fn(*mut c_void),
    config_read: unsafe extern "C" fn(*mut c_void, u32, c_int) -> u32,
    config_write: unsafe extern "C" fn(*mut c_void, u32, u32, c_int),
) -> bool {
    let Some(place) = callbacks_of(class) else {
        return false;
    };
    // The parent, a plain PCI device, has no callbacks and no identity.
    let empty = read_bytes(
        place as usize,
        std::mem::offset_of!(PciCallbacks, subsystem),
    )
    .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    if empty {
        // SAFETY: within the class, which has room for it.
        let callbacks = unsafe { &mut *place };
        callbacks.realize = Some(realize);
        callbacks.exit = Some(exit);
        callbacks.config_read = Some(config_read);
        callbacks.config_write = Some(config_write);
        callbacks.vendor = identity.vendor;
        callbacks.device = identity.device;
        callbacks.revision = identity.revision;
        callbacks.class = ETHERNET;
        callbacks.subsystem_vendor = identity.subsystem.0;
        callbacks.subsystem = identity.subsystem.1;
    }
    empty
}

/// Gives a device a property that is a string, for `-device`.
///
/// # Safety
/// `device` is a device that QEMU is initialising.
pub unsafe fn add_property(
    device: *mut c_void,
    name: &CStr,
    get: PropertyGetter,
    set: PropertySetter,
) {
    // SAFETY: the callbacks live as long as the process.
    unsafe { (api().object_property_add_str)(device, name.as_ptr(), get, set) };
}

impl Device {
    /// Finds the configuration space of a device, whose class has this identity. None: it is not laid out as expected.
    ///
    /// # Safety
    /// `device` is a device of our type that QEMU is realizing.
    pub unsafe fn realizing(device: *mut c_void, identity: Identity) -> Option<Device> {
        let expected = u32::from(identity.device) << 16 | u32::from(identity.vendor);
        let word = |index: usize| read::<usize>(device as usize + index * size_of::<usize>());
        let found = (0..DEVICE_WORDS).find(|&index| {
            let first = |at: usize| word(index + at).and_then(read::<u32>);
            // config, cmask (which bits a restore compares), wmask (which are writable), w1cmask
            first(0) == Some(expected)
                && first(1) == Some(u32::MAX)
                && first(2) == Some(0)
                && first(3) == Some(0)
        })?;
        Some(Device {
            device,
            configuration: word(found)? as *mut u8,
            writable: word(found + 2)? as *mut u8,
            pmcsr: identity
                .power
                .map(|power| usize::from(power.offset) + PMCSR),
            msi: false,
            tables: None,
        })
    }

    /// Whether this is the device that QEMU passed to a callback.
    pub fn is(self, device: *mut c_void) -> bool {
        self.device == device
    }

    /// Sets up the rest of the configuration space and the windows; `token` gives what the accesses to a window are passed. Returns the
    /// windows' regions.
    pub fn plug(
        self,
        identity: Identity,
        windows: &[Window],
        accesses: &Accesses,
        token: impl Fn(usize) -> *mut c_void,
    ) -> Vec<*mut c_void> {
        let api = api();
        let sizes = (1, 4);
        let mut regions = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            let ops: &'static MemoryRegionOps = Box::leak(Box::new(MemoryRegionOps {
                read: accesses.read,
                write: accesses.write,
                read_with_attrs: std::ptr::null(),
                write_with_attrs: std::ptr::null(),
                endianness: DEVICE_LITTLE_ENDIAN,
                valid: ValidSizes {
                    min: sizes.0,
                    max: sizes.1,
                    unaligned: false,
                    accepts: std::ptr::null(),
                },
                implemented: ImplementedSizes {
                    min: sizes.0,
                    max: sizes.1,
                    unaligned: false,
                },
                rest: [0; 8],
            }));
            let region = opaque();
            regions.push(region);
            let name = CString::new(format!("irqlab.window{number}")).unwrap_or_default();
            let kind = if window.ports { PCI_BAR_PORTS } else { 0 };
            // SAFETY: a MemoryRegion fits into the buffer, which is never freed, as is `ops`; QEMU copies the name.
            unsafe {
                (api.memory_region_init_io)(
                    region,
                    self.device,
                    ops,
                    token(number),
                    name.as_ptr(),
                    window.bytes,
                );
                (api.pci_register_bar)(self.device, number as c_int, kind, region);
            }
        }
        // SAFETY: a configuration space has 256 bytes at least, and was found in `realizing`.
        unsafe {
            self.configuration.add(INTERRUPT_PIN).write(1);
            self.configuration.add(MIN_GNT).write(identity.latency[0]);
            self.configuration
                .add(MIN_GNT + 1)
                .write(identity.latency[1]);
            if let Some(power) = identity.power {
                let offset = usize::from(power.offset);
                let [low, high] = power.capabilities.to_le_bytes();
                let bytes = [POWER_MANAGEMENT, 0, low, high];
                let capability = self.configuration.add(offset);
                capability.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                self.configuration.add(CAPABILITIES).write(power.offset);
                let status = self.configuration.add(STATUS);
                status.write(status.read() | STATUS_CAPABILITIES);
                let pmcsr = self.writable.add(offset + PMCSR);
                pmcsr.copy_from_nonoverlapping(PMCSR_WRITABLE.as_ptr(), PMCSR_WRITABLE.len());
            }
        }
        regions
    }

    /// How the machine wants the device to interrupt.
    pub fn signalling(self) -> Signalling {
        let api = api();
        // SAFETY: the device is realized, and has the capability that is asked for.
        unsafe {
            if self.tables.is_some() && (api.msix_enabled)(self.device) != 0 {
                Signalling::Vectors
            } else if self.msi && (api.msi_enabled)(self.device) {
                Signalling::Message
            } else {
                Signalling::Pin
            }
        }
    }

    /// Sends a message.
    pub fn message(self, signalling: Signalling, vector: usize) {
        let api = api();
        // SAFETY: the device is realized, and the machine has enabled these messages.
        unsafe {
            match signalling {
                Signalling::Vectors => (api.msix_notify)(self.device, (vector % VECTORS) as c_uint),
                Signalling::Message => (api.msi_notify)(self.device, 0),
                Signalling::Pin => {}
            }
        }
    }

    /// Has QEMU save its own part of the device in snapshots. False if it cannot.
    pub fn save_in_snapshots(self) -> bool {
        let api = api();
        // SAFETY: the descriptions are of a PCIDevice, and of its tables of MSI-X.
        self.descriptions().into_iter().all(|description| unsafe {
            (api.vmstate_register_with_alias_id)(
                self.device,
                INSTANCE_ID_ANY,
                description,
                self.device,
                -1,
                0,
                std::ptr::null_mut(),
            ) == 0
        })
    }

    /// What QEMU's part of the device's state consists of.
    fn descriptions(self) -> Vec<*mut c_void> {
        let api = api();
        let tables = self.tables.map(|_| api.vmstate_msix);
        std::iter::once(api.vmstate_pci_device)
            .chain(tables)
            .collect()
    }

    /// The device goes.
    pub fn unplug(self) {
        let api = api();
        for description in self.descriptions() {
            // SAFETY: as registered in `save_in_snapshots`.
            unsafe { (api.vmstate_unregister)(self.device, description, self.device) };
        }
        // SAFETY: as set up in `add_capabilities`.
        unsafe {
            if let Some(region) = self.tables {
                (api.msix_uninit)(self.device, region, region);
            }
            if self.msi {
                (api.msi_uninit)(self.device);
            }
        }
    }

    /// What the power management registers say.
    pub fn power(self) -> Power {
        let Some(place) = self.pmcsr else {
            return Power::On;
        };
        // SAFETY: as in `plug`.
        let [state, control] =
            [0, 1].map(|byte| unsafe { self.configuration.add(place + byte).read_volatile() });
        if state & PMCSR_STATE == 0 {
            Power::On
        } else if control & PMCSR_PME_ENABLE != 0 {
            Power::Listening
        } else {
            Power::Off
        }
    }

    /// Whether the device is in power state D0, where it answers.
    pub fn is_awake(self) -> bool {
        self.power() == Power::On
    }

    /// The machine reads the configuration space.
    pub fn read_configuration(self, address: u32, bytes: c_int) -> u32 {
        // SAFETY: QEMU's own way to do it, with what it passed.
        unsafe { (api().pci_default_read_config)(self.device, address, bytes) }
    }

    /// The machine writes the configuration space.
    pub fn write_configuration(self, address: u32, value: u32, bytes: c_int) {
        // SAFETY: QEMU's own way to do it, with what it passed.
        unsafe { (api().pci_default_write_config)(self.device, address, value, bytes) };
    }

    /// Whether the device may use the bus by itself.
    pub fn is_master(self) -> bool {
        // SAFETY: as in `plug`.
        unsafe { self.configuration.add(COMMAND).read_volatile() & COMMAND_MASTER != 0 }
    }

    /// Sets the interrupt line.
    pub fn interrupt(self, asserted: bool) {
        // SAFETY: the device is realized.
        unsafe { (api().pci_set_irq)(self.device, c_int::from(asserted)) };
    }
}

/// Has `callback` called with `token` when the machine is reset.
pub fn on_reset(callback: Callback, token: *mut c_void) {
    // SAFETY: the callback lives as long as the process.
    unsafe { (api().qemu_register_reset)(callback, token) };
}

/// Reads the machine's memory.
pub fn read_memory(address: u64, bytes: &mut [u8]) {
    transfer(address, bytes.as_mut_ptr(), bytes.len(), false);
}

/// Writes the machine's memory.
pub fn write_memory(address: u64, bytes: &[u8]) {
    caches::device_wrote(address, bytes.len() as u64);
    transfer(address, bytes.as_ptr().cast_mut(), bytes.len(), true);
}

fn transfer(address: u64, bytes: *mut u8, count: usize, write: bool) {
    let (api, no_attributes) = (api(), 0);
    // SAFETY: the address space is QEMU's own; QEMU only reads what it is to write, and there are that many bytes.
    unsafe {
        (api.address_space_rw)(
            api.address_space_memory,
            address,
            no_attributes,
            bytes,
            count as u64,
            write,
        );
    }
}
