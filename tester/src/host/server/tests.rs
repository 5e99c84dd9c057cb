// SPDX-License-Identifier: GPL-2.0-or-later
//! The server with clients that say what no client of ours does.
use super::*;
use crate::mac::Mac;

const MS: u64 = 1_000_000;
const PORT: u16 = 5201;
const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// A server, and a network with clients; frames take no time.
struct Bench {
    clients: Net,
    net: Net,
    server: Server,
    ports: u16,
}

impl Bench {
    fn new(bounded: bool) -> Self {
        let mut clients = Net::new(Mac([2; 6]), CLIENT, true);
        let mut net = Net::new(Mac([4; 6]), SERVER, bounded);
        clients.introduce(SERVER, Mac([4; 6]));
        net.introduce(CLIENT, Mac([2; 6]));
        let plan = ServerPlan {
            port: PORT,
            window_bytes: 1 << 16,
            bucket_ns: 0,
        };
        let server = Server::new(&plan, &mut net, 0);
        Bench {
            clients,
            net,
            server,
            ports: 40_000,
        }
    }

    /// Until there is nothing more to say.
    fn settle(&mut self, now_ns: u64) {
        for _ in 0..100 {
            while let Some(frame) = self.clients.transmit(now_ns) {
                self.net.receive(now_ns, &frame);
            }
            self.server.step(now_ns, &mut self.net);
            while let Some(frame) = self.net.transmit(now_ns) {
                self.clients.receive(now_ns, &frame);
            }
        }
    }

    /// A connection that says this at once.
    fn connect(&mut self, now_ns: u64, said: &[u8]) -> Control {
        self.ports += 1;
        let handle = self
            .clients
            .connect(self.ports, (SERVER, PORT), 1 << 16, now_ns);
        self.clients.tcp(handle).sender.write(said.to_vec());
        self.settle(now_ns);
        Control::new(handle)
    }

    fn hears(&mut self, control: &mut Control) -> Option<i8> {
        control.fill(&mut self.clients);
        control.state()
    }

    fn asks(&mut self, now_ns: u64, control: &Control, parameters: &Value) {
        control.tell(&mut self.clients, parameters);
        self.settle(now_ns);
    }

    fn test(&self, place: usize) -> Value {
        self.server.report(10_000 * MS, &self.net)["tests"][place].clone()
    }
}

fn cookie(letter: u8) -> [u8; COOKIE_BYTES] {
    [letter; COOKIE_BYTES]
}

