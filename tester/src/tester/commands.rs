// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's commands, executed.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Answer, Tester};
use crate::backend::Backend;
use crate::control::{self, Command, PortPlan};
use crate::faults::FaultPlan;
use crate::host::Host;
use crate::host::plan::{self, AppPlan};
use crate::mac::Mac;
use crate::refusal::Refusal;
use crate::traffic::capture::Capture;
use crate::traffic::egress::Egress;
use crate::traffic::events::{Action, EventPlan};
use crate::traffic::plan::{MAX_TRIAL_NS, TrialPlan, check_port};
use crate::traffic::result::TrialResult;
use crate::traffic::trial::Trial;
use crate::traffic::wire::{Wire, WirePlan};

type Reply = Result<Value, Refusal>;

impl Tester {
    /// Executes a line from the lab (docs/inside/protocol.md, link 1).
    pub fn command(&mut self, line: &str, backend: &mut dyn Backend) -> Answer {
        if let Some(capture) = &mut self.capture {
            let _ = capture.flush(); // a failure is kept, and returned when the capture ends
        }
        let command = match control::parse(line) {
            Ok(command) => command,
            Err(why) => return reply(Reply::Err(why)),
        };
        match command {
            Command::Clock {} => reply(Ok(
                json!({"now_ns": backend.now_ns(), "instructions": backend.instructions()}),
            )),
            Command::Ports { ports } => reply(self.set_ports(&ports, backend)),
            Command::Wire {
                a,
                b,
                delay_ns,
                loss_ppm,
                seed,
            } => {
                let plan = WirePlan {
                    delay_ns,
                    loss_ppm,
                    seed,
                };
                reply(self.join(a, b, plan, backend))
            }
            Command::Unwire {} => reply(self.part(backend)),
            Command::Cable { port, plugged } => reply(
                self.checked("cable", port)
                    .and_then(|()| backend.plug_cable(port, plugged))
                    .map(|()| json!({})),
            ),
            Command::Partner { port, pauses } => reply(
                self.checked("partner", port)
                    .and_then(|()| backend.set_partner(port, pauses))
                    .map(|()| json!({})),
            ),
            Command::Capture { path } => reply(self.set_capture(path)),
            Command::Apps { port, apps } => reply(self.set_apps(port, &apps, backend)),
            Command::AppResults { port } => reply(self.app_results(port, backend)),
            Command::Start { trial } => reply(self.start(&trial, backend)),
            Command::Result {} => reply(self.result(backend)),
            Command::Trial { trial, patience_ns } => match self.start(&trial, backend) {
                Ok(_) => Answer::Finish { patience_ns },
                Err(why) => reply(Reply::Err(why)),
            },
            Command::Finish { patience_ns } if self.trial.is_some() => {
                Answer::Finish { patience_ns }
            }
            Command::Finish { .. } => reply(Reply::Err(
                "finish: there has been no trial: start one".into(),
            )),
            Command::Profile { addresses, lines } => reply(
                self.finish_trial("profile", backend)
                    .and_then(|()| backend.profile(&addresses))
                    .and_then(|()| lines.map_or(Ok(()), |keep| backend.profile_lines(&keep)))
                    .map(|()| json!({})),
            ),
            Command::ProfileResult {} => reply(
                self.finish_trial("profile_result", backend)
                    .and_then(|()| backend.profile_result()),
            ),
            Command::ReadMemory { ranges } => reply(
                self.finish_trial("read_memory", backend)
                    .and_then(|()| backend.read_memory(&ranges))
                    .map(|memory| json!({"memory": memory})),
            ),
            Command::Plug { port, plugged } => reply(
                self.checked("plug", port)
                    .and_then(|()| backend.plug(port, plugged))
                    .map(|()| json!({})),
            ),
            Command::Hostile {
                port,
                seed,
                permille,
                only,
                trailing_fragments,
            } => {
                let plan = seed.map(|seed| FaultPlan {
                    seed,
                    permille,
                    only,
                    trailing_fragments,
                });
                reply(self.inject_faults(port, permille, plan, backend))
            }
            Command::Rings { record } => {
                reply(backend.rings(record).map(|rings| json!({ "rings": rings })))
            }
            Command::StopAt { after_ns } => Answer::StopAt { after_ns },
            Command::Pause {} => Answer::Pause,
            Command::Halt { at_ns } => Answer::Halt { at_ns },
            Command::Guest { command, limit_ns } => Answer::Guest {
                command: command.0,
                limit_ns,
            },
            Command::Rewind { path } => Answer::Rewind { path },
            Command::Quit {} => Answer::Quit,
        }
    }

