// SPDX-License-Identifier: GPL-2.0-or-later
//! The host that the tester simulates at a port. It answers ARP (RFC 826) and ICMP echo (RFC 792), passes on what is addressed to its
//! [applications](peer), and ignores everything else.

pub mod app;
pub mod client;
pub mod flow;
pub mod iperf;
pub mod net;
pub mod peer;
pub mod plan;
pub mod probe;
pub mod receiver;
pub mod sender;
pub mod server;
pub mod tcp;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
};
use smoltcp::wire::{EthernetRepr, IpCidr, IpProtocol, Ipv4Cidr, Ipv4Packet};

use crate::host::peer::Peer;
use crate::host::plan::AppPlan;
use crate::mac::Mac;
use crate::traffic::line::Line;

/// At most this many frames are queued for the host; further ones are lost.
const QUEUE: usize = 256;
/// The longest frame, without FCS.
const MTU: usize = 1514;

/// A host.
pub struct Host {
    mac: Mac,
    ip: Ipv4Addr,
    interface: Interface,
    sockets: SocketSet<'static>,
    queues: Queues,
    due_ns: Option<u64>,
    peer: Option<Peer>,
}

#[derive(Default)]
struct Queues {
    received: VecDeque<Vec<u8>>,
    answers: VecDeque<Vec<u8>>,
}

impl Host {
    /// A host with this address in a network of this prefix length (0 to 32).
    pub fn new(mac: Mac, ip: Ipv4Addr, prefix: u8) -> Self {
        let mut queues = Queues::default();
        let mut config = Config::new(EthernetAddress(mac.0).into());
        config.random_seed = 1;
        let mut interface = Interface::new(config, &mut queues, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let full = addresses.push(IpCidr::Ipv4(Ipv4Cidr::new(ip, prefix)));
            debug_assert!(full.is_ok(), "the first address always fits");
        });
        Host {
            mac,
            ip,
            interface,
            sockets: SocketSet::new(Vec::new()),
            queues,
            due_ns: None,
            peer: None,
        }
    }

    /// Its Ethernet address.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// Replaces its applications and discards the results of earlier ones. `line_in` is the line from the device under test.
    pub fn run(&mut self, plans: &[AppPlan], line_in: Line, now_ns: u64) {
        let new = || Peer::new(self.mac, self.ip, line_in, plans, now_ns);
        self.peer = (!plans.is_empty()).then(new);
    }

    /// Its applications.
    pub fn peer(&mut self) -> Option<&mut Peer> {
        self.peer.as_mut()
    }

    /// A frame (without FCS) came from the device under test at `now_ns`.
    pub fn receive(&mut self, now_ns: u64, frame: &[u8]) {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.concerns(frame)) {
            peer.receive(now_ns, frame);
        } else if self.queues.received.len() < QUEUE && is_answerable(frame) {
            self.queues.received.push_back(frame.to_vec());
            self.due_ns.get_or_insert(now_ns);
        }
    }

    /// Discards all queued frames, and the applications.
    pub fn clear(&mut self) {
        self.queues = Queues::default();
        self.due_ns = None;
        self.peer = None;
    }

    /// Since when [`Host::poll`] is wanted, in ns.
    pub fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// When it must be polled next, in ns: at once for queued frames, or later for its applications.
    pub fn next_ns(&self) -> Option<u64> {
        let peer = self.peer.as_ref().and_then(Peer::due_ns);
        self.due_ns.into_iter().chain(peer).min()
    }

    /// Handles the queued frames and returns the answers (without FCS).
    pub fn poll(&mut self, now_ns: u64) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.due_ns = None;
        let now = Instant::from_micros((now_ns / 1_000) as i64);
        let waiting = std::mem::take(&mut self.queues.received);
        for frame in waiting {
            // A sender that has not asked for our address in the last minute is not in smoltcp's cache: smoltcp would
            // send an ARP request and drop its answer. So it is first told the sender's addresses, from the frame.
            self.queues.received.extend(introduction(&frame));
            self.queues.received.push_back(frame);
            while !self.queues.received.is_empty() {
                self.interface
                    .poll(now, &mut self.queues, &mut self.sockets);
            }
        }
        self.queues.answers.drain(..)
    }
}

/// ARP, or ICMP over IPv4.
fn is_answerable(frame: &[u8]) -> bool {
    let Ok(ethernet) = EthernetFrame::new_checked(frame) else {
        return false;
    };
    match ethernet.ethertype() {
        EthernetProtocol::Arp => true,
        EthernetProtocol::Ipv4 => Ipv4Packet::new_checked(ethernet.payload())
            .is_ok_and(|packet| packet.next_header() == IpProtocol::Icmp),
        _ => false,
    }
}

/// For an IPv4 frame to us: an ARP reply with the sender's addresses.
fn introduction(frame: &[u8]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Ipv4 || !ethernet.dst_addr().is_unicast() {
        return None;
    }
    let packet = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let reply = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: ethernet.src_addr(),
        source_protocol_addr: packet.src_addr(),
        target_hardware_addr: ethernet.dst_addr(),
        target_protocol_addr: packet.dst_addr(),
    };
    let around = EthernetRepr {
        src_addr: ethernet.src_addr(),
        dst_addr: ethernet.dst_addr(),
        ethertype: EthernetProtocol::Arp,
    };
    let mut buffer = vec![0; around.buffer_len() + reply.buffer_len()];
    let mut frame = EthernetFrame::new_unchecked(&mut buffer);
    around.emit(&mut frame);
    reply.emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
    Some(buffer)
}

impl Device for Queues {
    type RxToken<'a> = Received;
    type TxToken<'a> = Answer<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received, Answer<'_>)> {
        let frame = self.received.pop_front()?;
        Some((Received(frame), Answer(&mut self.answers)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Answer<'_>> {
        Some(Answer(&mut self.answers))
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Answer<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Answer<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut frame = vec![0; length];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}
