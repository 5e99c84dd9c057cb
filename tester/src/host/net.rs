// SPDX-License-Identifier: GPL-2.0-or-later
//! The host's network: TCP connections, datagrams and pings over one Ethernet interface, in frames without FCS.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, Icmpv4Packet, Icmpv4Repr,
    IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, UdpPacket,
    UdpRepr,
};

use super::tcp::Tcp;
use crate::mac::Mac;
use crate::rng;

const TTL: u8 = 64;
const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;

/// Identifies a connection.
pub type Handle = usize;

/// A received message that belongs to no connection.
#[derive(Debug)]
pub enum Message {
    /// A UDP datagram.
    Datagram {
        /// The sender's address and port.
        from: (Ipv4Addr, u16),
        /// The local port.
        to: u16,
        /// Its mark.
        dscp: u8,
        /// Its payload.
        payload: Vec<u8>,
    },
    /// An ICMP echo reply (RFC 792).
    EchoReply {
        /// The sender's address.
        from: Ipv4Addr,
        /// The ping's identifier.
        ident: u16,
        /// The ping's number.
        sequence: u16,
        /// Its mark.
        dscp: u8,
    },
}

/// The network of a host that has applications.
#[derive(Debug)]
pub struct Net {
    mac: Mac,
    ip: Ipv4Addr,
    neighbours: BTreeMap<Ipv4Addr, Mac>,
    connections: Vec<Tcp>,
    listeners: BTreeMap<u16, usize>,
    accepted: Vec<Handle>,
    /// Frames that are sent before anything else, as soon as the line has room.
    urgent: VecDeque<Vec<u8>>,
    turn: usize,
    opened: u64,
    bounded: bool,
}

impl Net {
    /// The network of a host with these addresses. `bounded`: its line has a rate.
    pub fn new(mac: Mac, ip: Ipv4Addr, bounded: bool) -> Self {
        Net {
            mac,
            ip,
            neighbours: BTreeMap::new(),
            connections: Vec::new(),
            listeners: BTreeMap::new(),
            accepted: Vec::new(),
            urgent: VecDeque::new(),
            turn: 0,
            opened: 0,
            bounded,
        }
    }

    /// Whether the line has a rate.
    pub fn is_bounded(&self) -> bool {
        self.bounded
    }

    /// Whether a frame is addressed to the host and carries TCP, UDP or an ICMP echo reply.
    pub fn concerns(&self, frame: &[u8]) -> bool {
        let Some(packet) = self.packet(frame) else {
            return false;
        };
        match packet.next_header() {
            IpProtocol::Tcp | IpProtocol::Udp => true,
            IpProtocol::Icmp => packet.payload().first() == Some(&0),
            _ => false,
        }
    }

