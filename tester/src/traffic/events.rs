// SPDX-License-Identifier: GPL-2.0-or-later
//! What a trial does besides traffic, at regular instants.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::backend::Backend;

/// One of TRIAL's events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct EventPlan {
    #[serde(rename = "do")]
    pub action: Action,
    /// From the start of the window to the first one.
    pub first_ns: u64,
    pub every_ns: u64,
    pub count: u64,
}

/// What is done.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Action {
    /// The NIC's interrupt line is raised for a moment.
    Interrupt { port: usize },
    /// A call of a probed function returns a value at once: the n-th event lets `after + n` calls succeed before it.
    Fail {
        function: usize,
        after: u64,
        value: u64,
    },
    /// A frame of any length arrives, without its FCS, in base64. Streams have none that are too short or too long.
    Frame {
        port: usize,
        data: String,
        /// Its FCS is wrong.
        #[serde(default)]
        damaged: bool,
    },
}

impl EventPlan {
    /// Refuses what is not possible with so many ports and probed functions.
    pub fn check(&self, ports: usize, functions: usize) -> Result<(), String> {
        if self.every_ns == 0 {
            return Err("every_ns is 0".into());
        }
        match &self.action {
            Action::Interrupt { port } | Action::Frame { port, .. } if *port >= ports => {
                Err(format!("port is {port}: there are {ports}"))
            }
            Action::Frame { data, .. } => STANDARD
                .decode(data)
                .map(drop)
                .map_err(|error| format!("data: {error}")),
            Action::Fail { function, .. } if *function >= functions => Err(format!(
                "function is {function}: there are {functions} probes"
            )),
            _ => Ok(()),
        }
    }
}

/// The events of a trial.
#[derive(Debug)]
pub struct Events {
    begin_ns: u64,
    /// With how many have happened.
    plans: Vec<(EventPlan, u64)>,
    /// An event that happens earlier: its index, and when, in ns.
    cued: Option<(usize, u64)>,
}

impl Events {
    /// Events of a window that begins at an instant.
    pub fn new(plans: &[EventPlan], begin_ns: u64) -> Self {
        Events {
            begin_ns,
            plans: plans.iter().map(|plan| (plan.clone(), 0)).collect(),
            cued: None,
        }
    }

    /// When the next one happens, in ns.
    pub fn next_ns(&self) -> Option<u64> {
        let due = |(plan, done): &(EventPlan, u64)| *done < plan.count;
        let plans = self.plans.iter().enumerate();
        let due = plans.filter(|(_, one)| due(one));
        due.map(|(index, _)| self.at_ns(index)).min()
    }

    /// If the next event of the plan with this index would happen before `until_ns`, it happens at `at_ns`.
    pub fn cue(&mut self, index: usize, at_ns: u64, until_ns: u64) {
        let waits = |(plan, done): &(EventPlan, u64)| *done < plan.count;
        if self.plans.get(index).is_some_and(waits) && self.at_ns(index) < until_ns {
            self.cued = Some((index, at_ns));
        }
    }

    /// Does all that are due.
    pub fn advance(&mut self, now_ns: u64, backend: &mut dyn Backend) {
        while let Some(index) = self.due(now_ns) {
            self.cued.take_if(|(cued, _)| *cued == index);
            let (plan, done) = &mut self.plans[index];
            match &plan.action {
                Action::Interrupt { port } => backend.interrupt(*port),
                Action::Fail {
                    function,
                    after,
                    value,
                } => backend.fail(*function, after + *done, *value),
                Action::Frame {
                    port,
                    data,
                    damaged,
                } => {
                    let frame = STANDARD.decode(data).unwrap_or_default();
                    if *damaged {
                        backend.send_damaged(*port, &frame);
                    } else {
                        backend.send(*port, &frame);
                    }
                }
            }
            *done += 1;
        }
    }

    fn due(&self, now_ns: u64) -> Option<usize> {
        self.plans
            .iter()
            .enumerate()
            .position(|(index, (plan, done))| *done < plan.count && self.at_ns(index) <= now_ns)
    }

