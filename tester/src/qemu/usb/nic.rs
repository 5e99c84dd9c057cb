// SPDX-License-Identifier: GPL-2.0-or-later
//! The [`Lan7800`] as a device of QEMU's: `-device usb-lan7800,serial=525400000001` on a `qemu-xhci`.
//!
//! The serial number is the MAC address. The first device is the tester's port 0, the second port 1. QEMU's host controller calls
//! us at the doorbell's instant; a transfer that is not over yet is answered with NAK, and a timer on the virtual clock has the
//! controller ask again. Nothing happens in host time.

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, OnceLock};

use crate::lan7800::hostile::{Damage, Hostile, Plan};
use crate::lan7800::usb::{Endpoint, Reply, Setup, Speed};
use crate::lan7800::{Answer, Board, Lan7800};
use crate::qemu::api::{Qemu, Timer, opaque};
use crate::qemu::plugin;
use crate::qemu::usb::device::{Callbacks, Places, SPEED_HIGH, SPEED_SUPER, Usb};
use crate::qemu::usb::packet::{Packet, Status};

const TYPE: &CStr = c"usb-lan7800";
const DESCRIPTION: &CStr = c"Microchip LAN7800";
/// Room for a device's state in a snapshot.
const STATE_BYTES: usize = 512 << 10;
/// What a state begins with, before its length.
const MAGIC: &[u8; 8] = b"lan7800\x01";

/// A standard request: bmRequestType and bRequest.
const SET_ADDRESS: (u8, u8) = (0x00, 5);

struct Bus {
    qemu: Qemu,
    usb: Usb,
    speed: Speed,
}

static BUS: OnceLock<Bus> = OnceLock::new();
/// In the order of their ports.
static NICS: Mutex<Vec<Nic>> = Mutex::new(Vec::new());

struct Nic {
    device: *mut c_void,
    places: Places,
    endpoints: [*mut c_void; 3],
    chip: Lan7800,
    mac: [u8; 6],
    plugged: bool,
    timer: Timer,
    state: *mut u8,
}

// SAFETY: handles that are only used while QEMU's global lock is held.
unsafe impl Send for Nic {}

/// What the chip wants done, once nobody looks at it.
enum Act {
    Wake(Endpoint),
    Resume,
    Transmit(Vec<u8>),
}

impl Board for Vec<Act> {
    fn wake(&mut self, endpoint: Endpoint) {
        self.push(Act::Wake(endpoint));
    }
    fn resume(&mut self) {
        self.push(Act::Resume);
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.push(Act::Transmit(frame.to_vec()));
    }
}

/// Makes the device type known. Before QEMU creates devices.
pub fn install(qemu: Qemu, speed: Speed) -> Result<(), String> {
    let usb = Usb::resolve().map_err(|missing| {
        format!(
            "this QEMU does not export {}: it cannot be given a LAN7800",
            missing.join(", ")
        )
    })?;
    usb.register(TYPE, class_init)?;
    let _ = BUS.set(Bus { qemu, usb, speed });
    Ok(())
}

/// Delivers a frame (without FCS) to the NIC at `port`; false: it is gone.
pub fn receive(port: usize, frame: &[u8]) -> bool {
    with(
        |nic_port, _| nic_port == port,
        |bus, nic| nic.plugged && nic.chip.receive(bus.qemu.now_ns(), frame),
    )
    .unwrap_or(false)
}

/// Pulls the plug of the NIC at `port`, or puts it in again, as new but for its will. Not from inside a callback of the device's.
pub fn plug(port: usize, plugged: bool) -> Result<(), String> {
    let changes = with(
        |nic_port, _| nic_port == port,
        |bus, nic| {
            let changes = nic.plugged != plugged;
            nic.plugged = plugged;
            if changes && plugged {
                nic.chip = nic.chip.successor(bus.qemu.now_ns(), nic.mac);
            }
            changes.then_some((bus.usb, nic.device))
        },
    );
    match changes {
        None => Err(no_nic(port)),
        Some(None) => Ok(()),
        Some(Some((usb, device))) => {
            usb.plug(device, plugged);
            Ok(())
        }
    }
}

/// Gives the NIC at `port` ill will, or takes it away; returns what it has damaged before.
pub fn hostile(port: usize, plan: Option<Plan>) -> Result<Damage, String> {
    with(
        |nic_port, _| nic_port == port,
        |bus, nic| {
            let now_ns = bus.qemu.now_ns();
            nic.chip
                .set_hostile(plan.map(|plan| Hostile::new(plan, port, now_ns)))
        },
    )
    .ok_or_else(|| no_nic(port))
}

