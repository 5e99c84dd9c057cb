// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine under a debugger: pauses that the lab asks for, or that QEMU's GDB stub makes, and the lab's commands meanwhile.

use std::ffi::c_void;

use super::{PLUGIN, Plugin, rewind_machine};
use crate::die::exit;
use crate::machine::Processor;
use crate::{clock, machine, main_loop};
use irqlab_tester::control;
use irqlab_tester::refusal::Refusal;
use irqlab_tester::tester::Answer;

impl Plugin {
    /// The lab asks for a pause at an instant.
    pub fn halt_at(&mut self, at_ns: u64) {
        let halting = self.pauses.halt_at(at_ns, clock::now_ns());
        self.say(&control::answer(&halting.map_err(Refusal::from)));
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
            Answer::Guest { .. }
            | Answer::Finish { .. }
            | Answer::StopAt { .. }
            | Answer::Pause => {
                self.refuse("the machine is paused".into());
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
            Some(lab) if self.agent.is_at_work() && lab.has_line() => {
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
    pub fn paused(&mut self) {
        let paused = self.pauses.paused(clock::now_ns(), clock::instructions());
        self.say(&control::answer(&Ok(paused)));
        self.listen();
    }

    fn listen(&self) {
        if let Some(lab) = &self.lab {
            lab.when_readable(lab_has_spoken);
        }
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
pub unsafe extern "C" fn attend(_opaque: *mut c_void) {
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
pub unsafe extern "C" fn halt_expired(_opaque: *mut c_void) {
    if let Some(plugin) = PLUGIN.lock().unwrap_or_else(|e| e.into_inner()).as_mut() {
        plugin.pauses.reached = true;
    }
    machine::stop_now();
}
