// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's USB devices: what a device type of our own needs to know of QEMU's structures, found out or verified at the start.
//!
//! Functions are called by name, as in [`crate::qemu`]. Structures are another matter: `DeviceClass`, `DeviceState` and
//! `VMStateDescription` differ between versions, so nothing is assumed of them. Anchors are looked for instead:
//! - `USBDeviceClass` (include/hw/usb.h) begins with a `DeviceClass`, whose last member points to the string "usb-bus". What
//!   follows has been the same from QEMU 7.2 to 10.x; QEMU's own keyboard must have its name there.
//! - In a `USBDevice` the description that we gave our type is found as a string; the members around it are checked.
//! - A `USBPacket` is set up by QEMU in a buffer of ours, with values that are then looked for.
//!
//! The device's state is not described to QEMU but laid down in RAM of its own, which is part of any snapshot.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::os::unix::Library;

/// `USB_TOKEN_IN` and `USB_TOKEN_OUT` of include/hw/usb.h.
pub(super) const TOKEN_IN: c_int = 0x69;
const TOKEN_OUT: c_int = 0xe1;
/// `USB_SPEED_HIGH` and `USB_SPEED_SUPER`, and the first of the properties of a device: its description.
pub const SPEED_HIGH: c_int = 2;
/// As above.
pub const SPEED_SUPER: c_int = 3;

/// `VMSTATE_INSTANCE_ID_ANY` of include/migration/vmstate.h.
const INSTANCE_ID_ANY: u32 = u32::MAX;
/// Our structures are searched this far.
const CLASS_WORDS: usize = 64;
const DEVICE_BYTES: usize = 1024;
/// `product_desc` of `USBDevice`; what follows it up to `ep_ctl`, and where `remote_wakeup` lies before that.
const DESCRIPTION_BYTES: usize = 32;
const REMOTE_WAKEUP_BEFORE_EP: usize = 16;

/// `TypeInfo` of include/qom/object.h.
#[repr(C)]
struct TypeInfo {
    name: *const c_char,
    parent: *const c_char,
    instance_size: usize,
    instance_align: usize,
    instance_init: *const c_void,
    instance_post_init: *const c_void,
    instance_finalize: *const c_void,
    is_abstract: bool,
    class_size: usize,
    class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
    class_base_init: *const c_void,
    class_data: *mut c_void,
    interfaces: *const c_void,
}

/// `USBDeviceClass`, less its beginning.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    /// (device, error)
    pub realize: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    unrealize: usize,
    find_device: usize,
    cancel_packet: usize,
    handle_attach: usize,
    /// (device)
    pub handle_reset: Option<unsafe extern "C" fn(*mut c_void)>,
    /// (device, packet, request, value, index, length, data)
    #[allow(clippy::type_complexity)]
    pub handle_control:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, c_int, c_int, c_int, *mut u8)>,
    /// (device, packet)
    pub handle_data: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    set_interface: usize,
    flush_ep_queue: usize,
    /// (device, endpoint)
    pub ep_stopped: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    alloc_streams: usize,
    free_streams: usize,
    /// The description.
    pub product_desc: *const c_char,
    usb_desc: usize,
}

impl Callbacks {
    /// None.
    pub const NONE: Callbacks = Callbacks {
        realize: None,
        unrealize: 0,
        find_device: 0,
        cancel_packet: 0,
        handle_attach: 0,
        handle_reset: None,
        handle_control: None,
        handle_data: None,
        set_interface: 0,
        flush_ep_queue: 0,
        ep_stopped: None,
        alloc_streams: 0,
        free_streams: 0,
        product_desc: std::ptr::null(),
        usb_desc: 0,
    };
}

macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions.
        #[derive(Clone, Copy)]
        pub struct Usb {
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            /// A `VMStateDescription`.
            vmstate_usb_device: *const c_void,
        }

        impl Usb {
            /// Finds everything in the running executable, or names what it lacks.
            pub fn resolve() -> Result<Self, Vec<&'static str>> {
                let this = Library::this();
                let mut missing = Vec::new();
                $(
                    // SAFETY: the type is that of the QEMU function of this name, from 7.2 to 10.x.
                    let $name = unsafe { this.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing.push(stringify!($name)));
                )*
                // SAFETY: only the address of the variable of this name is used.
                let described = unsafe { this.get::<*const c_void>(b"vmstate_usb_device\0") }
                    .map(|symbol| symbol.into_raw().cast_const())
                    .map_err(|_| missing.push("vmstate_usb_device"));
                match ($($name,)* described) {
                    ($(Ok($name),)* Ok(vmstate_usb_device)) => Ok(Self { $($name,)* vmstate_usb_device }),
                    _ => Err(missing),
                }
            }
        }
    };
}

