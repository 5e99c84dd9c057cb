// SPDX-License-Identifier: GPL-2.0-or-later
//! Link 1: what the tester says to what.

use irqlab_tester::tester::{Answer, Tester};
use serde_json::{Value, json};

use crate::laboratory::{Laboratory, stream, trial, with};

/// Asserts that the line is an error whose text has all of these.
pub fn refuses(lab: &mut Laboratory, line: &str, words: &[&str]) {
    let error = lab.error(line);
    for word in words {
        assert!(error.contains(word), "`{error}` lacks `{word}`");
    }
}

#[test]
fn plugs_and_ill_will_need_a_nic_of_ours() {
    let mut lab = Laboratory::new();
    let plug = r#"{"op":"plug","port":0,"plugged":false}"#;
    refuses(&mut lab, plug, &["cannot be unplugged"]);
    let hostile = r#"{"op":"hostile","port":0,"seed":1,"permille":100}"#;
    refuses(&mut lab, hostile, &["no faults can be injected"]);
    for (line, word) in [
        (r#"{"op":"plug","port":2,"plugged":true}"#, "plug: port"),
        (r#"{"op":"plug","port":0}"#, "plugged"),
        (
            r#"{"op":"hostile","port":9,"seed":1,"permille":1}"#,
            "hostile: port",
        ),
        (
            r#"{"op":"hostile","port":0,"seed":1,"permille":1001}"#,
            "0 to 1000",
        ),
        (
            r#"{"op":"hostile","port":0,"permille":10,"x":1}"#,
            "unknown field",
        ),
    ] {
        refuses(&mut lab, line, &[word]);
    }
}

#[test]
fn profiles_need_a_profiler() {
    let mut lab = Laboratory::new();
    let armed = r#"{"op":"profile","addresses":{"functions":[]}}"#;
    refuses(&mut lab, armed, &["no profiler"]);
    refuses(&mut lab, r#"{"op":"profile_result"}"#, &["no profiler"]);
    for line in [
        r#"{"op":"profile"}"#,
        r#"{"op":"profile","addresses":{}}"#,
        r#"{"op":"profile","addresses":{"functions":[-1]}}"#,
        r#"{"op":"profile","addresses":{"functions":[],"nmi":[]}}"#,
        r#"{"op":"profile_result","id":1}"#,
    ] {
        refuses(&mut lab, line, &["profile"]);
    }
}

#[test]
fn what_is_no_command() {
    let mut lab = Laboratory::new();
    for line in [
        "",
        " ",
        "x",
        "{",
        "[]",
        "null",
        "17",
        "\"clock\"",
        "{}",
        r#"{"op":7}"#,
        r#"{"op":null}"#,
        "{\"op\":\"\u{0}\"",
        "\u{feff}{}",
    ] {
        refuses(&mut lab, line, &["not a command"]);
    }
    refuses(&mut lab, r#"{"do":"clock"}"#, &["missing field `op`"]);
    refuses(
        &mut lab,
        r#"{"op":"dance"}"#,
        &["unknown op `dance`", "`clock`, `ports`", "`quit`"],
    );
    refuses(
        &mut lab,
        r#"{"op":"clock","op":"clock"}"#,
        &["duplicate field"],
    );
    refuses(&mut lab, &"[".repeat(100_000), &["not a command"]);
    refuses(
        &mut lab,
        &format!(r#"{{"op":"clock","x":{}}}"#, "[".repeat(100_000)),
        &["not a command"],
    );
    for op in ["clock", "unwire", "result", "quit"] {
        refuses(
            &mut lab,
            &json!({"op": op, "now": 1}).to_string(),
            &[op, "unknown field `now`"],
        );
    }
    // An escape in the name is still the name.
    assert!(
        matches!(lab.say(r#"{"op":"c\u006cock"}"#), Answer::Reply(reply) if reply.contains("now_ns"))
    );
}

#[test]
fn ports() {
    let mut lab = Laboratory::bare();
    let good = json!([
        {"mac": "52:54:00:00:01:00", "ip": "198.18.0.2", "prefix": 24, "wire_bps": 0},
        {"mac": "52:54:00:00:01:01", "ip": "198.19.0.2", "prefix": 24, "wire_bps": 0}]);
    let mut with_port = |fields: Value, words: &[&str]| {
        let mut ports = good.clone();
        ports[1] = with(ports[1].take(), fields);
        refuses(
            &mut lab,
            &json!({"op": "ports", "ports": ports}).to_string(),
            words,
        );
    };
    with_port(
        json!({"mac": "52:54:00:00:01"}),
        &["52:54:00:00:01", "not an Ethernet address"],
    );
    with_port(
        json!({"mac": "53:54:00:00:01:01"}),
        &["ports[1]", "station"],
    );
    with_port(
        json!({"mac": "00:00:00:00:00:00"}),
        &["ports[1]", "station"],
    );
    with_port(
        json!({"mac": "52:54:00:00:01:00"}),
        &["ports[1]", "ports[0]"],
    );
    with_port(json!({"ip": "198.18.0.2"}), &["ports[1]", "ports[0]"]);
    with_port(json!({"ip": "198.18.0"}), &["invalid IPv4 address"]);
    with_port(json!({"ip": "224.0.0.1"}), &["ports[1]", "224.0.0.1"]);
    with_port(json!({"ip": "0.0.0.0"}), &["ports[1]", "0.0.0.0"]);
    with_port(json!({"ip": "255.255.255.255"}), &["ports[1]"]);
    with_port(
        json!({"prefix": 33}),
        &["ports[1]", "prefix is 33", "0 to 32"],
    );
    with_port(json!({"prefix": 256}), &["256"]);
    with_port(json!({"wire_bps": -1}), &["-1"]);
    with_port(json!({"speed": 1}), &["unknown field `speed`", "wire_bps"]);
    refuses(&mut lab, r#"{"op":"ports"}"#, &["missing field `ports`"]);
    refuses(
        &mut lab,
        r#"{"op":"ports","ports":[]}"#,
        &["0 ports", "this tester has 2"],
    );
    refuses(
        &mut lab,
        r#"{"op":"ports","ports":[{"mac":"52:54:00:00:01:00"}]}"#,
        &["missing field `ip`"],
    );
    assert_eq!(lab.ok(json!({"op": "ports", "ports": good})), json!({}));
    assert_eq!(lab.ok(json!({"op": "ports", "ports": good})), json!({}));
}

#[test]
fn wires() {
    let mut lab = Laboratory::new();
    let wire = json!({"op": "wire", "a": 0, "b": 1, "delay_ns": 0, "loss_ppm": 0, "seed": 1});
    let mut wrong = |fields: Value, words: &[&str]| {
        refuses(&mut lab, &with(wire.clone(), fields).to_string(), words);
    };
    wrong(json!({"a": 2}), &["a is 2", "ports 0 to 1"]);
    wrong(json!({"b": 17}), &["b is 17", "ports 0 to 1"]);
    wrong(json!({"b": 0}), &["a and b are both 0"]);
    wrong(json!({"loss_ppm": 1_000_001}), &["1000001", "0 to 1000000"]);
    wrong(json!({"delay_ns": u64::MAX}), &["delay_ns", "at most"]);
    wrong(json!({"delay_ns": -1}), &["-1"]);
    wrong(json!({"loss": 1}), &["unknown field `loss`"]);
    lab.ok(wire.clone());
    refuses(
        &mut lab,
        &wire.to_string(),
        &["port 0 has a wire already", "unwire"],
    );
    let start = json!({"op": "start", "trial": trial(&[stream(1.0)])}).to_string();
    refuses(&mut lab, &start, &["streams[0]", "from is 0", "unwire"]);
    lab.ok(json!({"op": "unwire"}));
    lab.ok(json!({"op": "unwire"}));
    lab.ok(wire);
}

#[test]
fn one_trial_at_a_time() {
    let mut lab = Laboratory::new();
    refuses(&mut lab, r#"{"op":"result"}"#, &["there has been no trial"]);
    let start = json!({"op": "start", "trial": trial(&[stream(10_000.0)])}).to_string();
    assert_eq!(
        lab.say(&start),
        Answer::Reply(r#"{"ok":{"end_ns":15001000,"origin_ns":1000}}"#.into())
    );
    let ports = r#"{"op":"ports","ports":[]}"#;
    let wire = r#"{"op":"wire","a":0,"b":1,"delay_ns":0,"loss_ppm":0,"seed":1}"#;
    for until_ns in [0, 1_000, 5_000_000, 15_000_999] {
        lab.router.run(&mut lab.tester, until_ns);
        for line in [
            &start,
            r#"{"op":"result"}"#,
            ports,
            wire,
            r#"{"op":"unwire"}"#,
        ] {
            refuses(
                &mut lab,
                line,
                &[
                    "trial 7 runs until 15001000 ns",
                    &format!("it is {until_ns} ns"),
                ],
            );
        }
    }
    // At the end itself it has ended, whether or not the timer has been there.
    lab.router.sleep_until(15_001_000);
    let result = lab.ok(json!({"op": "result"}));
    assert_eq!(result["streams"][0]["received"], 100);
    assert_eq!(
        lab.ok(json!({"op": "result"})),
        result,
        "it can be read again"
    );
    assert_eq!(lab.tester.deadline_ns(), None);
    refuses(
        &mut lab,
        &start.replace(r#""ttl""#, "x").replace("64", "63"),
        &["63"],
    );
    assert_eq!(
        lab.ok(json!({"op": "result"})),
        result,
        "a refused trial changes nothing"
    );
}

#[test]
fn a_source_address_comes_from_somewhere() {
    let mut lab = Laboratory::bare();
    refuses(
        &mut lab,
        &json!({"op": "start", "trial": trial(&[stream(1_000.0)])}).to_string(),
        &["streams[0]", "no src_mac", "ports first"],
    );
    let result = lab.run(&trial(&[with(
        stream(1_000.0),
        json!({"src_mac": "02:00:00:00:00:09"}),
    )]));
    result.nothing_but(&[]);
    assert_eq!(lab.router.deliveries[0].frame[6..12], [2, 0, 0, 0, 0, 9]);
    let mut lab = Laboratory::new();
    lab.run(&trial(&[stream(1_000.0)]));
    assert_eq!(
        lab.router.deliveries[0].frame[6..12],
        [0x52, 0x54, 0, 0, 1, 0]
    );
}

#[test]
fn what_may_be_left_out() {
    let mut lab = Laboratory::new();
    lab.run(&trial(&[stream(1_000.0)]));
    let frame = &lab.router.deliveries[0].frame;
    assert_eq!((frame[22], &frame[34..38]), (64, &[0xc0, 0x20, 0, 9][..]));
    let all = json!({"src_mac": null, "ttl": 3, "src_port": 1, "dst_port": 2, "begin_ns": 0, "end_ns": null,
        "count": null, "phase_ns": 0});
    let mut lab = Laboratory::new();
    lab.run(&trial(&[with(stream(1_000.0), all)]));
    let frame = &lab.router.deliveries[0].frame;
    assert_eq!((frame[22], &frame[34..38]), (3, &[0, 1, 0, 2][..]));
}

#[test]
fn what_is_not_the_testers_is_passed_on_unread() {
    let mut lab = Laboratory::new();
    let inner = r#"{ "exec" : {"argv":["a","\u00e4"], "n":1.0e5,"z":1,"a":2 , "a":3} }"#;
    let line = format!(r#"{{"do":{inner},"limit_ns":1000,"op":"guest"}}"#);
    assert_eq!(
        lab.say(&line),
        Answer::Guest {
            command: inner.into(),
            limit_ns: 1_000
        }
    );
    refuses(
        &mut lab,
        r#"{"op":"guest","do":7,"limit_ns":1}"#,
        &["`do` must be an object"],
    );
    refuses(
        &mut lab,
        r#"{"op":"guest","do":{},"limit_ns":-1}"#,
        &["guest", "-1"],
    );
    refuses(
        &mut lab,
        r#"{"op":"guest","do":{}}"#,
        &["missing field `limit_ns`"],
    );
    refuses(
        &mut lab,
        r#"{"op":"guest","limit_ns":1}"#,
        &["missing field `do`"],
    );
    refuses(
        &mut lab,
        r#"{"op":"guest","do":{},"limit_ns":1,"to":2}"#,
        &["unknown field `to`"],
    );
    assert_eq!(
        lab.say(r#"{"op":"stop_at","after_ns":5}"#),
        Answer::StopAt { after_ns: 5 }
    );
    refuses(
        &mut lab,
        r#"{"op":"stop_at"}"#,
        &["missing field `after_ns`"],
    );
    refuses(&mut lab, r#"{"op":"stop_at","after_ns":1e3}"#, &["stop_at"]);
    assert_eq!(lab.say(r#"{"op":"quit"}"#), Answer::Quit);
    refuses(&mut lab, r#"{"op":"capture","path":7}"#, &["capture", "7"]);
}

#[test]
fn the_result_has_the_documented_fields_and_no_others() {
    let protocol = include_str!("../../../docs/inside/protocol.md");
    let after = &protocol[protocol.find("RESULT:").unwrap()..];
    let text = after
        .split("```")
        .nth(1)
        .unwrap()
        .strip_prefix("json")
        .unwrap();
    let documented: Value = serde_json::from_str(text).unwrap();
    let result = Laboratory::new().run(&trial(&[stream(1_000.0)])).0;
    fn same_names(documented: &Value, real: &Value) {
        let names = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(names(documented), names(real));
    }
    same_names(&documented, &result);
    same_names(&documented["streams"][0], &result["streams"][0]);
    same_names(
        &documented["streams"][0]["latency"],
        &result["streams"][0]["latency"],
    );
    same_names(
        &documented["streams"][0]["ipdv"],
        &result["streams"][0]["ipdv"],
    );
    same_names(&documented["ports"][0], &result["ports"][0]);
}

#[test]
fn the_documented_trial_is_accepted() {
    let protocol = include_str!("../../../docs/inside/protocol.md");
    let after = &protocol[protocol.find("TRIAL:").unwrap()..];
    let text = after
        .split("```")
        .nth(1)
        .unwrap()
        .strip_prefix("json")
        .unwrap();
    let result = Laboratory::new().run(&serde_json::from_str(text).unwrap());
    result.nothing_but(&[]);
    assert_eq!(result.stream(0, "received"), 10_000);
}

#[test]
fn a_tester_without_ports_is_of_little_use_but_does_not_mind() {
    let mut lab = Laboratory {
        tester: Tester::new(0, 4),
        ..Laboratory::bare()
    };
    lab.ok(json!({"op": "ports", "ports": []}));
    refuses(
        &mut lab,
        &json!({"op": "start", "trial": trial(&[stream(1.0)])}).to_string(),
        &["has no ports"],
    );
    assert_eq!(lab.run(&trial(&[])).0["ports"], json!([]));
}

/// A start command with any byte changed or cut off: an answer, never a panic.
#[test]
fn mangled_lines_are_answered() {
    let line =
        json!({"op": "start", "trial": trial(&[with(stream(1.0), json!({"end_ns": 9_000_000}))])})
            .to_string();
    for at in 0..line.len() {
        for byte in [b'0', b'9', b'-', b'"', b'}', b'x', b'e', 1] {
            let mut bytes = line.clone().into_bytes();
            bytes[at] = byte;
            let mut lab = Laboratory::new();
            assert!(matches!(
                lab.say(std::str::from_utf8(&bytes).unwrap()),
                Answer::Reply(_)
            ));
            lab.router.run(&mut lab.tester, 2_000_000);
        }
        assert!(!Laboratory::new().error(&line[..at]).is_empty());
    }
}

/// The plugin keeps the tester in a static.
#[test]
fn the_tester_may_be_moved_between_threads() {
    fn moves<T: Send>() {}
    moves::<Tester>();
}

#[test]
fn what_cannot_be_done_here_is_told_from_what_is_wrong() {
    let mut lab = Laboratory::new();
    let cues = json!({"ranges": [[1, 2]], "first_ns": 0, "every_ns": 1, "until_ns": 1, "points": [], "what": {"stream": 0}});
    let cued = with(trial(&[stream(1.0)]), json!({"cues": cues}));
    for (line, kind) in [
        (r#"{"op":"nonsense"}"#.to_string(), "refused"),
        (r#"{"op":"plug","port":7,"plugged":true}"#.into(), "refused"),
        (
            r#"{"op":"plug","port":0,"plugged":true}"#.into(),
            "unsupported",
        ),
        (r#"{"op":"profile_result"}"#.into(), "unsupported"),
        (
            json!({"op": "start", "trial": cued}).to_string(),
            "unsupported",
        ),
    ] {
        let (text, found) = lab.refusal(&line);
        assert_eq!(found, kind, "{line}: {text}");
    }
}

#[test]
fn a_trial_in_one_command_ends_with_its_result() {
    let mut lab = Laboratory::new();
    let (why, _) = lab.refusal(r#"{"op":"finish","patience_ns":5}"#);
    assert_eq!(why, "finish: there has been no trial: start one");
    let plan = trial(&[stream(1_000.0)]);
    let line = json!({"op": "trial", "trial": plan, "patience_ns": 5}).to_string();
    let finish = Answer::Finish { patience_ns: 5 };
    assert_eq!(lab.say(&line), finish);
    assert_eq!(lab.tester.trial_end_ns(), 15_001_000);
    assert_eq!(lab.say(r#"{"op":"finish","patience_ns":5}"#), finish);
    refuses(&mut lab, &line, &["runs until"]);
    lab.router.run(&mut lab.tester, 15_001_000);
    let found = lab.tester.result(&mut lab.router).unwrap();
    assert_eq!(found.streams[0].received, 10);
    let wrong =
        json!({"op": "trial", "trial": with(plan, json!({"duration_ns": 0})), "patience_ns": 5});
    refuses(&mut lab, &wrong.to_string(), &["start: duration_ns is 0"]);
}
