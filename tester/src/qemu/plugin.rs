// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin: QEMU's timer, net clients and I/O port on one side, the [`Tester`] on the other.
//!
//! Every callback runs with QEMU's global lock held, so virtual time stands still inside it. The lab's commands are read when the
//! guest's agent asks for work (it reads the command port). The whole machine then waits until the lab has decided.
//! See docs/protocol.md.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;

use super::api::{self, Api};
use super::arguments::{Args, parse};
use super::backend::QemuBackend;
use super::clock::{self, ClockCheck};
use super::die::{die, exit};
use super::lab::Lab;
use super::machine::Processor;
use super::pauses::Pauses;
use super::pci::cards;
use super::port_io::{self, Handlers};
use super::rewind::Rewinder;
use super::timer::{Timer, defer_timers};
use super::translation::{self, Translation};
use super::usb::nic;
use super::workarounds::ioapic_throttle::Ioapic;
use super::workarounds::{cmpxchg_flags, halt_race};
use super::{
    caches, cpu_state, device_writes, instrument, lines, machine, main_loop, net, preemption,
    probes, release,
};
use crate::backend::{Backend, Switches};
use crate::control;
use crate::tester::{Answer, Tester};

/// The command port (docs/protocol.md, link 2).
const PORT_BASE: u32 = 0xe80;
const PORT_BYTES: u32 = 8;
const REG_CONTROL: u64 = 0;
const REG_DATA: u64 = 4;

/// A DUT that has executed nothing for this long idles.
const IDLE_NS: u64 = 20_000;
/// How long the guest runs in a self-check. Its firmware does not idle in the first microseconds.
const SELFCHECK_NS: u64 = 10_000;

/// The tester's first line to the lab.
const HELLO: &str = concat!(
    r#"{"ok":{"hello":"irqlab-tester","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","protocol":1}}"#
);

/// A command of the lab that the agent is executing.
struct AgentRequest {
    expires_ns: u64,
    limit_ns: u64,
}

/// A pause that the lab has asked for: at an instant, or as soon after it as the DUT idles.
struct PauseRequest {
    at_ns: u64,
    /// Instructions executed at the last look.
    instructions: Option<u64>,
    /// The main loop is about to pause the machine. No timer may be armed until then: that would let idle time be skipped.
    queued: bool,
}

struct Plugin {
    backend: QemuBackend,
    ports: usize,
    ns_per_instruction: u64,
    /// The NICs are the tester's own: there are no net clients.
    own_nics: bool,
    /// The machine can be put back to where it began to run.
    can_rewind: bool,
    /// Set up with the first expiry of the timer, when the machine exists.
    ioapic: Option<Ioapic>,
    timer: Timer,
    tester: Tester,
    /// None in a self-check.
    lab: Option<Lab>,
    greeted: bool,
    agent_request: Option<AgentRequest>,
    pause_request: Option<PauseRequest>,
    /// The command that the agent is reading, and how much of it has been read, in bytes.
    command: Vec<u8>,
    command_at: usize,
    /// Verifies the clock while the agent reads its first command: it executes instructions, and does not idle.
    clock_check: Option<ClockCheck>,
    answer: Vec<u8>,
    /// Where the machine began to run, or why it cannot be put back there.
    rewinder: Result<Rewinder, String>,
    /// The snapshot file whose state the machine is to be put back to, once it is paused.
    rewinding: Option<String>,
    /// For a debugger.
    pauses: Pauses,
}

static PLUGIN: Mutex<Option<Plugin>> = Mutex::new(None);
/// Frames that a NIC sent while the tester was delivering one: (port, frame).
static INBOX: Mutex<Vec<(usize, Vec<u8>)>> = Mutex::new(Vec::new());

impl Plugin {
    fn say(&mut self, line: &str) {
        if let Some(lab) = &mut self.lab {
            lab.say(line);
        }
    }

