// SPDX-License-Identifier: GPL-2.0-or-later
//! [Cards](irqlab_tester::pci::Card) as devices of QEMU: `-device irqlab-82559,mac=52:54:00:00:00:01`, and others by the chip's name.
//!
//! The first device is the tester's port 0, the second port 1. All share one bus, except PCI Express cards: each has a link of its own.
//! What a card does to memory goes through QEMU's; the time that it takes is the [bus](irqlab_tester::pci::bus)'s. Nothing depends on host time.
//! [`kinds`](super::kinds) has the names, [`socket`](super::socket) what a card is plugged into.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock};

use super::device::{self, Accesses, Callbacks, Device, WRONG_LAYOUT};
use super::kinds::{KINDS, Kind};
use super::slot::Slot;
use super::socket::{Plugged, Socket};
use crate::caches;
use crate::clock::now_ns;
use crate::die::die;
use crate::saved_state::{SavedState, on_run_state};
use crate::timer::{Timer, defer_timers};
use irqlab_tester::faults::{Damage, FaultPlan};
use irqlab_tester::mac::Mac;
use irqlab_tester::pci::bus::{Bus, Parameters};
use irqlab_tester::pci::fault_injection::FaultInjector;
use irqlab_tester::pci::link::{self, Link};
use irqlab_tester::pci::posted::Write;
use irqlab_tester::pci::{Card, Errata, Host, Identity, Signalling};
use irqlab_tester::refusal::Refusal;

/// Room for a card's state in a snapshot.
const STATE_BYTES: usize = 256 << 10;
/// How many changes of a ring's fill are recorded at most.
const MOST_FILLS: usize = 1 << 20;
/// A token is a port and a window.
const WINDOW_BITS: u32 = 4;

/// The slots of the bus, by port.
struct Slots {
    bus: Bus,
    errata: Errata,
    /// Without an instruction clock, timers expire when the host's scheduler lets QEMU's main loop run.
    timers_are_late: bool,
    slots: Vec<Slot>,
}

static SLOTS: Mutex<Option<Slots>> = Mutex::new(None);
/// Called with the port and each frame (without FCS) that a card transmits.
static FRAME_SENT: OnceLock<fn(usize, &[u8])> = OnceLock::new();
/// The MAC addresses given to devices that are not realized yet.
static MACS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// Registers the device types. To be called before QEMU creates devices. `frame_sent` is called with the port and each frame (without FCS)
/// that a card transmits. `timers_are_late`: what was due is done before a card is accessed, since its timer may not have expired yet.
pub fn install(
    parameters: Parameters,
    errata: Errata,
    timers_are_late: bool,
    frame_sent: fn(usize, &[u8]),
) -> Result<(), String> {
    let _ = FRAME_SENT.set(frame_sent);
    *SLOTS.lock().unwrap_or_else(|e| e.into_inner()) = Some(Slots {
        bus: Bus::new(parameters),
        errata,
        timers_are_late,
        slots: Vec::new(),
    });
    KINDS.iter().try_for_each(|kind| {
        device::register(
            kind.name,
            &Callbacks {
                class_init: kind.class_init,
                instance_init,
            },
        )
    })
}

/// Delivers a frame (without FCS) to the card at `port`. False: the card cannot take it, and the frame is lost.
pub fn receive(port: usize, frame: &[u8]) -> bool {
    with(port, |card, host| card.receive(now_ns(), frame, host)).unwrap_or(false)
}

/// The same with a wrong FCS.
pub fn receive_damaged(port: usize, frame: &[u8]) {
    with(port, |card, host| {
        card.receive_damaged(now_ns(), frame, host);
    });
}

/// Pulls the cable out of the card at `port`, or puts it in.
pub fn plug_cable(port: usize, plugged: bool) -> Result<(), Refusal> {
    with(port, |card, host| {
        card.plug_cable(now_ns(), plugged, host);
    })
    .ok_or_else(|| no_card(port))
}

/// Takes the card at `port` out without a word to the machine, or puts a new one in its place.
pub fn plug(port: usize, present: bool) -> Result<(), Refusal> {
    let mut slots = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let errata = slots.as_ref().map(|slots| slots.errata).unwrap_or_default();
    let slot = slots.as_mut().and_then(|slots| slots.slots.get_mut(port));
    let Some(slot) = slot else {
        return Err(no_card(port));
    };
    if slot.present != present {
        slot.present = present;
        slot.socket.forget();
        slot.card = slot.kind.model.card(now_ns(), slot.mac, errata);
        slot.device
            .into_iter()
            .for_each(|device| device.interrupt(false));
        slot.arm();
    }
    Ok(())
}

