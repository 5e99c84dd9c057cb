// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin: QEMU's timer, net clients and I/O port on one side, the [`Tester`] on the other.
//!
//! Every callback runs with QEMU's global lock held, so virtual time stands still inside it. The lab's commands are read
//! where the guest's agent asks for work (a read of the command port), which blocks the whole machine until the
//! lab has made up its mind. See docs/protocol.md.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use crate::backend::{Bench, Outcome};
use crate::lan7800::hostile::{Damage, Plan};
use crate::profile::Profile;
use crate::profile::map::Addresses;
use crate::qemu::api::{NetClient, Qemu, Timer};
use crate::qemu::arguments::{Args, parse};
use crate::qemu::instrument;
use crate::qemu::translation;
use crate::qemu::usb::nic;
use crate::qemu::workarounds::cmpxchg_flags;
use crate::qemu::workarounds::halt_race;
use crate::qemu::workarounds::ioapic_throttle::Ioapic;
use crate::tester::{Answer, Tester};

/// The command port (docs/protocol.md, link 2).
const PORT_BASE: u64 = 0xe80;
const PORT_BYTES: u64 = 8;
const REG_CONTROL: u64 = 0;
const REG_DATA: u64 = 4;

/// A DUT that has executed nothing for this long idles.
const IDLE_NS: u64 = 20_000;

struct Stand {
    qemu: Qemu,
    /// None where the NICs are our own.
    clients: Vec<NetClient>,
    /// Instructions are counted.
    profiled: bool,
}

impl Bench for Stand {
    fn now_ns(&self) -> u64 {
        self.qemu.now_ns()
    }
    fn instructions(&self) -> u64 {
        self.qemu.instructions()
    }
    fn word(&self, address: u64) -> u64 {
        self.qemu.word(address)
    }
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        let taken = match self.clients.get(port) {
            Some(client) => self.qemu.send(*client, frame),
            None => nic::receive(port, frame),
        };
        if taken {
            Outcome::Sent
        } else {
            Outcome::Refused
        }
    }
    fn profile(&mut self, addresses: &Addresses) -> Result<(), String> {
        instrument::arm(addresses)
    }
    fn profile_result(&self) -> Result<Profile, String> {
        instrument::result()
    }
    fn plug(&mut self, port: usize, plugged: bool) -> Result<(), String> {
        nic::plug(port, plugged)
    }
    fn hostile(&mut self, port: usize, plan: Option<Plan>) -> Result<Damage, String> {
        nic::hostile(port, plan)
    }
    fn window(&mut self, open: bool) {
        if self.profiled {
            instrument::window(open);
        }
    }
}

/// What the agent is doing for the lab.
struct Errand {
    expires_ns: u64,
    limit_ns: u64,
}

/// A pause that the lab has asked for: at an instant, or as soon after it as the DUT idles.
struct Stop {
    at_ns: u64,
    /// Instructions executed at the last look.
    instructions: Option<u64>,
    /// The pause is under way: no timer may be armed, since that would let idle time be skipped.
    asked: bool,
}

struct Plugin {
    stand: Stand,
    ports: usize,
    /// The NICs are our own: there are no net clients.
    own_nics: bool,
    plugged_in: bool,
    /// Known from the machine's start on.
    ioapic: Option<Ioapic>,
    timer: Timer,
    tester: Tester,
    lab_in: BufReader<UnixStream>,
    lab_out: UnixStream,
    greeted: bool,
    errand: Option<Errand>,
    stop: Option<Stop>,
    /// The command being read by the agent, and how much of it has been.
    command: Vec<u8>,
    command_at: usize,
    answer: Vec<u8>,
}

static PLUGIN: Mutex<Option<Plugin>> = Mutex::new(None);
/// Frames that a NIC sent while the tester was at work (from inside a delivery): (port, frame).
static INBOX: Mutex<Vec<(usize, Vec<u8>)>> = Mutex::new(Vec::new());
/// The net clients, for the receive callback to tell the port (as addresses).
static CLIENTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Ends QEMU.
pub fn die(why: &str) -> ! {
    eprintln!("irqlab-tester: {why}");
    // SAFETY: ends the process without QEMU's exit handlers, which would wait for locks we may hold.
    unsafe { libc::_exit(1) }
}

impl Plugin {
    fn say(&mut self, line: &str) {
        if writeln!(self.lab_out, "{line}").is_err() {
            die("the lab is gone");
        }
    }