    /// Reads the lab's commands until one needs the guest; returns that one's length.
    fn next_command(&mut self) -> u32 {
        if !self.greeted {
            self.greeted = true;
            caches::begin().unwrap_or_else(|why| die(&why));
            self.say(HELLO);
        }
        loop {
            let Some(lab) = &mut self.lab else { return 0 };
            let line = lab.next_line();
            match self.tester.command(line.trim_end(), &mut self.backend) {
                Answer::Reply(reply) => self.say(&reply),
                Answer::Guest { command, limit_ns } => {
                    let expires_ns = clock::now_ns().saturating_add(limit_ns);
                    self.agent_request = Some(AgentRequest {
                        expires_ns,
                        limit_ns,
                    });
                    self.command = command.into_bytes();
                    self.command_at = 0;
                    return self.command.len() as u32;
                }
                Answer::StopAt { after_ns } => {
                    let at_ns = clock::now_ns().saturating_add(after_ns);
                    self.pause_request = Some(PauseRequest {
                        at_ns,
                        instructions: None,
                        queued: false,
                    });
                    self.say(&format!(r#"{{"ok":{{"at_ns":{at_ns}}}}}"#));
                }
                Answer::Halt { at_ns } => {
                    self.halt_at(at_ns);
                    main_loop::call_soon(attend);
                }
                Answer::Pause => self.say(r#"{"error":"pause: the DUT waits for a command"}"#),
                Answer::Rewind { path } => {
                    if self.can_rewind_to(path) {
                        return 0;
                    }
                }
                Answer::Quit => {
                    self.say(r#"{"ok":{}}"#);
                    exit(0)
                }
            }
        }
    }

    /// Whether the machine will be put back to a snapshot; if not, the lab is told why.
    fn can_rewind_to(&mut self, path: String) -> bool {
        if let Err(why) = &self.rewinder {
            let refusal = control::answer::<()>(&Err(format!("rewind: {why}")));
            self.say(&refusal);
            return false;
        }
        self.rewinding = Some(path);
        true
    }

    fn halt_at(&mut self, at_ns: u64) {
        let halting = self.pauses.halt_at(at_ns, clock::now_ns());
        self.say(&control::answer(&halting));
    }

    /// Executes a command that the lab has sent while the machine is paused; true: the machine is to be put back.
    fn command_while_paused(&mut self) -> bool {
        let Some(lab) = &mut self.lab else {
            return false;
        };
        if !self.pauses.debugged || machine::is_running() || !lab.has_line() {
            return false; // the agent asks for it
        }
        let line = lab.next_line();
        match self.tester.command(line.trim_end(), &mut self.backend) {
            Answer::Reply(reply) => self.say(&reply),
            Answer::Halt { at_ns } => self.halt_at(at_ns),
            Answer::Rewind { path } => {
                if self.can_rewind_to(path) {
                    return true;
                }
            }
            Answer::Quit => {
                self.say(r#"{"ok":{}}"#);
                exit(0)
            }
            Answer::Guest { .. } | Answer::StopAt { .. } | Answer::Pause => {
                self.say(r#"{"error":"the machine is paused"}"#);
            }
        }
        self.listen();
        false
    }

    /// What is to be done about the machine that runs under a debugger. The lab may ask for a pause while the agent is at work.
    fn look(&mut self) -> Look {
        if !machine::is_running() {
            return Look::Leave;
        }
        let asked = match &mut self.lab {
            Some(lab) if self.agent_request.is_some() && lab.has_line() => {
                let line = lab.next_line();
                self.tester.command(line.trim_end(), &mut self.backend) == Answer::Pause
            }
            _ => false,
        };
        if asked {
            return Look::Pause;
        }
        match machine::processor() {
            Processor::Stopped if self.pauses.reached => Look::Pause,
            Processor::Stopped => Look::Debug,
            Processor::Idles => Look::Skip,
            Processor::Runs => Look::Wait,
        }
    }

    /// The machine was paused: tells the lab where, and listens to it meanwhile.
    fn paused(&mut self) {
        let paused = self.pauses.paused(clock::now_ns(), clock::instructions());
        self.say(&control::answer(&Ok(paused)));
        self.listen();
    }

    fn listen(&self) {
        if let Some(lab) = &self.lab {
            lab.when_readable(lab_has_spoken);
        }
    }

    /// The next four bytes of the command.
    fn next_word(&mut self) -> u32 {
        if let Some(check) = &mut self.clock_check {
            if let Err(why) = check.step(true, clock::now_ns(), clock::instructions()) {
                die(&why);
            }
        }
        let mut word = [0; 4];
        let rest = self.command.get(self.command_at..).unwrap_or_default();
        let n = rest.len().min(4);
        word[..n].copy_from_slice(&rest[..n]);
        self.command_at += 4;
        u32::from_le_bytes(word)
    }

    /// The agent has written its answer, of so many bytes.
    fn answered(&mut self, bytes: usize) {
        self.clock_check = None;
        let mut answer = std::mem::take(&mut self.answer);
        answer.truncate(bytes);
        // After a restore the agent ends a request that another tester sent: nobody waits for it here.
        if self.agent_request.take().is_some() {
            let line = String::from_utf8_lossy(&answer).replace('\n', " ");
            self.say(&line);
        }
    }

    /// Does everything that is due: frames, the agent's time limit, a pause.
    fn on_timer(&mut self) {
        let now_ns = clock::now_ns();
        let expired = |request: &mut AgentRequest| now_ns >= request.expires_ns;
        if let Some(request) = self.agent_request.take_if(expired) {
            let limit_ms = request.limit_ns / 1_000_000;
            self.say(&format!(
                r#"{{"error":"the DUT's agent gave no answer within {limit_ms} ms of virtual time"}}"#
            ));
        }
        if let Some(pause) = self
            .pause_request
            .as_mut()
            .filter(|pause| now_ns >= pause.at_ns)
        {
            let instructions = clock::instructions();
            if pause.instructions == Some(instructions) {
                pause.queued = true;
                main_loop::call_soon(pause_machine);
                return;
            }
            pause.instructions = Some(instructions);
            pause.at_ns = now_ns + IDLE_NS;
        }
        self.tester.advance(&mut self.backend);
    }

    fn rearm(&mut self) {
        if self
            .pause_request
            .as_ref()
            .is_some_and(|pause| pause.queued)
        {
            return;
        }
        let due = [
            self.tester.deadline_ns(),
            self.agent_request
                .as_ref()
                .map(|request| request.expires_ns),
            self.pause_request.as_ref().map(|pause| pause.at_ns),
        ];
        self.timer.arm(due.into_iter().flatten().min());
    }

    /// Forgets everything since the machine began to run.
    fn begin_again(&mut self) {
        INBOX.lock().unwrap_or_else(|e| e.into_inner()).clear();
        caches::rewound();
        if let Some(ioapic) = &self.ioapic {
            ioapic.reset_counts();
        }
        self.tester = Tester::new(self.ports, self.ns_per_instruction);
        let _ = self.backend.probe(&[]);
        let _ = self.backend.preempt(&Switches::NONE);
        let _ = self.backend.delay_interrupts(0);
        self.greeted = false;
        self.agent_request = None;
        self.pause_request = None;
        self.command = Vec::new();
        self.command_at = 0;
        self.answer = Vec::new();
        self.pauses.begin_again();
    }

    /// Takes in what NICs sent while the tester was at work.
    fn drain_inbox(&mut self) {
        let frames = std::mem::take(&mut *INBOX.lock().unwrap_or_else(|e| e.into_inner()));
        let now_ns = clock::now_ns();
        for (port, frame) in frames {
            self.tester.receive(port, now_ns, &frame);
        }
    }

    /// Creates the net clients and the command port, and verifies what they rely on. This is done with the first expiry of the timer,
    /// since QEMU's own set-up, which follows the plugin's installation, would remove the clients.
    fn set_up(&mut self) -> Result<Ioapic, String> {
        if !self.own_nics {
            net::verify()?;
            self.backend.clients = net::connect(self.ports, frame_sent);
        }
        let handlers = Handlers {
            read: port_read,
            write: port_write,
        };
        port_io::map(PORT_BASE, PORT_BYTES, handlers)?;
        if caches::sees_device_writes() && !self.backend.cards {
            device_writes::watch(self.ports)?; // our own cards tell
        }
        Ioapic::find()
    }
}

/// Runs `work` with the plugin's state, then takes in what arrived meanwhile and arms the timer anew.
fn with_plugin<T: Default>(work: impl FnOnce(&mut Plugin) -> T) -> T {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let Some(plugin) = guard.as_mut() else {
        return T::default();
    };
    defer_timers(|| {
        let value = work(plugin);
        plugin.drain_inbox();
        plugin.rearm();
        value
    })
}

/// The machine begins to run, or was paused.
unsafe extern "C" fn run_state_changed(_opaque: *mut c_void, running: bool, _state: c_int) {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let Some(plugin) = guard.as_mut() else { return };
    let first = plugin.ioapic.is_none();
    if running && first && plugin.can_rewind {
        plugin.rewinder = Rewinder::new(plugin.timer);
    } else if !running && plugin.rewinding.is_some() {
        main_loop::call_soon(rewind_machine);
    } else if !running && plugin.pauses.debugged {
        plugin.paused();
    } else if running && plugin.pauses.debugged {
        main_loop::call_soon(attend);
    }
}

/// What the main loop does while the DUT runs under a debugger.
enum Look {
    /// Nothing: the machine is paused.
    Leave,
    Pause,
    Debug,
    Skip,
    Wait,
}

/// Attends to the running machine until it is paused.
unsafe extern "C" fn attend(_opaque: *mut c_void) {
    main_loop::stay(|| {
        // Idle time is skipped at once, with what happens in it, up to a call: a pause.
        loop {
            let looked = {
                let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
                guard.as_mut().map_or(Look::Leave, Plugin::look)
            };
            match looked {
                Look::Leave => return true,
                Look::Pause => machine::stop(),
                Look::Debug => machine::stop_for_debugger(),
                Look::Skip if !main_loop::has_calls() && machine::skip_idle_time() => {}
                Look::Skip | Look::Wait => return false,
            }
        }
    });
}

unsafe extern "C" fn lab_has_spoken(_opaque: *mut c_void) {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let rewinding = guard.as_mut().is_some_and(Plugin::command_while_paused);
    drop(guard);
    if rewinding {
        main_loop::call_soon(rewind_machine);
    }
}

/// The instant of a `halt`.
unsafe extern "C" fn halt_expired(_opaque: *mut c_void) {
    if let Some(plugin) = PLUGIN.lock().unwrap_or_else(|e| e.into_inner()).as_mut() {
        plugin.pauses.reached = true;
    }
    machine::stop_now();
}

/// Puts the paused machine back to where it began to run, the tester included, and lets it run.
unsafe extern "C" fn rewind_machine(_opaque: *mut c_void) {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let Some(plugin) = guard.as_mut() else { return };
    let taken = std::mem::replace(&mut plugin.rewinder, Err("one is under way".into()));
    let (Ok(mut rewinder), Some(path)) = (taken, plugin.rewinding.take()) else {
        return;
    };
    let mut own_timers = nic::timers();
    own_timers.extend(cards::timers());
    own_timers.push(plugin.timer);
    drop(guard); // the devices may call the plugin
    let rewound = rewinder.rewind(&path, &own_timers);
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    let Some(plugin) = guard.as_mut() else { return };
    if let Err(why) = rewound {
        let failure = control::answer::<()>(&Err(format!("rewind: {why}")));
        plugin.say(&failure);
        die(&why);
    }
    plugin.rewinder = Ok(rewinder);
    plugin.begin_again();
    drop(guard);
    machine::start();
}

unsafe extern "C" fn pause_machine(_opaque: *mut c_void) {
    with_plugin(|_| ());
    // Without the plugin's lock: other threads may need it until the machine stands still.
    machine::stop();
}

unsafe extern "C" fn timer_expired(_opaque: *mut c_void) {
    with_plugin(|plugin| {
        if plugin.ioapic.is_none() {
            plugin.ioapic = Some(plugin.set_up().unwrap_or_else(|why| die(&why)));
        }
        if let Some(ioapic) = &plugin.ioapic {
            ioapic.reset_counts();
        }
        clock::watch(plugin.ns_per_instruction);
        plugin.on_timer();
    });
}

/// A NIC transmitted a frame (without FCS).
fn frame_sent(port: usize, frame: &[u8]) {
    lines::frame_sent();
    match PLUGIN.try_lock() {
        Ok(mut guard) => {
            if let Some(plugin) = guard.as_mut() {
                let before = plugin.tester.deadline_ns();
                plugin.tester.receive(port, clock::now_ns(), frame);
                if plugin.tester.deadline_ns() != before {
                    plugin.rearm();
                }
            }
        }
        // The tester is delivering a frame. Time stands still meanwhile, so the frame can wait.
        Err(_) => INBOX
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push((port, frame.to_vec())),
    }
}

fn port_read(offset: u64) -> u32 {
    let (value, rewinding) = with_plugin(|plugin| {
        let value = match offset {
            REG_CONTROL => plugin.next_command(),
            REG_DATA => plugin.next_word(),
            _ => 0,
        };
        (value, plugin.rewinding.is_some())
    });
    if rewinding {
        machine::stop(); // the guest executes nothing more
        main_loop::wake();
    }
    value
}

fn port_write(offset: u64, value: u32) {
    with_plugin(|plugin| match offset {
        REG_DATA => plugin.answer.extend_from_slice(&value.to_le_bytes()),
        REG_CONTROL => plugin.answered(value as usize),
        _ => {}
    });
}

fn block_translated(translation: &Translation) {
    cpu_state::watch(translation);
    halt_race::watch(translation);
    cmpxchg_flags::watch(translation);
    // A block that is begun again is probed once.
    preemption::watch(translation);
    probes::watch(translation);
    caches::translated(translation);
}

/// The function is known before its lines are used.
fn block_translated_and_counted(translation: &Translation) {
    instrument::translated(translation);
    block_translated(translation);
}

/// What the self-check found out, for its last line.
struct Selfcheck {
    version: release::Version,
    plugin_api: c_int,
    clock: ClockCheck,
    timer: Timer,
}

static SELFCHECK: Mutex<Option<Selfcheck>> = Mutex::new(None);

/// The first time: verifies everything. The second time: verifies the clock, says that all is well, and ends QEMU.
unsafe extern "C" fn selfcheck(_opaque: *mut c_void) {
    let mut guard = SELFCHECK.lock().unwrap_or_else(|e| e.into_inner());
    let Some(check) = guard.as_mut() else { return };
    let (now_ns, instructions) = (clock::now_ns(), clock::instructions());
    if let Err(why) = check.clock.step(true, now_ns, instructions) {
        die(&why);
    }
    if now_ns >= SELFCHECK_NS {
        let [major, minor, micro] = check.version;
        println!(
            "irqlab-tester: works in QEMU {major}.{minor}.{micro} (plugin API {})",
            check.plugin_api
        );
        exit(0);
    }
    check.timer.arm(Some(now_ns + SELFCHECK_NS));
}

/// Loads the tester into the QEMU that calls [`qemu_plugin_install`].
///
/// # Safety
/// `args.fd` is a socket that nothing else in this process uses.
unsafe fn install(args: &Args, id: u64, plugin_api: c_int) -> Result<(), String> {
    let api: &Api = api::resolve()?;
    let version = release::version(api);
    release::check(version)?;
    main_loop::check(api)?;
    if let Some(speed) = args.lan7800 {
        nic::install(speed, frame_sent)?;
    }
    if let Some(parameters) = args.pci {
        cards::install(parameters, args.errata, args.functional, frame_sent)?;
    }
    let lab = match args.fd {
        // SAFETY: the caller's promise.
        Some(fd) => Some(unsafe { Lab::connect(fd) }?),
        None => None,
    };
    let timer = Timer::new(timer_expired, std::ptr::null_mut());
    *PLUGIN.lock().unwrap_or_else(|e| e.into_inner()) = Some(Plugin {
        backend: QemuBackend {
            clients: Vec::new(),
            cards: args.pci.is_some(),
            profiled: args.profile,
            ns_per_instruction: args.ns_per_instruction,
        },
        ports: args.ports,
        ns_per_instruction: args.ns_per_instruction,
        // A self-check verifies the net clients, too.
        own_nics: (args.lan7800.is_some() || args.pci.is_some()) && lab.is_some(),
        can_rewind: !args.profile && !args.functional && args.processors == 1,
        ioapic: None,
        timer,
        tester: Tester::new(args.ports, args.ns_per_instruction),
        lab,
        greeted: false,
        agent_request: None,
        pause_request: None,
        command: Vec::new(),
        command_at: 0,
        clock_check: (!args.functional).then(|| ClockCheck::new(args.ns_per_instruction)),
        answer: Vec::new(),
        rewinder: Err(
            "instructions are counted, the machine has no instruction clock or several processors, or has not run yet"
                .into(),
        ),
        rewinding: None,
        pauses: Pauses::new(Timer::new(halt_expired, std::ptr::null_mut())),
    });
    timer.arm(Some(0));
    machine::on_run_state(run_state_changed);
    if args.fd.is_none() {
        let timer = Timer::new(selfcheck, std::ptr::null_mut());
        *SELFCHECK.lock().unwrap_or_else(|e| e.into_inner()) = Some(Selfcheck {
            version,
            plugin_api,
            clock: ClockCheck::new(args.ns_per_instruction),
            timer,
        });
        timer.arm(Some(0));
    }
    if args.functional {
        return Ok(()); // what follows makes instructions and time exact
    }
    cmpxchg_flags::install(version[0]);
    if args.processors > 1 {
        preemption::install(args.ns_per_instruction);
    }
    if args.profile {
        instrument::install();
    }
    if let Some(parameters) = &args.memory {
        caches::install(parameters, args.ns_per_instruction)?;
    }
    let watch = if args.profile {
        block_translated_and_counted
    } else {
        block_translated
    };
    translation::install(id, plugin_api, watch)
}

/// The version of the plugin API that this plugin claims, set before QEMU reads it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, missing_docs)]
pub static mut qemu_plugin_version: c_int = 1;

/// QEMU's releases from which on each version of the plugin API is claimed. QEMU 9.0 refuses plugins below 2, QEMU 11.1 those below 7.
const PLUGIN_APIS: [([i64; 2], c_int); 2] = [([9, 0], 2), ([11, 1], 7)];

unsafe extern "C" fn choose_version() {
    let Ok(api) = api::resolve() else { return }; // the installation says what is missing
    let [major, minor, _] = release::version(api);
    for (release, version) in PLUGIN_APIS {
        if [major, minor] >= release {
            // SAFETY: runs before anything else in this library.
            unsafe { qemu_plugin_version = version };
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
    // SAFETY: the caller's promise, and the lab's that the descriptor is for the tester.
    let installed =
        parse(&args).and_then(|args| unsafe { install(&args, id, translation::api_version(info)) });
    match installed {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("irqlab-tester: {why}");
            1
        }
    }
}