    fn packet<'a>(&self, frame: &'a [u8]) -> Option<Ipv4Packet<&'a [u8]>> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        if ethernet.ethertype() != EthernetProtocol::Ipv4 || ethernet.dst_addr().0 != self.mac.0 {
            return None;
        }
        let packet = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
        let whole = !packet.more_frags() && packet.frag_offset() == 0;
        (packet.dst_addr() == self.ip && whole && packet.verify_checksum()).then_some(packet)
    }

    /// A frame for which [`Net::concerns`] is true. Returns a message that belongs to no connection; damaged frames are dropped.
    pub fn receive(&mut self, now_ns: u64, frame: &[u8]) -> Option<Message> {
        let packet = self.packet(frame)?;
        let (from, dscp) = (packet.src_addr(), packet.dscp());
        let source = EthernetFrame::new_unchecked(frame).src_addr();
        self.neighbours.insert(from, Mac(source.0));
        let all = ChecksumCapabilities::default();
        let ends = (IpAddress::Ipv4(from), IpAddress::Ipv4(self.ip));
        match packet.next_header() {
            IpProtocol::Tcp => {
                let segment = TcpPacket::new_checked(packet.payload()).ok()?;
                let segment = TcpRepr::parse(&segment, &ends.0, &ends.1, &all).ok()?;
                self.segment(now_ns, from, dscp, &segment);
                None
            }
            IpProtocol::Udp => {
                let datagram = UdpPacket::new_checked(packet.payload()).ok()?;
                let header = UdpRepr::parse(&datagram, &ends.0, &ends.1, &all).ok()?;
                Some(Message::Datagram {
                    from: (from, header.src_port),
                    to: header.dst_port,
                    dscp,
                    payload: datagram.payload().to_vec(),
                })
            }
            IpProtocol::Icmp => {
                let icmp = Icmpv4Packet::new_checked(packet.payload()).ok()?;
                match Icmpv4Repr::parse(&icmp, &all).ok()? {
                    Icmpv4Repr::EchoReply { ident, seq_no, .. } => Some(Message::EchoReply {
                        from,
                        ident,
                        sequence: seq_no,
                        dscp,
                    }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn segment(&mut self, now_ns: u64, from: Ipv4Addr, dscp: u8, segment: &TcpRepr<'_>) {
        let ends = (segment.dst_port, (from, segment.src_port));
        let known = self.connections.iter_mut().rev();
        let mut known = known.filter(|tcp| (tcp.local, tcp.remote) == ends);
        let opens = segment.control == TcpControl::Syn && segment.ack_number.is_none();
        if let Some(tcp) = known.next() {
            if !(opens && tcp.is_over()) {
                *tcp.heard.entry(dscp).or_default() += 1;
                tcp.on_segment(now_ns, segment);
                return;
            }
        }
        match self.listeners.get(&segment.dst_port) {
            Some(window) if opens => {
                let isn = rng::mix(self.opened) as u32;
                self.opened += 1;
                self.accepted.push(self.connections.len());
                let mut tcp = Tcp::accept(from, segment, isn, *window, now_ns);
                tcp.heard.insert(dscp, 1);
                self.connections.push(tcp);
            }
            _ if segment.control == TcpControl::Rst => {}
            _ => self.refuse(from, segment),
        }
    }

    /// RFC 9293, 3.10.7.1.
    fn refuse(&mut self, to: Ipv4Addr, segment: &TcpRepr<'_>) {
        let mut reset = TcpRepr {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            control: TcpControl::Rst,
            window_len: 0,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            payload: &[],
            ..*segment
        };
        match segment.ack_number {
            Some(ack) => (reset.seq_number, reset.ack_number) = (ack, None),
            None => {
                reset.ack_number = Some(segment.seq_number + segment.segment_len());
                reset.seq_number = Default::default();
            }
        }
        if let Some(frame) = tcp_frame(self.mac, self.ip, &self.neighbours, to, &reset, 0) {
            self.urgent.push_back(frame);
        }
    }

    /// Notes the Ethernet address at which an IP address is reached.
    pub fn introduce(&mut self, ip: Ipv4Addr, mac: Mac) {
        self.neighbours.insert(ip, mac);
    }

    /// Accepts connections to a port from now on, with receive buffers of `window` bytes.
    pub fn listen(&mut self, port: u16, window: usize) {
        self.listeners.insert(port, window);
    }

    /// Connections to `port` that were opened since the last call.
    pub fn accepted(&mut self, port: u16) -> Vec<Handle> {
        let (ours, others) = std::mem::take(&mut self.accepted)
            .into_iter()
            .partition(|handle| self.connections[*handle].local == port);
        self.accepted = others;
        ours
    }

    /// Opens a connection.
    pub fn connect(
        &mut self,
        local: u16,
        remote: (Ipv4Addr, u16),
        window: usize,
        now_ns: u64,
    ) -> Handle {
        let isn = rng::mix(self.opened) as u32;
        self.opened += 1;
        self.connections
            .push(Tcp::connect(local, remote, isn, window, now_ns));
        self.connections.len() - 1
    }

    /// A connection.
    pub fn tcp(&mut self, handle: Handle) -> &mut Tcp {
        &mut self.connections[handle]
    }

    /// A connection, read-only.
    pub fn look(&self, handle: Handle) -> &Tcp {
        &self.connections[handle]
    }

    /// A frame with a UDP datagram; None if the Ethernet address for `to` is not known.
    pub fn datagram(
        &self,
        from: u16,
        to: (Ipv4Addr, u16),
        dscp: u8,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let header = UdpRepr {
            src_port: from,
            dst_port: to.1,
        };
        let length = header.header_len() + payload.len();
        let frame = ip_frame(
            self.mac,
            self.ip,
            &self.neighbours,
            to.0,
            IpProtocol::Udp,
            length,
            |at| {
                header.emit(
                    &mut UdpPacket::new_unchecked(at),
                    &IpAddress::Ipv4(self.ip),
                    &IpAddress::Ipv4(to.0),
                    payload.len(),
                    |buffer| buffer.copy_from_slice(payload),
                    &ChecksumCapabilities::default(),
                );
            },
        )?;
        Some(mark(frame, dscp))
    }

    /// A frame with an ICMP echo request.
    pub fn echo(
        &self,
        to: Ipv4Addr,
        ident: u16,
        seq_no: u16,
        dscp: u8,
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let request = Icmpv4Repr::EchoRequest {
            ident,
            seq_no,
            data,
        };
        let length = request.buffer_len();
        let frame = ip_frame(
            self.mac,
            self.ip,
            &self.neighbours,
            to,
            IpProtocol::Icmp,
            length,
            |at| {
                let all = ChecksumCapabilities::default();
                request.emit(&mut Icmpv4Packet::new_unchecked(at), &all);
            },
        )?;
        Some(mark(frame, dscp))
    }

    /// Sends a frame as soon as the line has room, before anything else.
    pub fn send_urgently(&mut self, frame: Option<Vec<u8>>) {
        self.urgent.extend(frame);
    }

    /// When [`Net::on_time`] must be called, in ns.
    pub fn timer_ns(&self) -> Option<u64> {
        self.timers_ns().min()
    }

    /// The same for each connection.
    pub fn timers_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.connections.iter().filter_map(Tcp::timer_ns)
    }

    /// The time of [`Net::timer_ns`] may have come.
    pub fn on_time(&mut self, now_ns: u64) {
        for tcp in &mut self.connections {
            tcp.on_time(now_ns);
        }
    }

    /// The next frame that may be sent now; connections take turns.
    pub fn transmit(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        let count = self.connections.len();
        for _ in 0..count {
            self.turn = (self.turn + 1) % count;
            let tcp = &mut self.connections[self.turn];
            let to = tcp.remote.0;
            let (mac, ip, neighbours) = (self.mac, self.ip, &self.neighbours);
            let made = tcp.transmit(now_ns, |segment, ident| {
                tcp_frame(mac, ip, neighbours, to, segment, ident)
            });
            if let Some(Some(frame)) = made {
                return Some(mark(frame, tcp.dscp));
            }
        }
        None
    }
}

/// A frame with another DSCP (RFC 2474).
fn mark(mut frame: Vec<u8>, dscp: u8) -> Vec<u8> {
    if dscp != 0 {
        let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]);
        packet.set_dscp(dscp);
        packet.fill_checksum();
    }
    frame
}

fn tcp_frame(
    mac: Mac,
    ip: Ipv4Addr,
    neighbours: &BTreeMap<Ipv4Addr, Mac>,
    to: Ipv4Addr,
    segment: &TcpRepr<'_>,
    ident: u16,
) -> Option<Vec<u8>> {
    let length = segment.buffer_len();
    let mut frame = ip_frame(mac, ip, neighbours, to, IpProtocol::Tcp, length, |at| {
        segment.emit(
            &mut TcpPacket::new_unchecked(at),
            &IpAddress::Ipv4(ip),
            &IpAddress::Ipv4(to),
            &ChecksumCapabilities::default(),
        );
    })?;
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]);
    packet.set_ident(ident);
    packet.fill_checksum();
    Some(frame)
}