/// Starts fault injection into the card at `port`, or ends it; returns what was damaged before.
pub fn inject_faults(port: usize, plan: Option<FaultPlan>) -> Result<Damage, Refusal> {
    let mut slots = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slot = slots.as_mut().and_then(|slots| slots.slots.get_mut(port));
    let Some(slot) = slot else {
        return Err(no_card(port));
    };
    let faults = plan.map(|plan| FaultInjector::new(plan, port, now_ns()));
    let before = std::mem::replace(&mut slot.socket.faults, faults);
    // A spurious interrupt that was under way ends.
    if before.is_some() {
        slot.device
            .into_iter()
            .for_each(|device| device.interrupt(slot.socket.asserted));
    }
    slot.arm();
    Ok(before.map_or_else(Damage::default, |before| before.damage()))
}

/// From now on, records how many transmit descriptors the cards hold, or stops that; returns what was recorded, by port.
pub fn rings(record: bool) -> Vec<Vec<[u64; 2]>> {
    let mut slots = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slots = slots.iter_mut().flat_map(|slots| &mut slots.slots);
    let recorded = slots.map(|slot| {
        let fills = std::mem::replace(&mut slot.fills, record.then(Vec::new));
        slot.arm();
        fills.unwrap_or_default()
    });
    recorded.collect()
}

fn no_card(port: usize) -> Refusal {
    Refusal::unsupported(format!(
        "there is no card of the tester's own at port {port}"
    ))
}

/// The timers of all cards.
pub fn timers() -> Vec<Timer> {
    let slots = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slots = slots.iter().flat_map(|slots| &slots.slots);
    slots.map(|slot| slot.timer).collect()
}

/// Does `work` on the card at `port`, arms its timer anew, and passes on what it sent. None: there is no such card, or it is at work
/// already, since its own transfer led to itself.
fn with<T>(port: usize, work: impl FnOnce(&mut dyn Card, &mut Plugged) -> T) -> Option<T> {
    with_slot(port, Slot::answers, work)
}

/// As [`with`], even if the card does not answer.
fn with_any<T>(port: usize, work: impl FnOnce(&mut dyn Card, &mut Plugged) -> T) -> Option<T> {
    with_slot(port, |slot| slot.device, work)
}

fn with_slot<T>(
    port: usize,
    device: impl FnOnce(&Slot) -> Option<Device>,
    work: impl FnOnce(&mut dyn Card, &mut Plugged) -> T,
) -> Option<T> {
    let mut guard = SLOTS.try_lock().ok()?;
    let Slots {
        bus,
        timers_are_late,
        slots,
        ..
    } = guard.as_mut()?;
    let slot = slots.get_mut(port)?;
    let device = device(slot)?;
    let mut host = Plugged::new(bus, &mut slot.socket, device, slot.kind.model);
    host.deliver_writes(now_ns(), slot.card.as_mut());
    if *timers_are_late {
        slot.card.advance(now_ns(), &mut host);
    } else {
        slot.card.catch_up(now_ns(), &mut host);
    }
    let value = work(slot.card.as_mut(), &mut host);
    if let Some(fills) = &mut slot.fills {
        let fill = slot.card.transmit_fill(&mut host).into();
        if fills.len() < MOST_FILLS && fills.last().is_none_or(|last| last[1] != fill) {
            fills.push([now_ns(), fill]);
        }
    }
    let sent = host.into_sent();
    slot.arm();
    drop(guard);
    if let Some(frame_sent) = FRAME_SENT.get() {
        sent.iter().for_each(|frame| frame_sent(port, frame));
    }
    Some(value)
}

/// # Safety
/// `class` is what QEMU passed to our type's `class_init`.
pub unsafe fn fill(
    class: *mut c_void,
    identity: Identity,
    realize: unsafe extern "C" fn(*mut c_void, *mut c_void),
) {
    // SAFETY: the caller's promise.
    if !unsafe { device::fill_class(class, identity, realize, exit, config_read, config_write) } {
        die(WRONG_LAYOUT);
    }
}

unsafe extern "C" fn instance_init(device: *mut c_void) {
    // SAFETY: QEMU is initialising the device.
    unsafe { device::add_property(device, c"mac", get_mac, set_mac) };
}

