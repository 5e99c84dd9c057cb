// SPDX-License-Identifier: GPL-2.0-or-later
//! A `USBPacket`: a transfer that the host controller hands to a device.

use std::ffi::{c_int, c_uint, c_void};

use super::device::{TOKEN_IN, Usb};

/// `USB_RET_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Try again later.
    Nak = -2,
    /// Halted.
    Stall = -3,
    /// More than was asked for.
    Babble = -4,
}

/// The beginning of `USBPacket`.
#[repr(C)]
struct PacketHead {
    pid: c_int,
    id: u64,
    ep: *mut c_void,
    stream: c_uint,
    /// `QEMUIOVector`.
    iov: [usize; 5],
    parameter: u64,
    short_not_ok: bool,
    int_req: bool,
    status: c_int,
    actual_length: c_int,
}

/// A `USBPacket` that QEMU handed us.
pub struct Packet(pub *mut c_void);

impl Usb {
    /// Has QEMU set up a packet and looks where everything went.
    pub(super) fn verify_packets(&self) -> Result<(), String> {
        #[repr(C, align(16))]
        struct Room([u8; 1024]);
        let mut room = Box::new(Room([0; 1024]));
        let packet: *mut c_void = room.0.as_mut_ptr().cast();
        let head = packet.cast::<PacketHead>();
        let (mut buffer, mut data) = ([0_u8; 16], *b"irqlab\0\0");
        // SAFETY: a USBPacket fits into the buffer; it belongs to no endpoint and is used by us alone.
        let right = unsafe {
            (self.usb_packet_init)(packet);
            (*head).status = 77;
            (*head).actual_length = 77;
            let (pid, id, stream) = (TOKEN_IN, 0x1122_3344_5566_7788, 0x99aa_bbcc);
            (self.usb_packet_setup)(packet, pid, std::ptr::null_mut(), stream, id, false, true);
            let set = (*head).pid == pid
                && (*head).id == id
                && (*head).ep.is_null()
                && (*head).stream == stream
                && !(*head).short_not_ok
                && (*head).int_req
                && (*head).status == 0
                && (*head).actual_length == 0;
            (self.usb_packet_addbuf)(packet, buffer.as_mut_ptr().cast(), buffer.len());
            (self.usb_packet_copy)(packet, data.as_mut_ptr().cast(), data.len());
            let copied = (*head).actual_length == data.len() as c_int
                && buffer.starts_with(&data)
                && (self.usb_packet_size)(packet) == buffer.len();
            (self.usb_packet_cleanup)(packet);
            set && copied
        };
        if right {
            Ok(())
        } else {
            Err("this QEMU's USB packets are not laid out as those of QEMU 7.2 to 10.x".into())
        }
    }
}

impl Packet {
    fn head(&self) -> *mut PacketHead {
        self.0.cast()
    }

    /// The endpoint it is for.
    pub fn endpoint(&self) -> *mut c_void {
        // SAFETY: the packet is QEMU's and valid during the callback; its layout was verified.
        unsafe { (*self.head()).ep }
    }

    /// How much it can carry, in bytes.
    pub fn bytes(&self, usb: &Usb) -> usize {
        // SAFETY: as above.
        unsafe { (usb.usb_packet_size)(self.0) }
    }

    /// Reads what it carries to the device.
    pub fn read(&self, usb: &Usb) -> Vec<u8> {
        let mut data = vec![0; self.bytes(usb)];
        // SAFETY: as above; the buffer is as large as the packet.
        unsafe { (usb.usb_packet_copy)(self.0, data.as_mut_ptr().cast(), data.len()) };
        data
    }

    /// Fills it for the host.
    pub fn write(&self, usb: &Usb, data: &[u8]) {
        let bytes = data.len().min(self.bytes(usb));
        // SAFETY: as above; QEMU only reads from `data`.
        unsafe { (usb.usb_packet_copy)(self.0, data.as_ptr().cast_mut().cast(), bytes) };
        if bytes < data.len() {
            self.fail(Status::Babble);
        }
    }

    /// States how much of it was used.
    pub fn set_length(&self, bytes: usize) {
        // SAFETY: as above.
        unsafe { (*self.head()).actual_length = bytes as c_int };
    }

    /// It did not go through.
    pub fn fail(&self, status: Status) {
        // SAFETY: as above.
        unsafe { (*self.head()).status = status as c_int };
    }
}