functions! {
    type_register_static: fn(*const TypeInfo) -> *mut c_void;
    object_class_by_name: fn(*const c_char) -> *mut c_void;
    object_property_get_str: fn(*mut c_void, *const c_char, *mut c_void) -> *mut c_char;
    usb_ep_get: fn(*mut c_void, c_int, c_int) -> *mut c_void;
    usb_wakeup: fn(*mut c_void, c_uint);
    usb_device_attach: fn(*mut c_void, *mut c_void);
    usb_device_detach: fn(*mut c_void) -> c_int;
    usb_packet_init: fn(*mut c_void);
    usb_packet_setup: fn(*mut c_void, c_int, *mut c_void, c_uint, u64, bool, bool);
    usb_packet_addbuf: fn(*mut c_void, *mut c_void, usize);
    usb_packet_copy: fn(*mut c_void, *mut c_void, usize);
    usb_packet_size: fn(*mut c_void) -> usize;
    usb_packet_cleanup: fn(*mut c_void);
    vmstate_register_with_alias_id: fn(*mut c_void, u32, *const c_void, *mut c_void, c_int, c_int, *mut c_void) -> c_int;
    memory_region_init_ram: fn(*mut c_void, *mut c_void, *const c_char, u64, *mut c_void);
    memory_region_get_ram_ptr: fn(*mut c_void) -> *mut u8;
    qemu_add_vm_change_state_handler: fn(unsafe extern "C" fn(*mut c_void, bool, c_int), *mut c_void) -> *mut c_void;
}

// SAFETY: functions, and the address of a constant.
unsafe impl Send for Usb {}
// SAFETY: as above.
unsafe impl Sync for Usb {}

/// Places in a `USBDevice`, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    speed_mask: usize,
    address: usize,
    remote_wakeup: usize,
}

/// Bytes at an address that may not be mapped.
fn peek(address: usize, bytes: usize) -> Option<Vec<u8>> {
    let mut found = vec![0_u8; bytes];
    let here = libc::iovec {
        iov_base: found.as_mut_ptr().cast(),
        iov_len: bytes,
    };
    let there = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: bytes,
    };
    // SAFETY: reads our own memory through the kernel, which refuses what is not mapped.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    (read == bytes as isize).then_some(found)
}

fn is_string(address: usize, text: &CStr) -> bool {
    peek(address, text.to_bytes_with_nul().len()).as_deref() == Some(text.to_bytes_with_nul())
}

/// Where in a class what follows `DeviceClass` begins: behind the pointer to "usb-bus".
fn callbacks_of(class: *mut c_void) -> Option<*mut Callbacks> {
    let words = class.cast::<usize>();
    let bytes = peek(class as usize, CLASS_WORDS * 8)?;
    let at = bytes.chunks_exact(8).position(|word| {
        let word = usize::from_ne_bytes(word.try_into().unwrap_or_default());
        word != 0 && is_string(word, c"usb-bus")
    })?;
    // SAFETY: the class goes on there.
    Some(unsafe { words.add(at + 1) }.cast())
}