fn no_nic(port: usize) -> String {
    format!("the NIC at port {port} is none of the tester's own: only those are on a USB")
}

/// Looks at the NIC that is asked for, then arms its timer anew.
fn with<T>(
    wanted: impl Fn(usize, &Nic) -> bool,
    work: impl FnOnce(&Bus, &mut Nic) -> T,
) -> Option<T> {
    let bus = BUS.get()?;
    let mut nics = NICS.lock().unwrap_or_else(|e| e.into_inner());
    let (_, nic) = nics
        .iter_mut()
        .enumerate()
        .find(|(port, nic)| wanted(*port, nic))?;
    let value = work(bus, nic);
    let deadline_ns = nic.chip.deadline_ns().filter(|_| nic.plugged);
    bus.qemu.arm(nic.timer, deadline_ns);
    Some(value)
}

fn with_device<T>(device: *mut c_void, work: impl FnOnce(&Bus, &mut Nic) -> T) -> Option<T> {
    with(|_, nic| nic.device == device, work)
}

unsafe extern "C" fn class_init(class: *mut c_void, _data: *mut c_void) {
    let mut callbacks = Callbacks::NONE;
    callbacks.realize = Some(realize);
    callbacks.handle_reset = Some(reset);
    callbacks.handle_control = Some(control);
    callbacks.handle_data = Some(data);
    callbacks.ep_stopped = Some(stopped);
    callbacks.product_desc = DESCRIPTION.as_ptr();
    if !BUS.get().is_some_and(|bus| bus.usb.fill(class, callbacks)) {
        plugin::die("this QEMU's USB devices are not laid out as those of QEMU 7.2 to 10.x");
    }
}

/// An address out of twelve hex digits.
fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let right = text.len() == 12 && text.is_ascii();
    for (place, byte) in mac.iter_mut().enumerate().filter(|_| right) {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    right.then_some(mac)
}

unsafe extern "C" fn realize(device: *mut c_void, _error: *mut c_void) {
    let Some(bus) = BUS.get() else { return };
    let serial = bus.usb.property(device, c"serial");
    let Some(mac) = parse_mac(&serial) else {
        plugin::die(&format!(
            "usb-lan7800: serial={serial} is not a MAC address in twelve hex digits"
        ));
    };
    let Some(places) = bus.usb.places(device, DESCRIPTION) else {
        plugin::die("this QEMU's USB devices are not laid out as those of QEMU 7.2 to 10.x");
    };
    let speed = match bus.speed {
        Speed::High => SPEED_HIGH,
        Speed::Super => SPEED_SUPER,
    };
    bus.usb.set_speed(device, places, speed);
    if !bus.usb.keep(device) {
        plugin::die("usb-lan7800: QEMU cannot keep it in a snapshot");
    }
    let mut nics = NICS.lock().unwrap_or_else(|e| e.into_inner());
    let port = nics.len();
    let name = CString::new(format!("irqlab.lan7800.{port}")).unwrap_or_default();
    let token = port as *mut c_void;
    let nic = Nic {
        device,
        places,
        endpoints: Endpoint::ALL.map(|endpoint| bus.usb.endpoint(device, endpoint.address())),
        chip: Lan7800::new(bus.qemu.now_ns(), bus.speed, mac),
        mac,
        plugged: true,
        timer: bus.qemu.timer_for(expired, token),
        state: bus.usb.ram(opaque(), &name, STATE_BYTES),
    };
    bus.qemu.arm(nic.timer, nic.chip.deadline_ns());
    bus.usb.on_run_state(run_state, token);
    nics.push(nic);
}

unsafe extern "C" fn reset(device: *mut c_void) {
    with_device(device, |_, nic| nic.chip.reset());
}

unsafe extern "C" fn control(
    device: *mut c_void,
    packet: *mut c_void,
    request: c_int,
    value: c_int,
    index: c_int,
    length: c_int,
    data: *mut u8,
) {
    let setup = Setup {
        kind: (request >> 8) as u8,
        request: request as u8,
        value: value as u16,
        index: index as u16,
        length: length as u16,
    };
    let sends = setup.kind & 0x80 != 0;
    let sent: &[u8] = if sends || data.is_null() {
        &[]
    } else {
        // SAFETY: QEMU has put so many bytes there.
        unsafe { std::slice::from_raw_parts(data, length as usize) }
    };
    let reply = with_device(device, |bus, nic| {
        if (setup.kind, setup.request) == SET_ADDRESS {
            bus.usb.set_address(device, nic.places, setup.value as u8);
        }
        nic.chip.control(bus.qemu.now_ns(), setup, sent)
    });
    let packet = Packet(packet);
    match reply {
        Some(Reply::Done(bytes)) if sends => {
            // SAFETY: QEMU has room for `length` bytes there, and the chip gives no more than that.
            unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            packet.set_length(bytes.len());
        }
        Some(Reply::Done(_)) => {}
        Some(Reply::Stall) | None => packet.fail(Status::Stall),
    }
}

