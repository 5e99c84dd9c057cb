// SPDX-License-Identifier: GPL-2.0-or-later
//! A TCP connection (RFC 9293): opening, closing, and the segments of both halves.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use smoltcp::wire::{TcpControl, TcpRepr, TcpSeqNumber};

use super::receiver::Receiver;
use super::sender::{MSS, Sender};

const SYN_RETRY_NS: u64 = 1_000_000_000;
const SYN_TRIES: u32 = 6;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN, or in answer to the peer's SYN a SYN+ACK, has been sent or is about to be.
    Opening,
    /// Established; each half may have ended.
    Open,
    /// Refused, reset, or not answered.
    Broken,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Tcp {
    /// The local port.
    pub local: u16,
    /// The remote address and port.
    pub remote: (Ipv4Addr, u16),
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
    /// The mark of the segments that are sent.
    pub dscp: u8,
    /// How many segments were received, by their marks.
    pub heard: BTreeMap<u8, u64>,
    state: State,
    passive: bool,
    isn: u32,
    peer_isn: u32,
    window_shift: u8,
    peer_shift: Option<u8>,
    sack: bool,
    syn_at_ns: u64,
    syn_tries: u32,
    reset: bool,
    /// IP identification of the next packet. As in Linux it counts each connection's packets, although it could be constant for packets that
    /// must not be fragmented (RFC 6864).
    ident: u16,
}

impl Tcp {
    fn new(local: u16, remote: (Ipv4Addr, u16), isn: u32, window: usize, now_ns: u64) -> Self {
        let bits = usize::BITS - window.leading_zeros();
        Tcp {
            local,
            remote,
            sender: Sender::new(),
            receiver: Receiver::new(window),
            dscp: 0,
            heard: BTreeMap::new(),
            state: State::Opening,
            passive: false,
            isn,
            peer_isn: 0,
            window_shift: bits.saturating_sub(16).min(14) as u8,
            peer_shift: None,
            sack: false,
            syn_at_ns: now_ns,
            syn_tries: 0,
            reset: false,
            ident: isn as u16,
        }
    }

    /// Opens a connection. `window` is the receive buffer in bytes.
    pub fn connect(
        local: u16,
        remote: (Ipv4Addr, u16),
        isn: u32,
        window: usize,
        now_ns: u64,
    ) -> Self {
        Tcp::new(local, remote, isn, window, now_ns)
    }