    /// When the next event of a plan happens, in ns.
    fn at_ns(&self, index: usize) -> u64 {
        if let Some((_, at_ns)) = self.cued.filter(|(cued, _)| *cued == index) {
            return at_ns;
        }
        let (plan, number) = &self.plans[index];
        let offset = plan
            .first_ns
            .saturating_add(number.saturating_mul(plan.every_ns));
        self.begin_ns.saturating_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Outcome;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Backend for Log {
        fn now_ns(&self) -> u64 {
            0
        }
        fn instructions(&self) -> u64 {
            0
        }
        fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
            self.0.push(format!("frame {port} {frame:?}"));
            Outcome::Sent
        }
        fn send_damaged(&mut self, port: usize, frame: &[u8]) {
            self.0.push(format!("damaged {port} {frame:?}"));
        }
        fn fail(&mut self, function: usize, after: u64, value: u64) {
            self.0.push(format!("fail {function} {after} {value}"));
        }
        fn interrupt(&mut self, port: usize) {
            self.0.push(format!("interrupt {port}"));
        }
    }

    #[test]
    fn events_happen_at_their_instants() {
        let plan = |action, first_ns| EventPlan {
            action,
            first_ns,
            every_ns: 100,
            count: 2,
        };
        let fail = Action::Fail {
            function: 0,
            after: 3,
            value: 7,
        };
        let plans = [plan(Action::Interrupt { port: 1 }, 10), plan(fail, 20)];
        let (mut events, mut log) = (Events::new(&plans, 1_000), Log::default());
        for (at_ns, done) in [(1_010, 1), (1_020, 2), (1_110, 3), (1_120, 4)] {
            assert_eq!(events.next_ns(), Some(at_ns));
            events.advance(at_ns - 1, &mut log);
            assert_eq!(log.0.len(), done - 1);
            events.advance(at_ns, &mut log);
            assert_eq!(log.0.len(), done);
        }
        assert_eq!(events.next_ns(), None);
        assert_eq!(
            log.0,
            ["interrupt 1", "fail 0 3 7", "interrupt 1", "fail 0 4 7"]
        );
    }

    #[test]
    fn a_frame_arrives() {
        let read = |data: &str| {
            let action = serde_json::json!({"kind": "frame", "port": 1, "data": data});
            let plan = serde_json::json!({"do": action, "first_ns": 5, "every_ns": 1, "count": 1});
            serde_json::from_value::<EventPlan>(plan).unwrap()
        };
        assert!(
            read("AQI=")
                .check(1, 0)
                .is_err_and(|why| why.contains("there are 1"))
        );
        assert!(
            read("?")
                .check(2, 0)
                .is_err_and(|why| why.contains("data: "))
        );
        assert_eq!(read("AQI=").check(2, 0), Ok(()));
        let (mut events, mut log) = (Events::new(&[read("AQI=")], 0), Log::default());
        events.advance(5, &mut log);
        assert_eq!(log.0, ["frame 1 [1, 2]"]);
        let mut damaged = read("AQI=");
        if let Action::Frame { damaged, .. } = &mut damaged.action {
            *damaged = true;
        }
        Events::new(&[damaged], 0).advance(5, &mut log);
        assert_eq!(log.0[1], "damaged 1 [1, 2]");
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let read =
            |text: &str| serde_json::from_str::<EventPlan>(text).map_err(|why| why.to_string());
        let plan = read(
            r#"{"do":{"kind":"fail","function":1,"after":0,"value":0},"first_ns":0,"every_ns":1,"count":1}"#,
        );
        let checked = |functions| plan.clone().and_then(|plan| plan.check(2, functions));
        assert_eq!(checked(2), Ok(()));
        assert!(checked(1).is_err_and(|why| why.contains("there are 1 probes")));
        let plan =
            read(r#"{"do":{"kind":"interrupt","port":1},"first_ns":0,"every_ns":1,"count":1}"#);
        let checked = |ports| plan.clone().and_then(|plan| plan.check(ports, 0));
        assert_eq!(checked(2), Ok(()));
        assert_eq!(checked(1), Err("port is 1: there are 1".into()));
    }
}
