// SPDX-License-Identifier: GPL-2.0-or-later
//! The applications as processes of their own, as the lab runs them.

use serde_json::{Value, json};
use std::io::Write;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn guest(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_irqlab-guest"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn counters(file: &Path) -> Option<Value> {
    let output = guest(&["counters", file.to_str().unwrap()])
        .output()
        .unwrap();
    output
        .status
        .success()
        .then(|| serde_json::from_slice(&output.stdout).unwrap())
}

fn end(child: Child, signal: libc::c_int) -> Output {
    // SAFETY: kill touches no memory; the child has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    child.wait_with_output().unwrap()
}

/// A port that was free a moment ago.
fn free_port() -> String {
    UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
        .to_string()
}

#[test]
fn udp_receiver_counts_until_a_signal() {
    for (signal, wait) in [
        (libc::SIGTERM, None),
        (libc::SIGINT, None),
        (libc::SIGTERM, Some("--epoll")),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("counters");
        let port = free_port();
        let arguments = [
            "udp-receive",
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--echo",
            "--rcvbuf",
            "50000",
        ];
        let child = guest(&arguments)
            .args(wait)
            .arg("--file")
            .arg(&file)
            .spawn()
            .unwrap();
        wait_for(|| file.exists().then_some(()));
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(format!("127.0.0.1:{port}")).unwrap();
        for _ in 0..10 {
            sender.send(b"12345").unwrap();
        }
        let values = wait_for(|| counters(&file).filter(|values| values["echoed"] == 10));
        assert_eq!(
            values,
            json!({"datagrams": 10, "bytes": 50, "echoed": 10, "echo_failed": 0, "errors": 0})
        );

        let output = end(child, signal);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut last: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(last["rcvbuf"], 100_000);
        assert_eq!(last["drops"], 0);
        for name in ["rcvbuf", "drops"] {
            last.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(last, values);
        assert!(!file.exists());
    }
}

#[test]
fn udp_receiver_reports_what_it_cannot_have() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = guest(&["udp-receive", "--bind", "127.0.0.1", "--port", &port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("Address already in use")
    );
}

#[test]
fn napi_settings_that_cannot_be_made_are_named() {
    for (arguments, message) in [
        (
            vec!["napi", "lo", "--set", "id=1"],
            "the settings are defer-hard-irqs",
        ),
        (vec!["napi", "no-such"], "/sys/class/net/no-such/ifindex"),
        // A kernel before 6.13 has no such settings at all.
        (vec!["napi", "lo"], "no"),
    ] {
        let output = guest(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
}

#[test]
fn soaker_runs_idle_and_its_progress_can_be_seen() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("soak");
    let child = guest(&["soak", "--file", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    let progress = || {
        counters(&file)
            .map(|all| all["kilo_instructions"].as_u64().unwrap())
            .filter(|&count| count > 0)
    };
    let before = wait_for(progress);
    // SAFETY: touches no memory.
    assert_eq!(
        unsafe { libc::sched_getscheduler(child.id() as i32) },
        libc::SCHED_IDLE
    );
    wait_for(|| progress().filter(|&count| count > before));
    end(child, libc::SIGKILL);
}

#[test]
fn bad_arguments_exit_with_2_and_say_why() {
    let cases: [(&[&str], &str); 7] = [
        (&[], "Usage"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["udp-receive"], "--port"),
        (&["udp-receive", "--port", "65536"], "65536"),
        (
            &["udp-receive", "--port", "1", "--prefer-busy-poll"],
            "--epoll",
        ),
        (&["soak", "--fast"], "--fast"),
        (&["napi"], "INTERFACE"),
    ];
    for (arguments, message) in cases {
        let output = guest(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
}

#[test]
fn help_lists_the_subcommands() {
    let output = guest(&["help"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for name in [
        "agent",
        "udp-receive",
        "screen",
        "soak",
        "napi",
        "counters",
        "help",
    ] {
        assert!(text.contains(&format!("\n  {name} ")), "{text}");
    }
}

#[test]
fn agent_takes_lines() {
    let mut child = guest(&["agent", "--stdio"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let commands = "{\"sleep\":{\"ns\":1}}\nnonsense\n{\"poweroff\":{}}\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(commands.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], r#"{"ok":{}}"#);
    assert!(lines[1].starts_with(r#"{"error":"bad command: "#));
}