fn ip_frame(
    mac: Mac,
    ip: Ipv4Addr,
    neighbours: &BTreeMap<Ipv4Addr, Mac>,
    to: Ipv4Addr,
    next_header: IpProtocol,
    payload_len: usize,
    emit: impl FnOnce(&mut [u8]),
) -> Option<Vec<u8>> {
    let around = EthernetRepr {
        src_addr: EthernetAddress(mac.0),
        dst_addr: EthernetAddress(neighbours.get(&to)?.0),
        ethertype: EthernetProtocol::Ipv4,
    };
    let header = Ipv4Repr {
        src_addr: ip,
        dst_addr: to,
        next_header,
        payload_len,
        hop_limit: TTL,
    };
    let mut frame = vec![0; ETHERNET_BYTES + IPV4_BYTES + payload_len];
    around.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    header.emit(
        &mut Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]),
        &ChecksumCapabilities::default(),
    );
    emit(&mut frame[ETHERNET_BYTES + IPV4_BYTES..]);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
    const THERE: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 18, 0, 1), 80);

    #[test]
    fn the_earliest_timer_of_all_connections_counts() {
        let mut net = Net::new(Mac([2; 6]), IP, false);
        net.introduce(THERE.0, Mac([4; 6]));
        assert_eq!((net.timer_ns(), net.is_bounded()), (None, false));
        for (local, now_ns) in [(1_000, 500), (1_001, 70)] {
            net.connect(local, THERE, 1 << 16, now_ns);
            while net.transmit(now_ns).is_some() {}
        }
        let each: Vec<u64> = net.timers_ns().collect();
        assert_eq!(each.len(), 2);
        assert!(each[1] < each[0], "{each:?}");
        assert_eq!(net.timer_ns(), Some(each[1]));
        assert!(Net::new(Mac([2; 6]), IP, true).is_bounded());
    }

    #[test]
    fn only_whole_packets_to_the_host_concern_it() {
        let mut sender = Net::new(Mac([4; 6]), THERE.0, false);
        sender.introduce(IP, Mac([2; 6]));
        let host = Net::new(Mac([2; 6]), IP, false);
        let Some(good) = sender.datagram(7, (IP, 9), 0, &[1; 20]) else {
            panic!("the address is known")
        };
        assert!(host.concerns(&good));
        let changed = |change: &dyn Fn(&mut Vec<u8>, usize)| {
            let mut frame = good.clone();
            change(&mut frame, ETHERNET_BYTES);
            Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]).fill_checksum();
            host.concerns(&frame)
        };
        assert!(changed(&|_, _| {}));
        assert!(!changed(&|frame, _| frame[5] = 9), "to another station");
        assert!(!changed(&|frame, _| frame[13] = 6), "no IPv4");
        assert!(
            !changed(&|frame, ip| frame[ip + 19] = 9),
            "to another address"
        );
        assert!(
            !changed(&|frame, ip| frame[ip + 6] = 0x20),
            "more fragments follow"
        );
        assert!(!changed(&|frame, ip| frame[ip + 7] = 1), "a later fragment");
        assert!(!changed(&|frame, ip| frame[ip + 9] = 2), "IGMP");
        assert!(changed(&|frame, ip| frame[ip + 9] = 6), "TCP");
        let echo = |kind: u8| {
            changed(&move |frame, ip| {
                frame[ip + 9] = 1;
                frame[ip + 20] = kind;
            })
        };
        assert!(echo(0) && !echo(8), "a reply, no request");
        let mut damaged = good.clone();
        damaged[ETHERNET_BYTES + 10] ^= 1;
        assert!(!host.concerns(&damaged), "the header's checksum");
    }
}
