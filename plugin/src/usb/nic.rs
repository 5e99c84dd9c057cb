// SPDX-License-Identifier: GPL-2.0-or-later
//! The [`Lan7800`] as a device of QEMU: `-device usb-lan7800,serial=525400000001` on a `qemu-xhci`.
//!
//! The serial number is the MAC address. The first device is the tester's port 0, the second port 1. QEMU's host controller calls the
//! device when the guest writes its doorbell. A transfer that cannot be completed yet is answered with NAK, and a timer on the virtual
//! clock has the controller ask again. Nothing depends on host time.

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, OnceLock};

use super::device::{self, Device, EndpointHandle, WRONG_LAYOUT};
use super::packet::{Packet, Status};
use crate::clock::now_ns;
use crate::die::die;
use crate::layout::{USB_SPEED_HIGH, USB_SPEED_SUPER, UsbCallbacks};
use crate::saved_state::{SavedState, on_run_state};
use crate::timer::{Timer, defer_timers};
use irqlab_tester::faults::{Damage, FaultPlan};
use irqlab_tester::lan7800::fault_injection::FaultInjector;
use irqlab_tester::lan7800::usb::{Endpoint, Reply, Setup, Speed};
use irqlab_tester::lan7800::{Answer, Board, Lan7800};
use irqlab_tester::refusal::Refusal;

const TYPE: &CStr = c"usb-lan7800";
const DESCRIPTION: &CStr = c"Microchip LAN7800";
/// Room for a device's state in a snapshot.
const STATE_BYTES: usize = 512 << 10;

/// A standard request: bmRequestType and bRequest.
const SET_ADDRESS: (u8, u8) = (0x00, 5);

struct Bus {
    speed: Speed,
    /// Called with the port and each frame (without FCS) that a NIC transmits.
    frame_sent: fn(usize, &[u8]),
}

static BUS: OnceLock<Bus> = OnceLock::new();
/// In the order of their ports.
static NICS: Mutex<Vec<Nic>> = Mutex::new(Vec::new());

struct Nic {
    device: Device,
    endpoints: [EndpointHandle; 3],
    chip: Lan7800,
    mac: [u8; 6],
    plugged: bool,
    timer: Timer,
    state: SavedState,
}

/// What the chip wants done, which is put off until [`NICS`] is unlocked.
enum Act {
    Wake(Endpoint),
    Resume,
    Transmit(Vec<u8>),
}

#[derive(Default)]
struct Acts(Vec<Act>);

impl Board for Acts {
    fn wake(&mut self, endpoint: Endpoint) {
        self.0.push(Act::Wake(endpoint));
    }
    fn resume(&mut self) {
        self.0.push(Act::Resume);
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.0.push(Act::Transmit(frame.to_vec()));
    }
}

/// Registers the device type. To be called before QEMU creates devices. `frame_sent` is called with the port and each frame (without FCS)
/// that a NIC transmits.
pub fn install(speed: Speed, frame_sent: fn(usize, &[u8])) -> Result<(), String> {
    let _ = BUS.set(Bus { speed, frame_sent });
    device::register(TYPE, class_init)
}

/// Delivers a frame (without FCS) to the NIC at `port`. False: the NIC cannot take it, and the frame is lost.
pub fn receive(port: usize, frame: &[u8]) -> bool {
    with_port(port, |nic| nic.plugged && nic.chip.receive(now_ns(), frame)).unwrap_or(false)
}

/// The same with a wrong FCS.
pub fn receive_damaged(port: usize, frame: &[u8]) {
    with_port(port, |nic| {
        if nic.plugged {
            nic.chip.receive_damaged(now_ns(), frame);
        }
    });
}

/// Pulls the cable out of the NIC at `port`, or puts it in.
pub fn plug_cable(port: usize, plugged: bool) -> Result<(), Refusal> {
    with_port(port, |nic| nic.chip.plug_cable(now_ns(), plugged)).ok_or_else(|| no_nic(port))
}

