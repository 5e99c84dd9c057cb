// SPDX-License-Identifier: GPL-2.0-or-later
//! USB devices of QEMU, as far as a device type of the tester's own needs them.
//!
//! `DeviceClass`, `DeviceState` and `VMStateDescription` differ between QEMU's releases, so nothing about them is relied on. What is
//! needed is found and verified instead:
//! - `USBDeviceClass` (include/hw/usb.h) begins with a `DeviceClass`, whose last member points to the string "usb-bus". What follows is
//!   the same in all tested releases; in the class of QEMU's USB keyboard, the keyboard's name must be found there.
//! - In a `USBDevice`, the description of our type is found as a string, and the members around it are checked.
//! - A `USBPacket` is set up by QEMU in our buffer, with values that are then looked for ([`packet`](super::packet)).
//!
//! The device's state is not described to QEMU. It is kept in RAM of its own, which is part of any snapshot.

use std::ffi::{CStr, c_int, c_void};

use super::packet;
use crate::api::api;
use crate::device_type::{self, DeviceType};
use crate::layout::{
    INSTANCE_ID_ANY, USB_DESCRIPTION_BYTES, USB_REMOTE_WAKEUP_BEFORE_EP, USB_TOKEN_IN,
    USB_TOKEN_OUT, UsbCallbacks,
};
use crate::memory::{is_string, read_bytes};

/// How much of a device is searched for its description, in bytes.
const DEVICE_BYTES: usize = 1024;

/// The reason for a refusal.
pub const WRONG_LAYOUT: &str =
    "this QEMU's USB devices are not laid out as those of the tested releases";

/// Offsets in a `USBDevice`, in bytes.
#[derive(Clone, Copy, Debug)]
struct FieldOffsets {
    speed_mask: usize,
    address: usize,
    remote_wakeup: usize,
}

/// A `USBDevice` of our type; it lives as long as QEMU.
#[derive(Clone, Copy)]
pub struct Device {
    device: *mut c_void,
    offsets: FieldOffsets,
}

/// An endpoint of a [`Device`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EndpointHandle(*mut c_void);

// SAFETY: handles that are used only while QEMU's global lock is held.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Send for EndpointHandle {}

/// Registers a device type, and verifies that it will work. To be called before QEMU creates devices.
pub fn register(
    name: &'static CStr,
    class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
) -> Result<(), String> {
    packet::verify()?;
    let keyboard = device_type::class_named(c"usb-kbd");
    let right = callbacks_of(keyboard).is_some_and(|callbacks| {
        // SAFETY: lies in the class that was just read.
        let callbacks = unsafe { &*callbacks };
        callbacks.handle_data.is_some()
            && callbacks.handle_control.is_some()
            && is_string(callbacks.product_desc as usize, c"QEMU USB Keyboard")
    });
    if !right {
        return Err(WRONG_LAYOUT.into());
    }
    device_type::register(&DeviceType {
        name,
        parent: c"usb-device",
        class_init,
        instance_init: None,
        interface: None,
    });
    Ok(())
}

/// Where the callbacks of a class are.
fn callbacks_of(class: *mut c_void) -> Option<*mut UsbCallbacks> {
    device_type::callbacks_of(class, c"usb-bus")
}

/// Fills in a class. False: it is not laid out as expected.
///
/// # Safety
/// `class` is what QEMU passed to our type's `class_init`.
pub unsafe fn fill_class(class: *mut c_void, callbacks: UsbCallbacks) -> bool {
    let Some(place) = callbacks_of(class) else {
        return false;
    };
    // The parent, a plain USB device, has no callbacks.
    let empty = read_bytes(place as usize, size_of::<UsbCallbacks>())
        .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    if empty {
        // SAFETY: within the class, which has room for it.
        unsafe { place.write(callbacks) };
    }
    empty
}

/// A device's property that is a string; empty if it is not set.
///
/// # Safety
/// `device` is a device of QEMU's.
pub unsafe fn property(device: *mut c_void, name: &CStr) -> String {
    // SAFETY: QEMU returns a string that the caller must free, or null.
    unsafe {
        let text = (api().object_property_get_str)(device, name.as_ptr(), std::ptr::null_mut());
        if text.is_null() {
            return String::new();
        }
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        copy
    }
}

impl Device {
    /// Finds the members that are needed of a device, whose class has this description. None: it is not laid out as expected.
    ///
    /// # Safety
    /// `device` is a device of our type that QEMU is realizing.
    pub unsafe fn realizing(device: *mut c_void, description: &CStr) -> Option<Device> {
        let bytes = read_bytes(device as usize, DEVICE_BYTES)?;
        // SAFETY: the device exists; endpoint 0 lies in it.
        let control_endpoint = unsafe { (api().usb_ep_get)(device, 0, 0) } as usize;
        let offsets = find_offsets(&bytes, control_endpoint - device as usize, description)?;
        Some(Device { device, offsets })
    }

    /// Whether this is the device that QEMU passed to a callback.
    pub fn is(self, device: *mut c_void) -> bool {
        self.device == device
    }

    /// Sets the only speed that the device has, before it is attached.
    pub fn set_speed(self, speed: c_int) {
        // SAFETY: the offset was verified in `realizing`.
        unsafe {
            self.member::<c_int>(self.offsets.speed_mask)
                .write(1 << speed)
        };
    }

