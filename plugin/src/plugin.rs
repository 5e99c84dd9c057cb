// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin: QEMU's timer, net clients and I/O port on one side, the [`Tester`] on the other.
//!
//! Every callback runs with QEMU's global lock held, so virtual time stands still inside it. The lab's commands are read when the
//! guest's agent asks for work (it reads the command port). The whole machine then waits until the lab has decided.
//! See docs/inside/protocol.md.

mod agent;
mod debugger;

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use self::agent::{Agent, Said, Sleep};
use self::debugger::{attend, halt_expired};
use super::arguments::Args;
use super::backend::QemuBackend;
use super::clock::{self, ClockCheck};
use super::die::{die, exit};
use super::lab::Lab;
use super::pauses::Pauses;
use super::pci::cards;
use super::port_io::{self, Handlers};
use super::rewind::Rewinder;
use super::timer::{Timer, defer_timers};
use super::usb::nic;
use super::workarounds::ioapic_throttle::Ioapic;
use super::{caches, device_writes, lines, machine, main_loop, net, parallel};
use irqlab_tester::backend::{Backend, Cue, Cues, Switches};
use irqlab_tester::control;
use irqlab_tester::refusal::Refusal;
use irqlab_tester::tester::{Answer, Tester};

/// The command port (docs/inside/protocol.md, link 2).
const PORT_BASE: u32 = 0xe80;
const PORT_BYTES: u32 = 8;
const REG_CONTROL: u64 = 0;
const REG_DATA: u64 = 4;

/// A DUT that has executed nothing for this long idles.
const IDLE_NS: u64 = 20_000;
/// The tester's first line to the lab.
const HELLO: &str = concat!(
    r#"{"ok":{"hello":"irqlab-tester","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","protocol":2}}"#
);

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
    agent: Agent,
    pause_request: Option<PauseRequest>,
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

    fn refuse(&mut self, refusal: Refusal) {
        self.say(&control::answer::<()>(&Err(refusal)));
    }

    /// Reads the lab's commands until one needs the guest; returns that one's length.
    fn next_command(&mut self) -> u32 {
        if !self.greeted {
            self.greeted = true;
            caches::begin().unwrap_or_else(|why| die(&why));
            self.say(HELLO);
        }
        loop {
            if let Some(bytes) = self.sleep_to_the_end() {
                return bytes;
            }
            let Some(lab) = &mut self.lab else { return 0 };
            let line = lab.next_line();
            match self.tester.command(line.trim_end(), &mut self.backend) {
                Answer::Reply(reply) => self.say(&reply),
                Answer::Guest { command, limit_ns } => return self.agent.ask(command, limit_ns),
                Answer::Finish { patience_ns } => self.agent.awaits(patience_ns),
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
                Answer::Pause => self.refuse("pause: the DUT waits for a command".into()),
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

    /// Has the agent sleep until the trial that the lab waits for has ended. None: there is none, or the lab has its result.
    fn sleep_to_the_end(&mut self) -> Option<u32> {
        match self.agent.sleep_to(self.tester.trial_end_ns())? {
            Sleep::Begins { bytes } => Some(bytes),
            Sleep::Over => {
                let result = self.tester.result(&mut self.backend);
                self.say(&control::answer(&result));
                None
            }
        }
    }

    /// Whether the machine will be put back to a snapshot; if not, the lab is told why.
    fn can_rewind_to(&mut self, path: String) -> bool {
        if let Err(why) = &self.rewinder {
            let refusal = Refusal::unsupported(format!("rewind: {why}"));
            self.refuse(refusal);
            return false;
        }
        self.rewinding = Some(path);
        true
    }

    /// Does everything that is due: frames, the agent's time limit, a pause.
    fn on_timer(&mut self) {
        let now_ns = clock::now_ns();
        if let Some(refusal) = self.agent.silent(now_ns) {
            self.refuse(refusal);
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
            self.agent.deadline_ns(),
            self.pause_request.as_ref().map(|pause| pause.at_ns),
        ];
        self.timer.arm(due.into_iter().flatten().min());
    }

    /// Forgets everything since the machine began to run.
    fn begin_again(&mut self) {
        INBOX.lock().unwrap_or_else(|e| e.into_inner()).clear();
        parallel::reset();
        caches::rewound();
        if let Some(ioapic) = &self.ioapic {
            ioapic.reset_counts();
        }
        self.tester = Tester::new(self.ports, self.ns_per_instruction);
        let _ = self.backend.probe(&[]);
        let _ = self.backend.preempt(&Switches::NONE);
        let _ = self.backend.cue(&Cues::NONE);
        let _ = self.backend.delay_interrupts(0);
        let _ = self.backend.delay_writes(0);
        self.greeted = false;
        self.agent.begin_again();
        self.pause_request = None;
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
    if running {
        parallel::begin().unwrap_or_else(|why| die(&why));
    }
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
        plugin.refuse(format!("rewind: {why}").into());
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
pub fn frame_sent(port: usize, frame: &[u8]) {
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

/// What would happen before `until_ns` happens at `at_ns`. Called by the virtual processor's thread while it executes.
pub fn cue(what: Cue, at_ns: u64, until_ns: u64) {
    let mut guard = PLUGIN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(plugin) = guard.as_mut() {
        plugin.tester.cue(what, at_ns, until_ns);
        plugin.rearm();
    }
}

fn port_read(offset: u64) -> u32 {
    let (value, rewinding) = with_plugin(|plugin| {
        let value = match offset {
            REG_CONTROL => plugin.next_command(),
            REG_DATA => plugin.agent.next_word(),
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
        REG_DATA => plugin.agent.says(value),
        REG_CONTROL => match plugin.agent.answered(value as usize) {
            Said::Answer(line) => plugin.say(&line),
            Said::Refusal(refusal) => plugin.refuse(refusal),
            Said::Nothing => {}
        },
        _ => {}
    });
}

/// Begins its work, in the machine that QEMU is about to create.
pub fn begin(args: &Args, lab: Option<Lab>) {
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
        can_rewind: !args.profile
            && !args.functional
            && (args.processors == 1 || args.quantum_ns.is_some()),
        ioapic: None,
        timer,
        tester: Tester::new(args.ports, args.ns_per_instruction),
        lab,
        greeted: false,
        // Processors that run at the same time have a check of their own.
        agent: Agent::new(
            (!args.functional && args.quantum_ns.is_none())
                .then(|| ClockCheck::new(args.ns_per_instruction)),
        ),
        pause_request: None,
        rewinder: Err(
            "instructions are counted, the machine has no instruction clock or several processors in turn, or has not run yet"
                .into(),
        ),
        rewinding: None,
        pauses: Pauses::new(Timer::new(halt_expired, std::ptr::null_mut())),
    });
    timer.arm(Some(0));
    machine::on_run_state(run_state_changed);
}