impl Usb {
    /// Registers a device type of this name, and finds out whether it will work.
    pub fn register(
        &self,
        name: &'static CStr,
        class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
    ) -> Result<(), String> {
        self.verify_packets()?;
        // SAFETY: a class of QEMU's own, by name.
        let keyboard = unsafe { (self.object_class_by_name)(c"usb-kbd".as_ptr()) };
        let named = (!keyboard.is_null())
            .then(|| callbacks_of(keyboard))
            .flatten()
            .filter(|callbacks| {
                // SAFETY: lies in the class that was just read.
                let callbacks = unsafe { &**callbacks };
                callbacks.handle_data.is_some()
                    && callbacks.handle_control.is_some()
                    && is_string(callbacks.product_desc as usize, c"QEMU USB Keyboard")
            });
        if named.is_none() {
            return Err(
                "this QEMU's USB devices are not laid out as those of QEMU 7.2 to 10.x".into(),
            );
        }
        let info: &'static TypeInfo = Box::leak(Box::new(TypeInfo {
            name: name.as_ptr(),
            parent: c"usb-device".as_ptr(),
            instance_size: 0, // as the parent's
            instance_align: 0,
            instance_init: std::ptr::null(),
            instance_post_init: std::ptr::null(),
            instance_finalize: std::ptr::null(),
            is_abstract: false,
            class_size: 0,
            class_init,
            class_base_init: std::ptr::null(),
            class_data: std::ptr::null_mut(),
            interfaces: std::ptr::null(),
        }));
        // SAFETY: `info` lives for ever.
        unsafe { (self.type_register_static)(info) };
        Ok(())
    }

    /// Fills in a class, from its `class_init`; false: it is not laid out as expected.
    pub fn fill(&self, class: *mut c_void, callbacks: Callbacks) -> bool {
        let Some(place) = callbacks_of(class) else {
            return false;
        };
        // What a plain USB device has there: nothing.
        let empty = peek(place as usize, size_of::<Callbacks>())
            .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        if empty {
            // SAFETY: within the class, which has room for it.
            unsafe { place.write(callbacks) };
        }
        empty
    }

    /// Finds the places in a device that is being realized, whose class has this description.
    ///
    /// `port.. pcap; int speed; int speedmask; uint8_t addr; char product_desc[32]; int auto_attach; .. int32_t remote_wakeup, \
    /// setup_state, setup_len, setup_index; USBEndpoint ep_ctl`.
    pub fn places(&self, device: *mut c_void, description: &CStr) -> Option<Places> {
        let bytes = peek(device as usize, DEVICE_BYTES)?;
        let text = description.to_bytes_with_nul();
        let at = bytes
            .windows(text.len())
            .position(|window| window == text)?;
        let word = |at: usize| -> Option<u32> {
            Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let (address, auto_attach) = (
            at.checked_sub(1)?,
            (at + DESCRIPTION_BYTES).next_multiple_of(4),
        );
        // SAFETY: the device exists; endpoint 0 lies in it.
        let control = unsafe { (self.usb_ep_get)(device, 0, 0) } as usize - device as usize;
        // state, setup_buf and data_buf lie between auto_attach and remote_wakeup.
        let remote_wakeup = control.checked_sub(REMOTE_WAKEUP_BEFORE_EP)?;
        let between = auto_attach + 4 + 4 + 4 + 8 + 4096;
        let right = address % 4 == 0
            && word(auto_attach)? == 1
            && word(address - 4)? == 0
            && (between..between + 8).contains(&remote_wakeup);
        right.then_some(Places {
            speed_mask: address - 4,
            address,
            remote_wakeup,
        })
    }

    /// Sets the one speed a device has, before it is attached.
    pub fn set_speed(&self, device: *mut c_void, places: Places, speed: c_int) {
        // SAFETY: `places` were found in a device of this class.
        unsafe {
            device
                .cast::<u8>()
                .add(places.speed_mask)
                .cast::<c_int>()
                .write(1 << speed);
        }
    }

    /// Notes the address that the host gave: wake-ups find the host's slot by it.
    pub fn set_address(&self, device: *mut c_void, places: Places, address: u8) {
        // SAFETY: as above.
        unsafe { device.cast::<u8>().add(places.address).write(address) };
    }

    /// The device's part of a snapshot that is QEMU's own.
    pub fn keep(&self, device: *mut c_void) -> bool {
        // SAFETY: the description is that of a USBDevice.
        unsafe {
            (self.vmstate_register_with_alias_id)(
                device,
                INSTANCE_ID_ANY,
                self.vmstate_usb_device,
                device,
                -1,
                0,
                std::ptr::null_mut(),
            ) == 0
        }
    }

    /// RAM that no processor sees, but every snapshot has.
    pub fn ram(&self, region: *mut c_void, name: &CStr, bytes: usize) -> *mut u8 {
        // SAFETY: the region is a buffer that lives for ever.
        unsafe {
            (self.memory_region_init_ram)(
                region,
                std::ptr::null_mut(),
                name.as_ptr(),
                bytes as u64,
                std::ptr::null_mut(),
            );
            (self.memory_region_get_ram_ptr)(region)
        }
    }

    /// Has `callback` called when the machine stops or begins to run: (opaque, running, state).
    pub fn on_run_state(
        &self,
        callback: unsafe extern "C" fn(*mut c_void, bool, c_int),
        opaque: *mut c_void,
    ) {
        // SAFETY: plain call.
        unsafe { (self.qemu_add_vm_change_state_handler)(callback, opaque) };
    }

    /// A property that is a string; empty if it is not set.
    pub fn property(&self, device: *mut c_void, name: &CStr) -> String {
        // SAFETY: QEMU returns a string of ours, or null.
        unsafe {
            let text = (self.object_property_get_str)(device, name.as_ptr(), std::ptr::null_mut());
            if text.is_null() {
                return String::new();
            }
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            libc::free(text.cast());
            copy
        }
    }

    /// The endpoint of that address (bit 7: IN).
    pub fn endpoint(&self, device: *mut c_void, address: u8) -> *mut c_void {
        let pid = if address & 0x80 != 0 {
            TOKEN_IN
        } else {
            TOKEN_OUT
        };
        // SAFETY: plain call; the number is below 16.
        unsafe { (self.usb_ep_get)(device, pid, c_int::from(address & 0xf)) }
    }

    /// The host is to ask an endpoint again. Never from a callback of the device's.
    pub fn wake(&self, endpoint: *mut c_void) {
        // SAFETY: the endpoint came from `endpoint()`.
        unsafe { (self.usb_wakeup)(endpoint, 0) };
    }

    /// As `wake`; if the port sleeps, it is woken up.
    pub fn resume(&self, device: *mut c_void, places: Places, endpoint: *mut c_void) {
        // SAFETY: `places` were found in this device.
        let allowed = unsafe { device.cast::<u8>().add(places.remote_wakeup).cast::<i32>() };
        // SAFETY: as above; QEMU looks at it inside the call only.
        unsafe {
            allowed.write(1);
            (self.usb_wakeup)(endpoint, 0);
            allowed.write(0);
        }
    }

    /// Pulls the plug, or puts it in.
    pub fn plug(&self, device: *mut c_void, plugged: bool) {
        // SAFETY: the device is realized; the caller knows how it was.
        unsafe {
            if plugged {
                (self.usb_device_attach)(device, std::ptr::null_mut());
            } else {
                (self.usb_device_detach)(device);
            }
        }
    }
}