    /// Notes the address that the host assigned: QEMU finds the host's slot by it when the device wakes it up.
    pub fn set_address(self, address: u8) {
        // SAFETY: as above.
        unsafe { self.member::<u8>(self.offsets.address).write(address) };
    }

    unsafe fn member<T>(self, offset: usize) -> *mut T {
        // SAFETY: the caller's promise that the member lies in the device.
        unsafe { self.device.cast::<u8>().add(offset).cast() }
    }

    /// Has QEMU save its own part of the device in snapshots. False if it cannot.
    pub fn save_in_snapshots(self) -> bool {
        let api = api();
        // SAFETY: the description is that of a USBDevice.
        unsafe {
            (api.vmstate_register_with_alias_id)(
                self.device,
                INSTANCE_ID_ANY,
                api.vmstate_usb_device,
                self.device,
                -1,
                0,
                std::ptr::null_mut(),
            ) == 0
        }
    }

    /// The endpoint of an address (bit 7: IN).
    pub fn endpoint(self, address: u8) -> EndpointHandle {
        let token = if address & 0x80 != 0 {
            USB_TOKEN_IN
        } else {
            USB_TOKEN_OUT
        };
        // SAFETY: the device exists, and the number is below 16.
        EndpointHandle(unsafe {
            (api().usb_ep_get)(self.device, token, c_int::from(address & 0xf))
        })
    }

    /// As [`EndpointHandle::wake`]; if the port is suspended, it is resumed first.
    pub fn resume(self, endpoint: EndpointHandle) {
        // SAFETY: as in `set_speed`. QEMU reads the member inside the call only.
        unsafe {
            let allowed = self.member::<i32>(self.offsets.remote_wakeup);
            allowed.write(1);
            endpoint.wake();
            allowed.write(0);
        }
    }

    /// Plugs the device in, or unplugs it. It must not be in that state yet.
    pub fn plug(self, plugged: bool) {
        let api = api();
        // SAFETY: the device is realized.
        unsafe {
            if plugged {
                (api.usb_device_attach)(self.device, std::ptr::null_mut());
            } else {
                (api.usb_device_detach)(self.device);
            }
        }
    }
}

impl EndpointHandle {
    /// Whether this is the endpoint that QEMU passed to a callback.
    pub fn is(self, endpoint: *mut c_void) -> bool {
        self.0 == endpoint
    }

    /// Has the host controller ask the endpoint again. Not to be called from one of the device's callbacks.
    pub fn wake(self) {
        // SAFETY: the endpoint came from `Device::endpoint`.
        unsafe { (api().usb_wakeup)(self.0, 0) };
    }
}

/// Finds the members in a device's bytes, of which those from `control_endpoint` on are its endpoint 0:
/// `port.. pcap; int speed; int speedmask; uint8_t addr; char product_desc[32]; int auto_attach; .. int32_t remote_wakeup, setup_state,
/// setup_len, setup_index; USBEndpoint ep_ctl`.
fn find_offsets(bytes: &[u8], control_endpoint: usize, description: &CStr) -> Option<FieldOffsets> {
    let text = description.to_bytes_with_nul();
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)?;
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let address = at.checked_sub(1)?;
    let speed_mask = address.checked_sub(4)?;
    let auto_attach = (at + USB_DESCRIPTION_BYTES).next_multiple_of(4);
    let remote_wakeup = control_endpoint.checked_sub(USB_REMOTE_WAKEUP_BEFORE_EP)?;
    // state, setup_buf and data_buf lie between auto_attach and remote_wakeup.
    let between = auto_attach + 4 + 4 + 4 + 8 + 4096;
    let right = address % 4 == 0
        && word(auto_attach)? == 1
        && word(speed_mask)? == 0
        && (between..between + 8).contains(&remote_wakeup);
    right.then_some(FieldOffsets {
        speed_mask,
        address,
        remote_wakeup,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `USBDevice` as in QEMU 7.2, from `speedmask` on at offset 100: its bytes, and where endpoint 0 lies.
    fn device() -> (Vec<u8>, usize) {
        let mut bytes = vec![0; DEVICE_BYTES];
        bytes[105..109].copy_from_slice(b"chip");
        let auto_attach = (105 + USB_DESCRIPTION_BYTES).next_multiple_of(4);
        bytes[auto_attach..auto_attach + 4].copy_from_slice(&1_u32.to_ne_bytes());
        (
            bytes,
            auto_attach + 4 + 4 + 4 + 8 + 4096 + USB_REMOTE_WAKEUP_BEFORE_EP,
        )
    }

    #[test]
    fn members_are_found_around_the_description() {
        let (bytes, control_endpoint) = device();
        let offsets = find_offsets(&bytes, control_endpoint, c"chip");
        let found = offsets.map(|found| (found.speed_mask, found.address, found.remote_wakeup));
        assert_eq!(found, Some((100, 104, control_endpoint - 16)));
    }

    #[test]
    fn other_layouts_are_refused() {
        let (bytes, control_endpoint) = device();
        assert!(find_offsets(&bytes, control_endpoint, c"other").is_none());
        assert!(find_offsets(&bytes, control_endpoint - 4, c"chip").is_none());
        assert!(find_offsets(&bytes, control_endpoint + 8, c"chip").is_none());
        for at in [100, 140] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(
                find_offsets(&other, control_endpoint, c"chip").is_none(),
                "byte {at}"
            );
        }
        assert!(
            find_offsets(&bytes[1..], control_endpoint - 1, c"chip").is_none(),
            "not aligned"
        );
    }
}