    fn inject_faults(
        &mut self,
        port: usize,
        permille: u32,
        plan: Option<FaultPlan>,
        backend: &mut dyn Backend,
    ) -> Reply {
        if permille > 1_000 {
            return Err(format!("hostile: permille is {permille}: 0 to 1000").into());
        }
        self.checked("hostile", port)?;
        let damage = backend.inject_faults(port, plan)?;
        Ok(json!({ "damaged": damage.total(), "kinds": damage }))
    }

    fn checked(&self, op: &str, port: usize) -> Result<(), Refusal> {
        check_port("port", port, self.ports.len()).map_err(|why| format!("{op}: {why}").into())
    }

    fn set_ports(&mut self, plans: &[PortPlan], backend: &mut dyn Backend) -> Reply {
        self.finish_trial("ports", backend)?;
        if plans.len() != self.ports.len() {
            return Err(format!(
                "ports: {} ports: this tester has {}",
                plans.len(),
                self.ports.len()
            )
            .into());
        }
        for (index, plan) in plans.iter().enumerate() {
            let refuse = |why: String| Err(format!("ports[{index}]: {why}").into());
            if plan.mac.is_group() || plan.mac == Mac([0; 6]) {
                return refuse(
                    "mac must be a station's address (first octet even, not all 0)".into(),
                );
            }
            if plan.ip.is_unspecified() || plan.ip.is_multicast() || plan.ip.is_broadcast() {
                return refuse(format!("ip is {}: it must be a station's address", plan.ip));
            }
            if plan.prefix > 32 {
                return refuse(format!("prefix is {}: 0 to 32", plan.prefix));
            }
            if let Some(other) = plans[..index]
                .iter()
                .position(|other| other.mac == plan.mac || other.ip == plan.ip)
            {
                return refuse(format!(
                    "mac or ip is that of ports[{other}]: each host has its own"
                ));
            }
        }
        for (index, plan) in plans.iter().enumerate() {
            let line = self.line(plan.wire_bps);
            let port = &mut self.ports[index];
            port.wire_bps = plan.wire_bps;
            port.egress = Egress::new(line);
            port.host = Some(Host::new(plan.mac, plan.ip, plan.prefix));
            port.wire = None;
        }
        Ok(json!({}))
    }

    fn join(&mut self, a: usize, b: usize, plan: WirePlan, backend: &mut dyn Backend) -> Reply {
        self.finish_trial("wire", backend)?;
        for (name, port) in [("a", a), ("b", b)] {
            check_port(name, port, self.ports.len()).map_err(|why| format!("wire: {why}"))?;
            if self.ports[port].wire.is_some() {
                return Err(
                    format!("wire: port {port} has a wire already: unwire takes it away").into(),
                );
            }
        }
        if a == b {
            return Err(format!("wire: a and b are both {a}: a wire joins two ports").into());
        }
        if plan.loss_ppm > 1_000_000 {
            return Err(format!("wire: loss_ppm is {}: 0 to 1000000", plan.loss_ppm).into());
        }
        if plan.delay_ns > MAX_TRIAL_NS {
            return Err(format!(
                "wire: delay_ns is {}: at most {MAX_TRIAL_NS}, a day",
                plan.delay_ns
            )
            .into());
        }
        let rates = [self.ports[a].wire_bps, self.ports[b].wire_bps];
        let line = self.line(rates.into_iter().filter(|bps| *bps != 0).min().unwrap_or(0));
        for (from, to) in [(a, b), (b, a)] {
            self.ports[from].wire = Some(Wire::new(from, to, plan, line.clone()));
            self.silence(from);
        }
        Ok(json!({}))
    }

    fn part(&mut self, backend: &mut dyn Backend) -> Reply {
        self.finish_trial("unwire", backend)?;
        for port in 0..self.ports.len() {
            if self.ports[port].wire.take().is_some() {
                self.silence(port);
            }
        }
        Ok(json!({}))
    }

    /// Discards everything that is queued for `port`, as when a cable is pulled.
    fn silence(&mut self, port: usize) {
        self.ports[port].egress.clear();
        if let Some(host) = &mut self.ports[port].host {
            host.clear();
        }
        self.schedule(port);
    }

    fn set_capture(&mut self, path: Option<String>) -> Reply {
        let ended = self
            .capture
            .take()
            .map_or(Ok(()), |mut capture| capture.flush());
        if let Some(path) = path {
            self.capture = Some(Capture::create(&path, self.ports.len())?);
        }
        ended?;
        Ok(json!({}))
    }

