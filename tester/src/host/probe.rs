// SPDX-License-Identifier: GPL-2.0-or-later
//! Latency probes: ICMP echo (RFC 792), or UDP to an echo port (RFC 862).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::app::App;
use super::net::{Message, Net};
use super::plan::ProbePlan;

/// Local port of UDP probes, plus the application's number.
const LOCAL_PORT: u16 = 40_000;

/// When a probe was sent, how long its answer took, and how much of that the answer waited for the line, in ns.
type Sent = (u64, Option<(u64, u64)>);

/// A series of probes.
pub struct Probe {
    plan: ProbePlan,
    place: u16,
    origin_ns: u64,
    sent: Vec<Sent>,
    duplicates: u64,
    /// How many answers came, by their marks.
    heard: BTreeMap<u8, u64>,
}

impl Probe {
    /// Begins now. Each of the host's applications has a `place` of its own.
    pub fn new(plan: &ProbePlan, place: u16, net: &mut Net, now_ns: u64) -> Self {
        net.introduce(plan.to, plan.to_mac);
        Probe {
            plan: plan.clone(),
            place,
            origin_ns: now_ns,
            sent: Vec::new(),
            duplicates: 0,
            heard: BTreeMap::new(),
        }
    }

    fn answered(&mut self, now_ns: u64, waited_ns: u64, dscp: u8, number: usize) {
        *self.heard.entry(dscp).or_default() += 1;
        match self.sent.get_mut(number) {
            Some((_, Some(_))) => self.duplicates += 1,
            Some((at_ns, answer)) => *answer = Some((now_ns.saturating_sub(*at_ns), waited_ns)),
            None => {}
        }
    }

    fn due_ns(&self) -> Option<u64> {
        let offset_ns = self.plan.interval_ns.saturating_mul(self.sent.len() as u64);
        let offset_ns = offset_ns.saturating_add(self.plan.phase_ns);
        (offset_ns < self.plan.duration_ns).then(|| self.origin_ns + offset_ns)
    }
}