    /// Reads the lab's commands until one needs the guest; returns that one's length.
    fn next_command(&mut self) -> u32 {
        if !self.greeted {
            self.greeted = true;
            self.say(concat!(
                r#"{"ok":{"hello":"irqlab-tester","version":""#,
                env!("CARGO_PKG_VERSION"),
                r#"","protocol":1}}"#
            ));
        }
        loop {
            let mut line = String::new();
            match self.lab_in.read_line(&mut line) {
                Ok(0) | Err(_) => die("the lab is gone"),
                Ok(_) => {}
            }
            match self.tester.command(line.trim_end(), &mut self.stand) {
                Answer::Reply(reply) => self.say(&reply),
                Answer::Guest { command, limit_ns } => {
                    let expires_ns = self.stand.now_ns().saturating_add(limit_ns);
                    self.errand = Some(Errand {
                        expires_ns,
                        limit_ns,
                    });
                    self.command = command.into_bytes();
                    self.command_at = 0;
                    return self.command.len() as u32;
                }
                Answer::StopAt { after_ns } => {
                    let at_ns = self.stand.now_ns().saturating_add(after_ns);
                    self.stop = Some(Stop {
                        at_ns,
                        instructions: None,
                        asked: false,
                    });
                    self.say(&format!(r#"{{"ok":{{"at_ns":{at_ns}}}}}"#));
                }
                Answer::Quit => {
                    self.say(r#"{"ok":{}}"#);
                    // SAFETY: as in die(); there is nothing to save.
                    unsafe { libc::_exit(0) }
                }
            }
        }
    }

    /// Everything due now: frames, the agent's time limit, a pause.
    fn on_timer(&mut self) {
        let now_ns = self.stand.now_ns();
        if self
            .errand
            .as_ref()
            .is_some_and(|errand| now_ns >= errand.expires_ns)
        {
            let limit_ms = self
                .errand
                .take()
                .map_or(0, |errand| errand.limit_ns / 1_000_000);
            self.say(&format!(
                r#"{{"error":"the DUT's agent gave no answer within {limit_ms} ms of virtual time"}}"#
            ));
        }
        if let Some(stop) = self.stop.as_mut().filter(|stop| now_ns >= stop.at_ns) {
            let instructions = self.stand.qemu.instructions();
            if stop.instructions == Some(instructions) {
                stop.asked = true;
                self.stand.qemu.soon(pause);
                return;
            }
            stop.instructions = Some(instructions);
            stop.at_ns = now_ns + IDLE_NS;
        }
        self.tester.advance(&mut self.stand);
    }

    fn rearm(&mut self) {
        if self.stop.as_ref().is_some_and(|stop| stop.asked) {
            return;
        }
        let due = [
            self.tester.deadline_ns(),
            self.errand.as_ref().map(|errand| errand.expires_ns),
            self.stop.as_ref().map(|stop| stop.at_ns),
        ];
        self.stand
            .qemu
            .arm(self.timer, due.into_iter().flatten().min());
    }

    /// Takes in what NICs sent while the tester held its own lock.
    fn drain_inbox(&mut self) {
        let frames = std::mem::take(&mut *INBOX.lock().unwrap_or_else(|e| e.into_inner()));
        let now_ns = self.stand.now_ns();
        for (port, frame) in frames {
            self.tester.receive(port, now_ns, &frame);
        }
    }
}

/// Runs `work` with the plugin's state, then takes in what arrived meanwhile and arms the timer anew.
fn with_plugin<T: Default>(work: impl FnOnce(&mut Plugin) -> T) -> T {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let Some(plugin) = guard.as_mut() else {
        return T::default();
    };
    let qemu = plugin.stand.qemu;
    qemu.hold(|| {
        let value = work(plugin);
        plugin.drain_inbox();
        plugin.rearm();
        value
    })
}

unsafe extern "C" fn pause(_opaque: *mut c_void) {
    // Without our lock: other threads may need it until the machine stands still.
    let qemu = with_plugin(|plugin| Some(plugin.stand.qemu));
    if let Some(qemu) = qemu {
        qemu.stop();
    }
}

unsafe extern "C" fn timer_expired(_opaque: *mut c_void) {
    with_plugin(|plugin| {
        if !plugin.plugged_in {
            plug_in(plugin);
        }
        if let Some(ioapic) = plugin.ioapic {
            ioapic.calm();
        }
        plugin.on_timer();
    });
}

/// Creates the net clients and the command port. Not done at install: QEMU's own set-up would wipe the clients.
fn plug_in(plugin: &mut Plugin) {
    plugin.plugged_in = true;
    let mut clients = CLIENTS.lock().unwrap_or_else(|e| e.into_inner());
    let hubs = if plugin.own_nics { 0 } else { plugin.ports };
    for hub in 0..hubs {
        let client = plugin.stand.qemu.net_client(hub, frame_received);
        plugin.stand.clients.push(client);
        clients.push(client.0 as usize);
    }
    plugin
        .stand
        .qemu
        .io_ports(PORT_BASE, PORT_BYTES, port_read, port_write);
    match Ioapic::find() {
        Ok(ioapic) => plugin.ioapic = Some(ioapic),
        Err(why) => die(&why),
    }
}

unsafe extern "C" fn frame_received(client: *mut c_void, buf: *const u8, len: usize) -> isize {
    let port = {
        let clients = CLIENTS.lock().unwrap_or_else(|e| e.into_inner());
        clients.iter().position(|&c| c == client as usize)
    };
    let Some(port) = port else {
        return len as isize;
    };
    // SAFETY: QEMU hands us `len` readable bytes.
    let frame = unsafe { std::slice::from_raw_parts(buf, len) };
    arrived(port, frame);
    len as isize
}

/// A NIC transmitted a frame (without FCS).
pub fn arrived(port: usize, frame: &[u8]) {
    match PLUGIN.try_lock() {
        Ok(mut guard) => {
            if let Some(plugin) = guard.as_mut() {
                let before = plugin.tester.deadline_ns();
                let now_ns = plugin.stand.now_ns();
                plugin.tester.receive(port, now_ns, frame);
                if plugin.tester.deadline_ns() != before {
                    plugin.rearm();
                }
            }
        }
        // We are inside a delivery of our own; time stands still, so later is as good as now.
        Err(_) => INBOX
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push((port, frame.to_vec())),
    }
}

unsafe extern "C" fn port_read(_opaque: *mut c_void, offset: u64, _bytes: u32) -> u64 {
    with_plugin(|plugin| match offset {
        REG_CONTROL => u64::from(plugin.next_command()),
        REG_DATA => {
            let mut word = [0; 4];
            let rest = plugin.command.get(plugin.command_at..).unwrap_or_default();
            let n = rest.len().min(4);
            word[..n].copy_from_slice(&rest[..n]);
            plugin.command_at += 4;
            u64::from(u32::from_le_bytes(word))
        }
        _ => 0,
    })
}

unsafe extern "C" fn port_write(_opaque: *mut c_void, offset: u64, value: u64, _bytes: u32) {
    with_plugin(|plugin| match offset {
        REG_DATA => plugin
            .answer
            .extend_from_slice(&(value as u32).to_le_bytes()),
        REG_CONTROL => {
            let mut answer = std::mem::take(&mut plugin.answer);
            answer.truncate(value as usize);
            // After a restore the agent ends an errand that another tester sent it on: nobody asked here.
            if plugin.errand.take().is_some() {
                let line = String::from_utf8_lossy(&answer).replace('\n', " ");
                plugin.say(&line);
            }
        }
        _ => {}
    });
}

/// Ends QEMU as soon as the lab's end of the socket closes, whatever the guest is doing.
fn watch_lab(fd: RawFd) {
    // SAFETY: blocks all signals in the calling thread, which is our own; polls a descriptor that stays open.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLRDHUP,
            revents: 0,
        };
        loop {
            if libc::poll(&mut poll, 1, -1) > 0 && poll.revents != 0 {
                libc::_exit(0);
            }
        }
    }
}

fn install(args: &Args) -> Result<(), String> {
    let qemu = Qemu::resolve().map_err(|missing| {
        format!(
            "this QEMU does not export {}; the tester needs a QEMU built like Debian's, 7.2 to 10.x",
            missing.join(", ")
        )
    })?;
    if let Some(speed) = args.lan7800 {
        nic::install(qemu, speed)?;
    }
    // SAFETY: the lab handed us this descriptor for our own.
    let lab_out = unsafe { UnixStream::from_raw_fd(args.fd) };
    let lab_in = lab_out
        .try_clone()
        .map_err(|e| format!("fd={}: {e}", args.fd))?;
    let fd = args.fd;
    std::thread::spawn(move || watch_lab(fd));
    let timer = qemu.timer(timer_expired);
    *PLUGIN.lock().unwrap_or_else(|e| e.into_inner()) = Some(Plugin {
        stand: Stand {
            qemu,
            clients: Vec::new(),
            profiled: args.profile,
        },
        ports: args.ports,
        own_nics: args.lan7800.is_some(),
        plugged_in: false,
        ioapic: None,
        timer,
        tester: Tester::new(args.ports, args.ns_per_instruction),
        lab_in: BufReader::new(lab_in),
        lab_out,
        greeted: false,
        errand: None,
        stop: None,
        command: Vec::new(),
        command_at: 0,
        answer: Vec::new(),
    });
    qemu.arm(timer, Some(0));
    Ok(())
}

/// The plugin API version this plugin claims: 1 for QEMU up to 8.2, 2 from 9.0; set before QEMU reads it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, missing_docs)]
pub static mut qemu_plugin_version: c_int = 1;

unsafe extern "C" fn choose_version() {
    // qemu_plugin_scoreboard_new came with API version 2 (QEMU 9.0), which refuses plugins of version 1.
    // SAFETY: runs before anyone else in this library; the name is NUL-terminated.
    unsafe {
        if !libc::dlsym(libc::RTLD_DEFAULT, c"qemu_plugin_scoreboard_new".as_ptr()).is_null() {
            qemu_plugin_version = 2;
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE_VERSION: unsafe extern "C" fn() = choose_version;

/// QEMU's entry point (include/qemu/qemu-plugin.h).
///
/// # Safety
/// `info` is QEMU's; `argv` holds `argc` NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let args: Vec<String> = (0..argc as usize)
        // SAFETY: the caller's promise.
        .map(|i| {
            unsafe { CStr::from_ptr(*argv.add(i)) }
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let installed = parse(&args).and_then(|args| {
        install(&args)?;
        halt_race::install()?;
        cmpxchg_flags::install()?;
        if args.profile {
            instrument::install();
        }
        // SAFETY: the caller's promise.
        translation::install(id, unsafe { translation::api_version(info) }, args.profile)
    });
    match installed {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("irqlab-tester: {why}");
            1
        }
    }
}