/// Unplugs the NIC at `port`, or plugs in a new one with the same fault injection. Not to be called from one of the device's callbacks.
pub fn plug(port: usize, plugged: bool) -> Result<(), Refusal> {
    let changes = with_port(port, |nic| {
        let changes = nic.plugged != plugged;
        nic.plugged = plugged;
        if changes && plugged {
            nic.chip = nic.chip.successor(now_ns(), nic.mac);
        }
        changes.then_some(nic.device)
    });
    match changes {
        None => Err(no_nic(port)),
        Some(None) => Ok(()),
        Some(Some(device)) => {
            device.plug(plugged);
            Ok(())
        }
    }
}

/// Starts fault injection into the answers of the NIC at `port`, or ends it; returns what was damaged before.
pub fn inject_faults(port: usize, plan: Option<FaultPlan>) -> Result<Damage, Refusal> {
    with_port(port, |nic| {
        let now_ns = now_ns();
        nic.chip
            .set_fault_injector(plan.map(|plan| FaultInjector::new(plan, port, now_ns)))
    })
    .ok_or_else(|| no_nic(port))
}

/// Sets whether the link partner of the NIC at `port` offers pause frames.
pub fn set_partner(port: usize, pauses: bool) -> Result<(), Refusal> {
    with_port(port, |nic| nic.chip.set_partner(pauses)).ok_or_else(|| no_nic(port))
}

/// The timers of all NICs.
pub fn timers() -> Vec<Timer> {
    let nics = NICS.lock().unwrap_or_else(|e| e.into_inner());
    nics.iter().map(|nic| nic.timer).collect()
}

fn no_nic(port: usize) -> Refusal {
    Refusal::unsupported(format!(
        "the NIC at port {port} is not a USB NIC of the tester's own"
    ))
}

/// Does `work` on the NIC at `port`, then arms its timer anew. None: there is no such NIC.
fn with_port<T>(port: usize, work: impl FnOnce(&mut Nic) -> T) -> Option<T> {
    with(|nics| nics.get_mut(port), work)
}

/// Does `work` on the NIC that QEMU calls `device`, then arms its timer anew. None: there is no such NIC.
fn with_device<T>(device: *mut c_void, work: impl FnOnce(&mut Nic) -> T) -> Option<T> {
    with(
        |nics| nics.iter_mut().find(|nic| nic.device.is(device)),
        work,
    )
}

fn with<T>(
    find: impl FnOnce(&mut [Nic]) -> Option<&mut Nic>,
    work: impl FnOnce(&mut Nic) -> T,
) -> Option<T> {
    let mut nics = NICS.lock().unwrap_or_else(|e| e.into_inner());
    let nic = find(&mut nics)?;
    let value = work(nic);
    let deadline_ns = nic.chip.deadline_ns().filter(|_| nic.plugged);
    nic.timer.arm(deadline_ns);
    Some(value)
}

unsafe extern "C" fn class_init(class: *mut c_void, _data: *mut c_void) {
    let mut callbacks = UsbCallbacks::NONE;
    callbacks.realize = Some(realize);
    callbacks.handle_reset = Some(reset);
    callbacks.handle_control = Some(control);
    callbacks.handle_data = Some(data);
    callbacks.ep_stopped = Some(stopped);
    callbacks.product_desc = DESCRIPTION.as_ptr();
    // SAFETY: QEMU passes the class of our type.
    if !unsafe { device::fill_class(class, callbacks) } {
        die(WRONG_LAYOUT);
    }
}

/// A MAC address from twelve hex digits.
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
    // SAFETY: QEMU is realizing a device of our type.
    let (serial, found) = unsafe {
        (
            device::property(device, c"serial"),
            Device::realizing(device, DESCRIPTION),
        )
    };
    let Some(mac) = parse_mac(&serial) else {
        die(&format!(
            "usb-lan7800: serial={serial} is not a MAC address in twelve hex digits"
        ));
    };
    let Some(device) = found else {
        die(WRONG_LAYOUT);
    };
    device.set_speed(match bus.speed {
        Speed::High => USB_SPEED_HIGH,
        Speed::Super => USB_SPEED_SUPER,
    });
    if !device.save_in_snapshots() {
        die("usb-lan7800: QEMU cannot save it in a snapshot");
    }
    let mut nics = NICS.lock().unwrap_or_else(|e| e.into_inner());
    let port = nics.len();
    let name = CString::new(format!("irqlab.lan7800.{port}")).unwrap_or_default();
    let token = port as *mut c_void;
    let nic = Nic {
        device,
        endpoints: Endpoint::ALL.map(|endpoint| device.endpoint(endpoint.address())),
        chip: Lan7800::new(now_ns(), bus.speed, mac),
        mac,
        plugged: true,
        timer: Timer::new(expired, token),
        state: SavedState::new(&name, STATE_BYTES),
    };
    nic.timer.arm(nic.chip.deadline_ns());
    on_run_state(run_state, token);
    nics.push(nic);
}