impl App for Probe {
    fn step(&mut self, now_ns: u64, net: &mut Net) {
        while self.due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            let number = self.sent.len();
            let mut payload = vec![0; self.plan.payload_bytes];
            let length = payload.len().min(4);
            payload[..length].copy_from_slice(&(number as u32).to_be_bytes()[..length]);
            let to = self.plan.to;
            let frame = match self.plan.udp_port {
                Some(port) => net.datagram(
                    LOCAL_PORT + self.place,
                    (to, port),
                    self.plan.dscp,
                    &payload,
                ),
                None => net.echo(
                    to,
                    LOCAL_PORT + self.place,
                    number as u16,
                    self.plan.dscp,
                    &payload,
                ),
            };
            net.send_urgently(frame);
            self.sent.push((now_ns, None));
        }
    }

    fn take(&mut self, now_ns: u64, waited_ns: u64, message: &Message, _: &mut Net) -> bool {
        let ours = LOCAL_PORT + self.place;
        let from_there = |from: &Ipv4Addr| *from == self.plan.to;
        match message {
            Message::EchoReply {
                from,
                ident,
                sequence,
                dscp,
            } if self.plan.udp_port.is_none() && *ident == ours && from_there(from) => {
                // Sequence numbers on the wire have 16 bits: this is the latest probe with these.
                let last = self.sent.len().saturating_sub(1);
                let back = (last as u16).wrapping_sub(*sequence) as usize;
                if let Some(number) = last.checked_sub(back) {
                    self.answered(now_ns, waited_ns, *dscp, number);
                }
                true
            }
            Message::Datagram {
                from,
                to,
                dscp,
                payload,
            } if *to == ours && from_there(&from.0) => {
                if let Some(number) = payload.first_chunk::<4>() {
                    self.answered(
                        now_ns,
                        waited_ns,
                        *dscp,
                        u32::from_be_bytes(*number) as usize,
                    );
                }
                true
            }
            _ => false,
        }
    }

    fn transmit(&mut self, _now_ns: u64, _net: &mut Net) -> Option<Vec<u8>> {
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.due_ns()
    }

    fn report(&self, _now_ns: u64, _net: &Net) -> Value {
        let probes: Vec<Value> = self
            .sent
            .iter()
            .map(|(at_ns, answer)| {
                let (rtt_ns, waited_ns) = answer.unzip();
                json!([at_ns - self.origin_ns, rtt_ns, waited_ns])
            })
            .collect();
        json!({
            "kind": "probe", "probes": probes, "duplicates": self.duplicates, "received_by_dscp": self.heard,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::Mac;

    const THERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
    const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 9);
    const PLACE: u16 = 3;

    /// A probe that has sent its ten packets, at 0, 1, ... ms.
    fn probe(udp_port: Option<u16>) -> (Probe, Net) {
        let plan = ProbePlan {
            to: THERE,
            to_mac: Mac([4; 6]),
            udp_port,
            interval_ns: 1_000_000,
            phase_ns: 0,
            duration_ns: 10_000_000,
            payload_bytes: 56,
            dscp: 46,
        };
        let mut net = Net::new(Mac([2; 6]), Ipv4Addr::new(198, 18, 0, 2), true);
        let mut probe = Probe::new(&plan, PLACE, &mut net, 0);
        for number in 0..10 {
            assert_eq!(probe.next_ns(), Some(number * 1_000_000));
            probe.step(number * 1_000_000, &mut net);
        }
        assert_eq!(probe.next_ns(), None);
        (probe, net)
    }

    fn datagram(from: Ipv4Addr, to: u16, number: u32) -> Message {
        Message::Datagram {
            from: (from, 7),
            to,
            dscp: 46,
            payload: number.to_be_bytes().to_vec(),
        }
    }

    fn reply(from: Ipv4Addr, ident: u16, sequence: u16) -> Message {
        Message::EchoReply {
            from,
            ident,
            sequence,
            dscp: 8,
        }
    }

    #[test]
    fn the_first_probe_is_sent_after_the_phase() {
        let (mut probe, _) = probe(None);
        probe.sent.clear();
        probe.plan.phase_ns = 300_000;
        assert_eq!(probe.next_ns(), Some(300_000));
        probe.sent.push((300_000, None));
        assert_eq!(probe.next_ns(), Some(1_300_000));
    }

    #[test]
    fn an_answer_is_the_probes_own_or_nobodys() {
        let (mut udp, mut net) = probe(Some(7));
        let (mut icmp, _) = probe(None);
        let ours = LOCAL_PORT + PLACE;
        let mut takes =
            |probe: &mut Probe, message: &Message| probe.take(9_500_000, 100, message, &mut net);
        assert!(!takes(&mut udp, &datagram(THERE, ours + 1, 9)));
        assert!(!takes(&mut udp, &datagram(ELSEWHERE, ours, 9)));
        assert!(
            !takes(&mut udp, &reply(THERE, ours, 9)),
            "it sends no pings"
        );
        assert!(!takes(&mut icmp, &reply(THERE, ours + 1, 9)));
        assert!(!takes(&mut icmp, &reply(ELSEWHERE, ours, 9)));
        for probe in [&udp, &icmp] {
            let answered = probe.sent.iter().filter(|(_, answer)| answer.is_some());
            assert_eq!(answered.count(), 0);
        }
        assert!(takes(&mut udp, &datagram(THERE, ours, 9)));
        assert!(takes(&mut icmp, &reply(THERE, ours, 9)));
        assert!(takes(&mut icmp, &reply(THERE, ours, 8)));
        assert!(takes(&mut icmp, &reply(THERE, ours, 8)), "once more");
        assert!(takes(&mut icmp, &reply(THERE, ours, 10)), "not sent yet");
        let probes = |probe: &Probe, net: &Net| probe.report(0, net)["probes"].clone();
        assert_eq!(probes(&udp, &net)[9], json!([9_000_000, 500_000, 100]));
        assert_eq!(probes(&icmp, &net)[9], json!([9_000_000, 500_000, 100]));
        assert_eq!(probes(&icmp, &net)[8], json!([8_000_000, 1_500_000, 100]));
        assert_eq!(probes(&icmp, &net)[7], json!([7_000_000, null, null]));
        assert_eq!((icmp.duplicates, udp.duplicates), (1, 0));
        assert_eq!(udp.report(0, &net)["received_by_dscp"], json!({"46": 1}));
    }
}