#[test]
fn streams_have_the_tests_cookie_and_come_when_they_are_wanted() {
    let mut bench = Bench::new(true);
    let mut control = bench.connect(0, &cookie(b'a'));
    assert_eq!(bench.hears(&mut control), Some(state::PARAM_EXCHANGE));
    let mut early = bench.connect(0, &cookie(b'a'));
    assert_eq!(bench.hears(&mut early), Some(state::ACCESS_DENIED));
    bench.asks(MS, &control, &json!({"tcp": true, "parallel": 1}));
    assert_eq!(bench.hears(&mut control), Some(state::CREATE_STREAMS));
    let mut strange = bench.connect(MS, &cookie(b'b'));
    assert_eq!(bench.hears(&mut strange), Some(state::ACCESS_DENIED));
    assert_eq!(bench.hears(&mut control), None);
    let mut slow = bench.connect(MS, &cookie(b'a')[1..]);
    assert_eq!(bench.hears(&mut slow), None, "its cookie is not whole");
    bench.clients.tcp(slow.handle).sender.write([b'a']);
    bench.settle(2 * MS);
    assert_eq!(bench.hears(&mut control), Some(state::TEST_START));
    assert_eq!(bench.hears(&mut control), Some(state::TEST_RUNNING));
    let mut late = bench.connect(3 * MS, &cookie(b'a'));
    assert_eq!(bench.hears(&mut late), Some(state::ACCESS_DENIED));
    assert_eq!(bench.test(0)["streams"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_is_not_spoken_is_refused() {
    let most = MAX_DATAGRAM_BYTES;
    for (bounded, parameters, well) in [
        (true, json!({}), true),
        (true, json!({"sctp": true}), false),
        (true, json!({"bidirectional": true}), false),
        (true, json!({"parallel": 0}), false),
        (true, json!({"parallel": MAX_STREAMS}), true),
        (true, json!({"parallel": MAX_STREAMS + 1}), false),
        (true, json!({"udp": true, "len": 16}), true),
        (true, json!({"udp": true, "len": 15}), false),
        (true, json!({"udp": true, "len": most}), true),
        (true, json!({"udp": true, "len": most + 1}), false),
        (true, json!({"len": most + 1}), true),
        (true, json!({"TOS": 0xb8}), true),
        (true, json!({"TOS": 0xb9}), false),
        (true, json!({"udp": true, "reverse": true}), true),
        (false, json!({"udp": true, "reverse": true}), false),
        (
            false,
            json!({"udp": true, "reverse": true, "bandwidth": 1}),
            true,
        ),
        (false, json!({"udp": true}), true),
        (false, json!({"reverse": true}), true),
    ] {
        let mut bench = Bench::new(bounded);
        let mut control = bench.connect(0, &cookie(b'a'));
        bench.asks(0, &control, &parameters);
        assert_eq!(bench.hears(&mut control), Some(state::PARAM_EXCHANGE));
        let (answer, error) = match well {
            true => (state::CREATE_STREAMS, true),
            false => (state::SERVER_ERROR, false),
        };
        assert_eq!(
            bench.hears(&mut control),
            Some(answer),
            "{bounded} {parameters}"
        );
        assert_eq!(bench.test(0)["error"].is_null(), error);
    }
}

#[test]
fn a_test_is_marked_in_both_directions() {
    for reverse in [false, true] {
        let mut bench = Bench::new(true);
        let control = bench.connect(0, &cookie(b'a'));
        bench.asks(0, &control, &json!({"TOS": 46 << 2, "reverse": reverse}));
        let stream = bench.connect(0, &cookie(b'a'));
        let client = bench.clients.tcp(stream.handle);
        let opening = client.heard.clone();
        assert_eq!(opening.keys().next(), Some(&0), "iperf3 marks open sockets");
        client.dscp = 46;
        client.sender.write(vec![0; 5_000]);
        bench.settle(MS);
        let heard = &bench.clients.look(stream.handle).heard;
        assert_eq!(heard[&0], opening[&0]);
        assert!(heard[&46] > 0, "what the server sends");
        let report = bench.test(0)["streams"][0]["received_by_dscp"].clone();
        assert!(
            report["46"].as_u64() >= Some(4),
            "what it receives: {report}"
        );
        assert!(report["0"].as_u64() >= Some(2), "SYN and cookie: {report}");
        assert!(
            !bench.clients.look(control.handle).heard.contains_key(&46),
            "the control connection is not marked"
        );
    }
}

#[test]
fn datagrams_of_a_marked_test_are_marked_and_those_received_are_counted() {
    let mut bench = Bench::new(true);
    let control = bench.connect(0, &cookie(b'a'));
    let parameters =
        json!({"udp": true, "reverse": true, "bandwidth": 8_000_000, "len": 1_000, "TOS": 8 << 2});
    bench.asks(0, &control, &parameters);
    let hello = bench.clients.datagram(7, (SERVER, PORT), 8, &[0; 4]);
    let Some(message) = hello.and_then(|frame| bench.net.receive(0, &frame)) else {
        panic!("no datagram")
    };
    assert!(bench.server.take(0, 0, &message, &mut bench.net));
    let answer = bench.net.transmit(0);
    bench.settle(0);
    let sent = bench.server.transmit(MS, &mut bench.net);
    for frame in [answer, sent] {
        match frame.and_then(|frame| bench.clients.receive(MS, &frame)) {
            Some(Message::Datagram { dscp, .. }) => assert_eq!(dscp, 8),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_first_seconds_are_omitted() {
    // What has come when they end is omitted, too.
    let mut bench = Bench::new(true);
    let control = bench.connect(0, &cookie(b'a'));
    bench.asks(0, &control, &json!({"omit": 2}));
    let stream = bench.connect(0, &cookie(b'a'));
    assert_eq!(bench.server.next_ns(), Some(2_000 * MS));
    for (at_ns, bytes) in [(1_000 * MS, 1_000), (2_000 * MS, 200), (3_000 * MS, 30)] {
        bench
            .clients
            .tcp(stream.handle)
            .sender
            .write(vec![0; bytes]);
        bench.settle(at_ns);
    }
    assert_eq!(bench.server.next_ns(), None);
    let report = bench.server.report(4_000 * MS, &bench.net);
    let counted = &report["tests"][0]["streams"][0];
    assert_eq!(
        (&counted["seconds"], &counted["bytes"]),
        (&json!(2.0), &json!(30))
    );
}

#[test]
fn a_client_that_says_the_wrong_thing_or_leaves_ends_its_test() {
    for (said, why) in [
        (Some(state::TEST_START), "the client said 1"),
        (None, "the client went away"),
    ] {
        let mut bench = Bench::new(true);
        let control = bench.connect(0, &cookie(b'a'));
        bench.asks(0, &control, &json!({}));
        bench.connect(0, &cookie(b'a'));
        match said {
            Some(state) => control.say(&mut bench.clients, state),
            None => control.close(&mut bench.clients),
        }
        bench.settle(MS);
        assert_eq!(bench.test(0)["error"], why);
        assert_eq!(bench.test(0)["done"], false);
        // And the next one is welcome.
        let mut next = bench.connect(2 * MS, &cookie(b'b'));
        assert_eq!(bench.hears(&mut next), Some(state::PARAM_EXCHANGE));
    }
}