    fn set_apps(&mut self, port: usize, plans: &[AppPlan], backend: &mut dyn Backend) -> Reply {
        let now_ns = backend.now_ns();
        check_port("port", port, self.ports.len()).map_err(|why| format!("apps: {why}"))?;
        if self.ports[port].wire.is_some() {
            return Err(format!("apps: port {port} has a wire: unwire first").into());
        }
        let line_in = self.line(self.ports[port].wire_bps);
        let here = &mut self.ports[port];
        plan::check(plans, here.wire_bps).map_err(|why| format!("apps: {why}"))?;
        let host = here.host.as_mut();
        let host = host.ok_or_else(|| format!("apps: port {port} has no host: ports first"))?;
        host.run(plans, line_in, now_ns);
        Ok(json!({"origin_ns": now_ns}))
    }

    fn app_results(&mut self, port: usize, backend: &mut dyn Backend) -> Reply {
        let now_ns = backend.now_ns();
        check_port("port", port, self.ports.len()).map_err(|why| format!("app_results: {why}"))?;
        let host = self.ports[port].host.as_mut();
        let peer = host.and_then(Host::peer);
        let peer = peer.ok_or_else(|| format!("app_results: port {port} has no applications"))?;
        Ok(peer.report(now_ns))
    }

    fn start(&mut self, plan: &TrialPlan, backend: &mut dyn Backend) -> Reply {
        self.finish_trial("start", backend)?;
        plan.check(self.ports.len())
            .map_err(|why| format!("start: {why}"))?;
        let mut src_macs = Vec::with_capacity(plan.streams.len());
        for (index, stream) in plan.streams.iter().enumerate() {
            for (name, port) in [("from", stream.from), ("to", stream.to)] {
                if self.ports[port].wire.is_some() {
                    return Err(format!(
                        "start: streams[{index}]: {name} is {port}, which has a wire: unwire first"
                    )
                    .into());
                }
            }
            let host_mac = self.ports[stream.from].host.as_ref().map(Host::mac);
            src_macs.push(stream.src_mac.or(host_mac).ok_or_else(|| {
                format!(
                    "start: streams[{index}]: no src_mac, and port {} has no host: ports first",
                    stream.from
                )
            })?);
        }
        let interrupts = |event: &EventPlan| matches!(event.action, Action::Interrupt { .. });
        if plan.events.iter().any(interrupts) && !backend.can_interrupt() {
            return Err(Refusal::unsupported(
                "start: only the tester's own cards can be made to interrupt",
            ));
        }
        let damages =
            |event: &EventPlan| matches!(event.action, Action::Frame { damaged: true, .. });
        if plan.events.iter().any(damages) && !backend.can_damage() {
            return Err(Refusal::unsupported(
                "start: only to the tester's own NICs frames with a wrong FCS can be sent",
            ));
        }
        let probed = backend.probe(&plan.probes);
        probed.map_err(|why| why.at("start: probes"))?;
        let preempted = backend.preempt(&plan.preempt);
        preempted.map_err(|why| why.at("start: preempt"))?;
        let cued = backend.cue(&plan.cues);
        cued.map_err(|why| why.at("start: cues"))?;
        let delayed = backend.delay_interrupts(plan.interrupt_delay_ns);
        delayed.map_err(|why| why.at("start: interrupt_delay_ns"))?;
        let delayed = backend.delay_writes(plan.write_delay_ns);
        delayed.map_err(|why| why.at("start: write_delay_ns"))?;
        let trial = Trial::new(plan, &src_macs, self.ports.len(), backend.now_ns());
        let answer = json!({"origin_ns": trial.origin_ns(), "end_ns": trial.end_ns()});
        self.trial = Some(trial);
        self.schedule_all();
        Ok(answer)
    }

    /// When the trial's drain ends, in ns; 0: there has been none.
    pub fn trial_end_ns(&self) -> u64 {
        self.trial.as_ref().map_or(0, Trial::end_ns)
    }

    /// The result of the trial that ended last.
    pub fn result(&mut self, backend: &mut dyn Backend) -> Result<TrialResult, Refusal> {
        self.finish_trial("result", backend)?;
        let trial = self
            .trial
            .as_ref()
            .ok_or("result: there has been no trial: start one")?;
        Ok(trial.report(self.ns_per_instruction))
    }

    /// An error while a trial runs.
    fn finish_trial(&mut self, op: &str, backend: &mut dyn Backend) -> Result<(), Refusal> {
        let now_ns = backend.now_ns();
        if self
            .trial
            .as_ref()
            .is_some_and(|trial| !trial.has_ended() && trial.end_ns() <= now_ns)
        {
            self.advance(backend); // its end is due, but the timer has not expired yet
        }
        match &self.trial {
            Some(trial) if !trial.has_ended() => Err(format!(
                "{op}: trial {} runs until {} ns, and it is {now_ns} ns",
                trial.id(),
                trial.end_ns()
            )
            .into()),
            _ => Ok(()),
        }
    }
}

fn reply<T: Serialize>(value: Result<T, Refusal>) -> Answer {
    Answer::Reply(control::answer(&value))
}