unsafe extern "C" fn get_mac(device: *mut c_void, _error: *mut c_void) -> *mut c_char {
    let macs = MACS.lock().unwrap_or_else(|e| e.into_inner());
    let mac = macs.get(&(device as usize)).cloned().unwrap_or_default();
    let mac = CString::new(mac).unwrap_or_default();
    // SAFETY: copies the string for QEMU, which frees it.
    unsafe { libc::strdup(mac.as_ptr()) }
}

unsafe extern "C" fn set_mac(device: *mut c_void, value: *const c_char, _error: *mut c_void) {
    // SAFETY: QEMU passes a string.
    let value = unsafe { CStr::from_ptr(value) }
        .to_string_lossy()
        .into_owned();
    let mut macs = MACS.lock().unwrap_or_else(|e| e.into_inner());
    macs.insert(device as usize, value);
}

/// # Safety
/// QEMU is realizing a device of this kind.
pub unsafe fn realize(device: *mut c_void, kind: Kind) {
    let text = {
        let mut macs = MACS.lock().unwrap_or_else(|e| e.into_inner());
        macs.remove(&(device as usize)).unwrap_or_default()
    };
    let name = kind.name.to_string_lossy();
    let Some(Mac(mac)) = Mac::parse(&text) else {
        die(&format!(
            "{name}: mac={text} is not an Ethernet address such as 52:54:00:00:00:01"
        ));
    };
    // SAFETY: the caller's promise.
    let Some(mut device) = (unsafe { Device::realizing(device, kind.model.identity()) }) else {
        die(WRONG_LAYOUT);
    };
    let mut guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let Some(Slots { slots, errata, .. }) = guard.as_mut() else {
        return;
    };
    let card = kind.model.card(now_ns(), mac, *errata);
    // A card that is plugged in takes the place of the one that was unplugged.
    let free = slots.iter().position(|slot| slot.device.is_none());
    let port = free.unwrap_or(slots.len());
    if let Some(slot) = slots.get_mut(port) {
        (slot.device, slot.kind, slot.mac) = (Some(device), kind, mac);
        (slot.card, slot.present) = (card, true);
        slot.socket.forget();
        slot.socket.link = Link::new(link::Parameters::GEN1_X1);
    } else {
        let token = port as *mut c_void;
        let name = CString::new(format!("irqlab.card.{port}")).unwrap_or_default();
        slots.push(Slot {
            device: Some(device),
            kind,
            mac,
            card,
            socket: Socket::new(),
            present: true,
            fills: None,
            timer: Timer::new(expired, token),
            armed_ns: None,
            state: SavedState::new(&name, STATE_BYTES),
        });
        on_run_state(run_state, token);
        device::on_reset(reset, token);
    }
    let accesses = Accesses {
        read: window_read,
        write: window_write,
    };
    let regions = device.plug(
        kind.model.identity(),
        kind.model.windows(),
        &accesses,
        |window| (port << WINDOW_BITS | window) as *mut c_void,
    );
    if !device.add_capabilities(kind.model.capabilities(), &regions) {
        die(&format!(
            "{name}: QEMU cannot give it message-signalled interrupts"
        ));
    }
    if !device.save_in_snapshots() {
        die(&format!("{name}: QEMU cannot save it in a snapshot"));
    }
    slots[port].device = Some(device);
    slots[port].arm();
}

/// The port and the device that QEMU passed to a callback.
fn found(device: *mut c_void) -> Option<(usize, Device)> {
    let guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slots = guard.iter().flat_map(|slots| &slots.slots);
    let mut devices = slots.map(|slot| slot.device).enumerate();
    devices.find_map(|(port, other)| Some((port, other.filter(|other| other.is(device))?)))
}

/// The card at `port` gets the writes that are under way.
fn flush_writes(port: usize) {
    let guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slot = guard.as_ref().and_then(|slots| slots.slots.get(port));
    let none = slot.is_none_or(|slot| slot.socket.writes.is_empty());
    drop(guard);
    if !none {
        with(port, |card, host| host.flush_writes(now_ns(), card));
    }
}

unsafe extern "C" fn config_read(device: *mut c_void, address: u32, bytes: c_int) -> u32 {
    let Some((port, device)) = found(device) else {
        return u32::MAX;
    };
    flush_writes(port);
    device.read_configuration(address, bytes)
}