unsafe extern "C" fn data(device: *mut c_void, packet: *mut c_void) {
    let packet = Packet(packet);
    with_device(device, |bus, nic| {
        let (now_ns, usb) = (bus.qemu.now_ns(), &bus.usb);
        let place = nic.endpoints.iter().position(|ep| *ep == packet.endpoint());
        match place.map(|place| Endpoint::ALL[place]) {
            Some(Endpoint::BulkIn) => {
                fill(usb, &packet, nic.chip.bulk_in(now_ns, packet.bytes(usb)));
            }
            Some(Endpoint::Interrupt) => fill(usb, &packet, nic.chip.interrupt()),
            Some(Endpoint::BulkOut) => match nic.chip.bulk_out(now_ns, || packet.read(usb)) {
                Answer::Ack(()) => packet.set_length(packet.bytes(usb)),
                Answer::Nak => {
                    packet.set_length(0);
                    packet.fail(Status::Nak);
                }
                Answer::Stall => packet.fail(Status::Stall),
            },
            None => packet.fail(Status::Stall),
        }
    });
}

fn fill(usb: &Usb, packet: &Packet, answer: Answer<Vec<u8>>) {
    match answer {
        Answer::Ack(bytes) => packet.write(usb, &bytes),
        Answer::Nak => packet.fail(Status::Nak),
        Answer::Stall => packet.fail(Status::Stall),
    }
}

unsafe extern "C" fn stopped(device: *mut c_void, endpoint: *mut c_void) {
    with_device(device, |_, nic| {
        if let Some(place) = nic.endpoints.iter().position(|ep| *ep == endpoint) {
            nic.chip.stopped(Endpoint::ALL[place]);
        }
    });
}

unsafe extern "C" fn expired(token: *mut c_void) {
    if let Some(bus) = BUS.get() {
        bus.qemu.hold(|| advance(token as usize));
    }
}

fn advance(port: usize) {
    let due = with(
        |nic_port, _| nic_port == port,
        |bus, nic| {
            let mut acts = Vec::new();
            if nic.plugged {
                nic.chip.advance(bus.qemu.now_ns(), &mut acts);
            }
            let wakes = nic.chip.may_wake();
            (bus.usb, acts, nic.device, nic.places, nic.endpoints, wakes)
        },
    );
    let Some((usb, acts, device, places, endpoints, wakes)) = due else {
        return;
    };
    // Without the lock: the controller asks again at once, and comes back to us.
    for act in acts {
        match act {
            Act::Transmit(frame) => plugin::arrived(port, &frame),
            Act::Wake(endpoint) => usb.wake(endpoints[endpoint as usize]),
            Act::Resume if wakes => usb.resume(device, places, endpoints[0]),
            Act::Resume => {}
        }
    }
}

/// Lays the state down when the machine stops, and takes up what is there when it runs: after a restore, the state of the machine
/// that was saved.
unsafe extern "C" fn run_state(token: *mut c_void, running: bool, _state: c_int) {
    let port = token as usize;
    with(
        |nic_port, _| nic_port == port,
        |_, nic| {
            // SAFETY: the RAM is that large, and lives as long as QEMU does.
            let room = unsafe { std::slice::from_raw_parts_mut(nic.state, STATE_BYTES) };
            let (magic, rest) = room.split_at_mut(MAGIC.len());
            let (length, text) = rest.split_at_mut(size_of::<u32>());
            if running {
                if magic != MAGIC {
                    return; // never stopped before
                }
                let bytes =
                    u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
                let kept = text.get(..bytes).unwrap_or_default();
                match serde_json::from_slice(kept) {
                    Ok(chip) => nic.chip = chip,
                    Err(why) => plugin::die(&format!("usb-lan7800: its state is damaged: {why}")),
                }
            } else {
                let kept = serde_json::to_vec(&nic.chip).unwrap_or_default();
                if kept.len() > text.len() {
                    plugin::die("usb-lan7800: its state is too large for a snapshot");
                }
                magic.copy_from_slice(MAGIC);
                length.copy_from_slice(&(kept.len() as u32).to_le_bytes());
                text[..kept.len()].copy_from_slice(&kept);
            }
        },
    );
}