    /// Answers a SYN.
    pub fn accept(
        remote: Ipv4Addr,
        syn: &TcpRepr<'_>,
        isn: u32,
        window: usize,
        now_ns: u64,
    ) -> Self {
        let mut tcp = Tcp::new(syn.dst_port, (remote, syn.src_port), isn, window, now_ns);
        tcp.passive = true;
        tcp.learn(syn);
        tcp
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether both halves have ended, or the connection is broken.
    pub fn is_over(&self) -> bool {
        self.state == State::Broken || (self.sender.is_done() && self.receiver.is_done())
    }

    /// Resets the connection.
    pub fn abort(&mut self) {
        self.reset = self.state == State::Open;
        self.state = State::Broken;
    }

    fn learn(&mut self, syn: &TcpRepr<'_>) {
        self.peer_isn = syn.seq_number.0 as u32;
        self.peer_shift = syn.window_scale;
        if self.peer_shift.is_none() {
            self.window_shift = 0;
        }
        self.sack = syn.sack_permitted;
        let mss = syn.max_seg_size.map_or(536, u64::from);
        self.sender.meet(mss, u64::from(syn.window_len));
    }

    /// A segment of this connection was received.
    pub fn on_segment(&mut self, now_ns: u64, segment: &TcpRepr<'_>) {
        if self.state == State::Broken {
            return;
        }
        if segment.control == TcpControl::Rst {
            self.state = State::Broken;
            return;
        }
        if segment.control == TcpControl::Syn {
            match (self.state, self.passive, segment.ack_number) {
                (State::Opening, false, Some(ack)) if ack.0 as u32 == self.isn.wrapping_add(1) => {
                    self.learn(segment);
                    self.state = State::Open;
                    self.receiver.on_segment(now_ns, 0, &[], false); // the SYN must be acknowledged
                }
                (State::Opening, true, None) => self.syn_at_ns = now_ns,
                _ => self.receiver.on_segment(now_ns, 0, &[], false),
            }
            return;
        }
        let Some(ack) = segment.ack_number else {
            return;
        };
        if self.state == State::Opening {
            if !self.passive || ack.0 as u32 != self.isn.wrapping_add(1) {
                return;
            }
            self.state = State::Open;
        }
        let place = |near: u64, isn: u32, number: u32| {
            let distance = number.wrapping_sub(isn.wrapping_add(near as u32)) as i32;
            near as i64 + i64::from(distance)
        };
        let una = self.sender.una();
        let acked = place(una, self.isn, ack.0 as u32);
        let window = u64::from(segment.window_len) << self.peer_shift.unwrap_or(0).min(14);
        let blocks = segment.sack_ranges.iter().flatten();
        let sacks: Vec<(u64, u64)> = blocks
            .filter_map(|(begin, end)| {
                let begin = u64::try_from(place(una, self.isn, *begin)).ok()?;
                let end = u64::try_from(place(una, self.isn, *end)).ok()?;
                (begin < end).then_some((begin, end))
            })
            .collect();
        if let Ok(acked) = u64::try_from(acked) {
            self.sender.on_ack(now_ns, acked, window, &sacks);
        }
        let begin = place(
            self.receiver.next(),
            self.peer_isn,
            segment.seq_number.0 as u32,
        );
        let fin = segment.control == TcpControl::Fin;
        self.receiver
            .on_segment(now_ns, begin, segment.payload, fin);
    }

    /// When [`Tcp::on_time`] must be called, in ns.
    pub fn timer_ns(&self) -> Option<u64> {
        match self.state {
            State::Opening => Some(self.syn_at_ns),
            State::Open => {
                let acknowledge = self.receiver.acknowledge_at_ns();
                acknowledge.into_iter().chain(self.sender.timer_ns()).min()
            }
            State::Broken => None,
        }
    }

    /// The time of [`Tcp::timer_ns`] may have come.
    pub fn on_time(&mut self, now_ns: u64) {
        if self.state == State::Open {
            self.sender.on_time(now_ns);
        }
    }

    /// The next segment that may be sent now. `emit` makes a frame of it, with this IP identification.
    pub fn transmit<T>(
        &mut self,
        now_ns: u64,
        emit: impl FnOnce(&TcpRepr<'_>, u16) -> T,
    ) -> Option<T> {
        let ident = self.ident;
        let made = self.next_segment(now_ns, |segment| emit(segment, ident))?;
        self.ident = ident.wrapping_add(1);
        Some(made)
    }

    fn next_segment<T>(&mut self, now_ns: u64, emit: impl FnOnce(&TcpRepr<'_>) -> T) -> Option<T> {
        let mut segment = TcpRepr {
            src_port: self.local,
            dst_port: self.remote.1,
            control: TcpControl::None,
            seq_number: TcpSeqNumber(self.isn as i32),
            ack_number: None,
            window_len: 0,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        let number = |isn: u32, at: u64| TcpSeqNumber(isn.wrapping_add(at as u32) as i32);
        let awaited = number(self.peer_isn, self.receiver.next());
        match self.state {
            State::Opening => {
                if self.syn_at_ns > now_ns {
                    return None;
                }
                if self.syn_tries == SYN_TRIES {
                    self.state = State::Broken;
                    return None;
                }
                self.syn_at_ns = now_ns + (SYN_RETRY_NS << self.syn_tries);
                self.syn_tries += 1;
                segment.control = TcpControl::Syn;
                segment.ack_number = self.passive.then_some(awaited);
                segment.window_len = self.receiver.window().min(0xffff) as u16;
                segment.max_seg_size = Some(MSS as u16);
                let offers = !self.passive || self.peer_shift.is_some();
                segment.window_scale = offers.then_some(self.window_shift);
                segment.sack_permitted = !self.passive || self.sack;
                return Some(emit(&segment));
            }
            State::Broken => {
                if !std::mem::take(&mut self.reset) {
                    return None;
                }
                segment.control = TcpControl::Rst;
                segment.seq_number = number(self.isn, self.sender.next());
                segment.ack_number = Some(awaited);
                return Some(emit(&segment));
            }
            State::Open => {}
        }
        segment.ack_number = Some(awaited);
        segment.window_len = (self.receiver.window() >> self.window_shift).min(0xffff) as u16;
        if let Some(chunk) = self.sender.transmit(now_ns) {
            self.receiver.acknowledged();
            segment.seq_number = number(self.isn, chunk.begin);
            segment.control = match chunk.fin {
                true => TcpControl::Fin,
                false if chunk.push => TcpControl::Psh,
                false => TcpControl::None,
            };
            segment.payload = &chunk.payload;
            return Some(emit(&segment));
        }
        if self
            .receiver
            .acknowledge_at_ns()
            .is_some_and(|at_ns| at_ns <= now_ns)
        {
            if self.sack {
                for (slot, block) in segment.sack_ranges.iter_mut().zip(self.receiver.blocks()) {
                    let place = |at| self.peer_isn.wrapping_add(at as u32);
                    *slot = Some((place(block.0), place(block.1)));
                }
            }
            self.receiver.acknowledged();
            segment.seq_number = number(self.isn, self.sender.next());
            return Some(emit(&segment));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    /// Next segment of `from`, received by `to` unless it gets lost; what it was.
    fn pass(now_ns: u64, from: &mut Tcp, to: Option<&mut Tcp>) -> Option<(TcpControl, usize)> {
        from.transmit(now_ns, |segment, _| {
            if let Some(to) = to {
                to.on_segment(now_ns, segment);
            }
            (segment.control, segment.payload.len())
        })
    }

    /// An open connection: client and server.
    fn opened(window: usize) -> (Tcp, Tcp) {
        let mut client = Tcp::connect(5, (SERVER, 80), 100, window, 0);
        let mut server = client
            .transmit(0, |syn, _| Tcp::accept(CLIENT, syn, 900, window, 0))
            .unwrap_or_else(|| panic!("no SYN"));
        assert_eq!(
            pass(0, &mut server, Some(&mut client)),
            Some((TcpControl::Syn, 0))
        );
        assert_eq!(
            pass(0, &mut client, Some(&mut server)),
            Some((TcpControl::None, 0))
        );
        assert_eq!((client.state(), server.state()), (State::Open, State::Open));
        (client, server)
    }

    #[test]
    fn a_syn_is_repeated_after_ever_longer_times_and_given_up() {
        let mut client = Tcp::connect(5, (SERVER, 80), 100, 1000, 0);
        let mut at_ns = Vec::new();
        while let Some(now_ns) = client.timer_ns() {
            assert!(now_ns == 0 || pass(now_ns - 1, &mut client, None).is_none());
            if pass(now_ns, &mut client, None).is_some() {
                at_ns.push(now_ns / SYN_RETRY_NS);
            }
        }
        assert_eq!(at_ns, [0, 1, 3, 7, 15, 31]);
        assert_eq!(client.state(), State::Broken);
        assert!(client.is_over());
    }

    #[test]
    fn a_repeated_syn_is_answered_at_once() {
        let mut client = Tcp::connect(5, (SERVER, 80), 100, 1000, 0);
        let mut server = client
            .transmit(0, |syn, _| Tcp::accept(CLIENT, syn, 900, 1000, 0))
            .unwrap_or_else(|| panic!("no SYN"));
        assert_eq!(
            pass(0, &mut server, None),
            Some((TcpControl::Syn, 0)),
            "gets lost"
        );
        let again_ns = SYN_RETRY_NS / 2;
        assert_eq!(pass(again_ns, &mut server, None), None);
        client.syn_at_ns = again_ns;
        pass(again_ns, &mut client, Some(&mut server));
        assert_eq!(
            pass(again_ns, &mut server, Some(&mut client)),
            Some((TcpControl::Syn, 0))
        );
        assert_eq!(client.state(), State::Open);
    }

    #[test]
    fn only_the_right_acknowledgement_opens() {
        for (ack, state) in [(101, State::Open), (102, State::Opening)] {
            let mut client = Tcp::connect(5, (SERVER, 80), 100, 1000, 0);
            let mut server = client
                .transmit(0, |syn, _| Tcp::accept(CLIENT, syn, 900, 1000, 0))
                .unwrap_or_else(|| panic!("no SYN"));
            server.transmit(0, |segment, _| {
                let mut segment = *segment;
                segment.ack_number = Some(TcpSeqNumber(ack));
                client.on_segment(0, &segment);
            });
            assert_eq!(client.state(), state, "{ack}");
        }
    }

    #[test]
    fn a_connection_is_over_when_both_halves_have_ended() {
        let (mut client, mut server) = opened(1000);
        client.sender.finish();
        assert_eq!(
            pass(1, &mut client, Some(&mut server)),
            Some((TcpControl::Fin, 0))
        );
        assert!(server.receiver.is_done() && !server.is_over());
        server.sender.finish();
        assert_eq!(
            pass(2, &mut server, Some(&mut client)),
            Some((TcpControl::Fin, 0))
        );
        assert!(client.is_over() && !server.is_over());
        pass(3, &mut client, Some(&mut server));
        assert!(server.is_over());
    }

    #[test]
    fn an_aborted_connection_resets_its_peer_if_it_was_open() {
        let (mut client, mut server) = opened(1000);
        client.abort();
        assert!(client.is_over());
        assert_eq!(
            pass(1, &mut client, Some(&mut server)),
            Some((TcpControl::Rst, 0))
        );
        assert_eq!(server.state(), State::Broken);
        assert_eq!(pass(1, &mut client, None), None, "once");
        let mut opening = Tcp::connect(5, (SERVER, 80), 100, 1000, 0);
        opening.abort();
        assert_eq!(pass(0, &mut opening, None), None);
    }

    #[test]
    fn what_got_lost_is_sent_again() {
        let (mut client, mut server) = opened(1000);
        client.sender.write([7; 10]);
        assert_eq!(pass(1, &mut client, None), Some((TcpControl::Psh, 10)));
        let again_ns = client.timer_ns().unwrap_or_else(|| panic!("no timer"));
        assert_eq!(pass(again_ns, &mut client, None), None);
        client.on_time(again_ns);
        assert_eq!(
            pass(again_ns, &mut client, Some(&mut server)),
            Some((TcpControl::Psh, 10))
        );
        assert_eq!(server.receiver.read(20), [7; 10]);
    }

    #[test]
    fn windows_are_scaled_and_holes_are_told() {
        let window = 1 << 20;
        let (mut client, mut server) = opened(window);
        client.sender.write([7; 3000]);
        pass(1, &mut client, None);
        assert_eq!(
            pass(1, &mut client, Some(&mut server)),
            Some((TcpControl::None, MSS as usize))
        );
        let (field, blocks) = server
            .transmit(1, |segment, _| (segment.window_len, segment.sack_ranges))
            .unwrap_or_else(|| panic!("no acknowledgement"));
        assert_eq!(u64::from(field), window as u64 >> 5);
        let begin = 101 + MSS as u32;
        assert_eq!(blocks, [Some((begin, begin + MSS as u32)), None, None]);
    }
}