/// A card that comes back from D3 is as after a reset.
unsafe extern "C" fn config_write(device: *mut c_void, address: u32, value: u32, bytes: c_int) {
    let Some((port, device)) = found(device) else {
        return;
    };
    // What the card did before, it did as it was.
    with(port, |card, host| host.flush_writes(now_ns(), card));
    let slept = !device.is_awake();
    device.write_configuration(address, value, bytes);
    if device.is_awake() == slept {
        // The state changed. Asleep, the card has neither interrupts nor timers.
        with_any(port, |card, host| {
            card.power_changed(now_ns(), device.power());
            host.interrupt(false);
        });
    }
    // It may have changed how it wants to be interrupted.
    with(port, |card, host| card.settle(now_ns(), host));
}

unsafe extern "C" fn reset(token: *mut c_void) {
    with_any(token as usize, |card, host| {
        host.forget();
        card.reset(now_ns());
    });
}

unsafe extern "C" fn exit(device: *mut c_void) {
    let mut guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slots = guard.iter_mut().flat_map(|slots| &mut slots.slots);
    for slot in slots {
        if let Some(gone) = slot.device.take_if(|other| other.is(device)) {
            gone.unplug();
            slot.socket.forget();
            slot.arm();
        }
    }
}

fn place(token: *mut c_void) -> (usize, usize) {
    let token = token as usize;
    (token >> WINDOW_BITS, token & ((1 << WINDOW_BITS) - 1))
}

unsafe extern "C" fn window_read(token: *mut c_void, offset: u64, bytes: u32) -> u64 {
    let (port, window) = place(token);
    let read = with(port, |card, host| {
        let now_ns = now_ns();
        if let Some(wait_ps) = host.wait_ps(now_ns) {
            caches::waited_for_bus(wait_ps);
        }
        host.flush_writes(now_ns, card);
        let value = card.read(now_ns, window, offset, bytes as usize);
        card.settle(now_ns, host);
        host.answered(now_ns, value, bytes as usize)
    });
    // Nobody answers: the bridge gives all ones.
    u64::from(read.unwrap_or(u32::MAX))
}

unsafe extern "C" fn window_write(token: *mut c_void, offset: u64, value: u64, bytes: u32) {
    let (port, window) = place(token);
    let write = Write {
        window,
        offset,
        bytes: bytes as usize,
        value: value as u32,
    };
    with(port, |card, host| host.posted(now_ns(), write, card));
}

unsafe extern "C" fn expired(token: *mut c_void) {
    let port = token as usize;
    defer_timers(|| {
        if let Some(slots) = SLOTS.lock().unwrap_or_else(|e| e.into_inner()).as_mut() {
            slots.slots[port].armed_ns = None;
        }
        raise_delayed(port);
        with(port, |card, host| {
            card.advance(now_ns(), host);
            host.advance_faults(now_ns());
        });
    });
}

/// Raises an interrupt whose delay is over.
fn raise_delayed(port: usize) {
    let mut guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slot = guard.as_mut().and_then(|slots| slots.slots.get_mut(port));
    let due = slot.and_then(|slot| {
        slot.socket.raise_ns.take_if(|at_ns| *at_ns <= now_ns())?;
        slot.device
    });
    due.into_iter().for_each(|device| device.interrupt(true));
}

/// Raises the interrupt line of the card at `port` for a moment, as another device on the same line would. A card that interrupts by
/// messages does so for another cause than frames.
pub fn interrupt(port: usize) {
    let by_message = with(port, |card, host| {
        let by_message = host.signalling() != Signalling::Pin;
        if by_message {
            card.interrupt_otherwise(now_ns(), host);
        }
        by_message
    });
    if by_message == Some(true) {
        return;
    }
    let guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let slot = guard.as_ref().and_then(|slots| slots.slots.get(port));
    if let Some((device, line)) = slot.and_then(|slot| Some((slot.device?, slot.socket.line()))) {
        device.interrupt(true);
        device.interrupt(line);
    }
}

/// Writes the card's state down when the machine stops, and takes it on when the machine runs.
unsafe extern "C" fn run_state(token: *mut c_void, running: bool, _state: c_int) {
    let mut guard = SLOTS.lock().unwrap_or_else(|e| e.into_inner());
    let Some(Slots { bus, slots, .. }) = guard.as_mut() else {
        return;
    };
    let Some(slot) = slots.get_mut(token as usize) else {
        return;
    };
    if running {
        let restored = slot.restore(bus);
        restored.unwrap_or_else(|why| die(&format!("a card's state is damaged: {why}")));
    } else {
        let saved = slot.save(bus);
        saved.unwrap_or_else(|why| die(&format!("a card's state cannot be saved: {why}")));
    }
}