unsafe extern "C" fn reset(device: *mut c_void) {
    with_device(device, |nic| nic.chip.reset());
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
        // SAFETY: QEMU has put that many bytes there.
        unsafe { std::slice::from_raw_parts(data, length as usize) }
    };
    let reply = with_device(device, |nic| {
        if (setup.kind, setup.request) == SET_ADDRESS {
            nic.device.set_address(setup.value as u8);
        }
        nic.chip.control(now_ns(), setup, sent)
    });
    // SAFETY: QEMU passed it to this callback.
    let packet = unsafe { Packet::from_qemu(packet) };
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
    // SAFETY: QEMU passed it to this callback.
    let packet = unsafe { Packet::from_qemu(packet) };
    with_device(device, |nic| {
        let place = nic.endpoints.iter().position(|ep| packet.is_for(*ep));
        match place.map(|place| Endpoint::ALL[place]) {
            Some(Endpoint::BulkIn) => {
                fill(&packet, nic.chip.bulk_in(now_ns(), packet.bytes()));
            }
            Some(Endpoint::Interrupt) => fill(&packet, nic.chip.interrupt()),
            Some(Endpoint::BulkOut) => match nic.chip.bulk_out(now_ns(), || packet.read()) {
                Answer::Ack(()) => packet.set_length(packet.bytes()),
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

fn fill(packet: &Packet, answer: Answer<Vec<u8>>) {
    match answer {
        Answer::Ack(bytes) => packet.write(&bytes),
        Answer::Nak => packet.fail(Status::Nak),
        Answer::Stall => packet.fail(Status::Stall),
    }
}

unsafe extern "C" fn stopped(device: *mut c_void, endpoint: *mut c_void) {
    with_device(device, |nic| {
        if let Some(place) = nic.endpoints.iter().position(|ep| ep.is(endpoint)) {
            nic.chip.stopped(Endpoint::ALL[place]);
        }
    });
}

unsafe extern "C" fn expired(token: *mut c_void) {
    defer_timers(|| advance(token as usize));
}

fn advance(port: usize) {
    let due = with_port(port, |nic| {
        let mut acts = Acts::default();
        if nic.plugged {
            nic.chip.advance(now_ns(), &mut acts);
        }
        let wakes = nic.chip.may_wake();
        (acts.0, nic.device, nic.endpoints, wakes)
    });
    let (Some((acts, device, endpoints, wakes)), Some(bus)) = (due, BUS.get()) else {
        return;
    };
    // Without the lock: the controller calls the device at once.
    for act in acts {
        match act {
            Act::Transmit(frame) => (bus.frame_sent)(port, &frame),
            Act::Wake(endpoint) => endpoints[endpoint as usize].wake(),
            Act::Resume if wakes => device.resume(endpoints[0]),
            Act::Resume => {}
        }
    }
}

/// Writes the chip's state to its RAM when the machine stops, and reads it when the machine runs: after a restore that is the state that
/// was saved.
unsafe extern "C" fn run_state(token: *mut c_void, running: bool, _state: c_int) {
    let port = token as usize;
    with_port(port, |nic| {
        if !running {
            let saved = nic.state.save(&nic.chip);
            saved.unwrap_or_else(|why| {
                die(&format!("usb-lan7800: its state cannot be saved: {why}"))
            });
        } else if let Some(kept) = nic.state.saved() {
            match serde_json::from_slice(kept) {
                Ok(chip) => nic.chip = chip,
                Err(why) => die(&format!("usb-lan7800: its state is damaged: {why}")),
            }
        }
    });
}
