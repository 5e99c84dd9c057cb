// SPDX-License-Identifier: GPL-2.0-or-later
//! A `USBPacket`: a transfer that the host controller hands to a device.

use std::ffi::{c_int, c_void};

use super::device::EndpointHandle;
use crate::api::api;
use crate::layout::{USB_RET_BABBLE, USB_RET_NAK, USB_RET_STALL, USB_TOKEN_IN, UsbPacket};
use crate::memory::opaque;

/// Why a transfer did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Try again later.
    Nak = USB_RET_NAK as isize,
    /// Halted.
    Stall = USB_RET_STALL as isize,
    /// The device sent more than the host asked for.
    Babble = USB_RET_BABBLE as isize,
}

/// A `USBPacket` that QEMU passed to one of the device's callbacks.
pub struct Packet(*mut UsbPacket);

/// Has QEMU set up a packet in a buffer, and looks where everything is.
pub fn verify() -> Result<(), String> {
    let packet = opaque();
    let head = packet.cast::<UsbPacket>();
    let (mut buffer, mut data) = ([0_u8; 16], *b"irqlab\0\0");
    let api = api();
    // SAFETY: a USBPacket fits into the buffer. It belongs to no endpoint, and nothing else uses it.
    let right = unsafe {
        (api.usb_packet_init)(packet);
        (*head).status = 77;
        (*head).actual_length = 77;
        let (pid, id, stream) = (USB_TOKEN_IN, 0x1122_3344_5566_7788, 0x99aa_bbcc);
        (api.usb_packet_setup)(packet, pid, std::ptr::null_mut(), stream, id, false, true);
        let set = (*head).pid == pid
            && (*head).id == id
            && (*head).ep.is_null()
            && (*head).stream == stream
            && !(*head).short_not_ok
            && (*head).int_req
            && (*head).status == 0
            && (*head).actual_length == 0;
        (api.usb_packet_addbuf)(packet, buffer.as_mut_ptr().cast(), buffer.len());
        (api.usb_packet_copy)(packet, data.as_mut_ptr().cast(), data.len());
        let copied = (*head).actual_length == data.len() as c_int
            && buffer.starts_with(&data)
            && (api.usb_packet_size)(packet) == buffer.len();
        (api.usb_packet_cleanup)(packet);
        set && copied
    };
    if right {
        Ok(())
    } else {
        Err("this QEMU's USB packets are not laid out as those of the tested releases".into())
    }
}

impl Packet {
    /// A packet.
    ///
    /// # Safety
    /// QEMU passed `packet` to the callback that is being executed; the result must not outlive it.
    pub unsafe fn from_qemu(packet: *mut c_void) -> Packet {
        Packet(packet.cast())
    }

    /// Whether it is for this endpoint.
    pub fn is_for(&self, endpoint: EndpointHandle) -> bool {
        // SAFETY: the packet is valid during the callback, and its layout was verified.
        endpoint.is(unsafe { (*self.0).ep })
    }

    /// How much it can carry, in bytes.
    pub fn bytes(&self) -> usize {
        // SAFETY: as above.
        unsafe { (api().usb_packet_size)(self.0.cast()) }
    }

    /// Reads what it carries to the device.
    pub fn read(&self) -> Vec<u8> {
        let mut data = vec![0; self.bytes()];
        // SAFETY: as above; the buffer is as large as the packet.
        unsafe {
            (api().usb_packet_copy)(self.0.cast(), data.as_mut_ptr().cast(), data.len());
        }
        data
    }

    /// Fills it with data for the host.
    pub fn write(&self, data: &[u8]) {
        let bytes = data.len().min(self.bytes());
        // SAFETY: as above; QEMU only reads from `data`.
        unsafe {
            (api().usb_packet_copy)(self.0.cast(), data.as_ptr().cast_mut().cast(), bytes);
        }
        if bytes < data.len() {
            self.fail(Status::Babble);
        }
    }

    /// States how much of it was used, in bytes.
    pub fn set_length(&self, bytes: usize) {
        // SAFETY: as above.
        unsafe { (*self.0).actual_length = bytes as c_int };
    }

    /// States that the transfer did not succeed.
    pub fn fail(&self, status: Status) {
        // SAFETY: as above.
        unsafe { (*self.0).status = status as c_int };
    }
}
