// SPDX-License-Identifier: GPL-2.0-or-later
//! Settings of single NAPIs, and statistics of queues: `napi-get`, `napi-set` and `qstats-get` of the generic netlink family
//! `netdev` (Documentation/netlink/specs/netdev.yaml).

use crate::Ending;
use crate::netlink::{Attributes, Connection, Refusal, Request, number};
use serde_json::{Map, Value};

/// What is asked about NAPIs.
#[derive(clap::Args)]
pub struct Options {
    /// The interface
    interface: String,
    /// Change a setting of all its NAPIs: defer-hard-irqs, gro-flush-timeout (ns), irq-suspend-timeout (ns), or threaded
    /// (disabled, enabled, busy-poll)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// Whose queues are asked about.
#[derive(clap::Args)]
pub struct QueueOptions {
    /// The interface
    interface: String,
}

const FAMILY: &str = "netdev";
const NAPI_GET: u8 = 11;
const QSTATS_GET: u8 = 12;
const NAPI_SET: u8 = 14;
/// `scope` of `qstats-get`, and its value for one entry for each queue.
const SCOPE: u16 = 4;
const EACH_QUEUE: u64 = 1;
const IFINDEX: u16 = 1;
const ID: u16 = 2;

/// An attribute of a NAPI that is a number.
struct Attribute {
    name: &'static str,
    kind: u16,
    /// Names of its values, from 0.
    values: &'static [&'static str],
    /// The first kernel in which it can be set; empty: never.
    since: &'static str,
}

const THREADED: &str = "threaded";
const BUSY_POLL: &str = "busy-poll";
const BUSY_POLL_SINCE: &str = "6.19";

const fn fact(name: &'static str, kind: u16) -> Attribute {
    setting(name, kind, &[], "")
}

const fn setting(
    name: &'static str,
    kind: u16,
    values: &'static [&'static str],
    since: &'static str,
) -> Attribute {
    Attribute {
        name,
        kind,
        values,
        since,
    }
}

const ATTRIBUTES: &[Attribute] = &[
    fact("ifindex", IFINDEX),
    fact("id", ID),
    fact("irq", 3),
    fact("pid", 4),
    setting("defer-hard-irqs", 5, &[], "6.13"),
    setting("gro-flush-timeout", 6, &[], "6.13"),
    setting("irq-suspend-timeout", 7, &[], "6.13"),
    setting(THREADED, 8, &["disabled", "enabled", BUSY_POLL], "6.17"),
];

const STATISTICS: &[Attribute] = &[
    setting("queue-type", 2, &["rx", "tx"], ""),
    fact("queue-id", 3),
    fact("rx-packets", 8),
    fact("rx-bytes", 9),
    fact("tx-packets", 10),
    fact("tx-bytes", 11),
];

/// A setting and its new value.
struct Change {
    attribute: &'static Attribute,
    value: u64,
    text: String,
}

/// Changes the settings, and prints all attributes of the interface's NAPIs as one JSON line.
pub fn run(options: &Options) -> Ending {
    let changes = options
        .set
        .iter()
        .map(|text| change(text))
        .collect::<Result<Vec<_>, _>>()?;
    let index = index_of(&options.interface)?;

    let mut connection = Connection::open().map_err(|error| format!("netlink: {error}"))?;
    let family = connection.family(FAMILY).map_err(|why| match why.errno {
        libc::ENOENT => format!("{} has no per-NAPI settings{}", kernel(), needs(&changes)),
        _ => format!("netlink family {FAMILY}: {why}"),
    })?;
    let get = Request::dump(family, NAPI_GET).with(IFINDEX, &index.to_ne_bytes());
    let found = list(&mut connection, &get)?;
    if found.is_empty() {
        return Err(format!("{} has no NAPI in use", options.interface));
    }
    if !changes.is_empty() {
        for napi in &found {
            set(&mut connection, family, napi, &changes)?;
        }
    }
    let now = list(&mut connection, &get)?;
    let lines: Vec<Value> = (now.iter().map(|napi| shown(napi, ATTRIBUTES).into())).collect();
    println!("{}", Value::from(lines));
    Ok(())
}

/// Prints the statistics of the interface's queues as one JSON line. What a driver does not count is not there.
pub fn run_queues(options: &QueueOptions) -> Ending {
    let index = index_of(&options.interface)?;
    let mut connection = Connection::open().map_err(|error| format!("netlink: {error}"))?;
    let lacks = |errno| [libc::ENOENT, libc::EOPNOTSUPP].contains(&errno);
    let family = connection.family(FAMILY).map_err(|why| match why.errno {
        errno if lacks(errno) => format!("{}: netlink family {FAMILY} is not supported", kernel()),
        _ => format!("netlink family {FAMILY}: {why}"),
    })?;
    let get = Request::dump(family, QSTATS_GET)
        .with(IFINDEX, &index.to_ne_bytes())
        .with_uint(SCOPE, EACH_QUEUE);
    let found = connection.call(&get).map_err(|why| match why.errno {
        errno if lacks(errno) => format!("{}: qstats-get is not supported", options.interface),
        _ => format!("qstats-get: {why}"),
    })?;
    let lines: Vec<Value> = (found.iter().map(|one| shown(one, STATISTICS).into())).collect();
    println!("{}", Value::from(lines));
    Ok(())
}

fn index_of(interface: &str) -> Result<u32, String> {
    let path = format!("/sys/class/net/{interface}/ifindex");
    std::fs::read_to_string(&path)
        .map_err(|error| format!("{path}: {error}"))?
        .trim()
        .parse()
        .map_err(|error| format!("{path}: {error}"))
}

fn list(connection: &mut Connection, get: &Request) -> Result<Vec<Attributes>, String> {
    connection.call(get).map_err(|why| match why.errno {
        libc::EOPNOTSUPP => format!("{} does not list NAPIs (Linux 6.8 does)", kernel()),
        _ => format!("napi-get: {why}"),
    })
}

fn set(
    connection: &mut Connection,
    family: u16,
    napi: &Attributes,
    changes: &[Change],
) -> Result<(), String> {
    let id = napi.get(&ID).ok_or("napi-get: a NAPI without an ID")?;
    let request = changes
        .iter()
        .fold(Request::new(family, NAPI_SET).with(ID, id), |made, one| {
            made.with_uint(one.attribute.kind, one.value)
        });
    match connection.call(&request) {
        Ok(_) => Ok(()),
        Err(why) => Err(refused(changes, &why)),
    }
}

/// Why settings could not be made. A kernel that does not know a command, an attribute or a value answers with one of these
/// errors.
fn refused(changes: &[Change], why: &Refusal) -> String {
    let names: Vec<&str> = changes.iter().map(|one| one.text.as_str()).collect();
    let told = format!("napi-set {}: {why}", names.join(" "));
    let unknown = [libc::EOPNOTSUPP, libc::EINVAL, libc::ERANGE];
    if !unknown.contains(&why.errno) {
        return told;
    }
    format!("{} refuses {told}{}", kernel(), needs(changes))
}

/// The kernels that the changes came with.
fn needs(changes: &[Change]) -> String {
    let one = |change: &Change| {
        let busy = change.attribute.values.get(change.value as usize) == Some(&BUSY_POLL);
        let since = if busy {
            BUSY_POLL_SINCE
        } else {
            change.attribute.since
        };
        format!("; {} came with Linux {since}", change.text)
    };
    changes.iter().map(one).collect()
}

fn change(text: &str) -> Result<Change, String> {
    let known = || {
        let names = ATTRIBUTES.iter().filter(|one| !one.since.is_empty());
        names.map(|one| one.name).collect::<Vec<_>>().join(", ")
    };
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("--set {text}: must be NAME=VALUE"))?;
    let attribute = ATTRIBUTES
        .iter()
        .find(|one| one.name == name && !one.since.is_empty())
        .ok_or_else(|| format!("--set {text}: the settings are {}", known()))?;
    let number = if attribute.values.is_empty() {
        value.parse().ok()
    } else {
        let place = attribute.values.iter().position(|one| *one == value);
        place.map(|place| place as u64)
    };
    Ok(Change {
        attribute,
        value: number.ok_or_else(|| match attribute.values {
            [] => format!("--set {text}: must be a number"),
            values => format!("--set {text}: allowed are {}", values.join(", ")),
        })?,
        text: text.into(),
    })
}

fn shown(found: &Attributes, attributes: &[Attribute]) -> Map<String, Value> {
    attributes
        .iter()
        .filter_map(|one| {
            let value = number(found.get(&one.kind)?)?;
            let name = one.values.get(value as usize);
            let shown = name.map_or_else(|| Value::from(value), |name| Value::from(*name));
            Some((one.name.to_owned(), shown))
        })
        .collect()
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_parsed() {
        let one = change("irq-suspend-timeout=20000000").unwrap();
        assert_eq!((one.attribute.kind, one.value), (7, 20_000_000));
        let one = change("threaded=busy-poll").unwrap();
        assert_eq!((one.attribute.kind, one.value), (8, 2));
        let error = |text| change(text).err().unwrap();
        assert_eq!(error("threaded"), "--set threaded: must be NAME=VALUE");
        assert_eq!(
            error("threaded=on"),
            "--set threaded=on: allowed are disabled, enabled, busy-poll"
        );
        assert_eq!(
            error("defer-hard-irqs=-1"),
            "--set defer-hard-irqs=-1: must be a number"
        );
        assert_eq!(
            error("id=5"),
            "--set id=5: the settings are defer-hard-irqs, gro-flush-timeout, irq-suspend-timeout, threaded"
        );
    }

    #[test]
    fn a_napi_is_shown_by_the_names_of_the_specification() {
        let napi = Attributes::from([
            (ID, vec![66, 0, 0, 0]),
            (6, vec![0, 0, 0, 0, 1, 0, 0, 0]),
            (8, vec![2, 0, 0, 0]),
            (99, vec![1]),
        ]);
        let expected =
            serde_json::json!({"id": 66, "gro-flush-timeout": 1u64 << 32, "threaded": "busy-poll"});
        assert_eq!(Value::from(shown(&napi, ATTRIBUTES)), expected);
    }

    #[test]
    fn a_queue_is_shown_by_the_names_of_the_specification() {
        let queue = Attributes::from([
            (IFINDEX, vec![2, 0, 0, 0]),
            (2, vec![1, 0, 0, 0]),
            (3, vec![0, 0, 0, 0]),
            (10, vec![7, 0, 0, 0, 0, 0, 0, 0]),
        ]);
        let expected = serde_json::json!({"queue-type": "tx", "queue-id": 0, "tx-packets": 7});
        assert_eq!(Value::from(shown(&queue, STATISTICS)), expected);
    }

    #[test]
    fn a_kernel_that_lacks_a_setting_is_told_from_other_errors() {
        let changes =
            ["irq-suspend-timeout=1", "threaded=busy-poll"].map(|text| change(text).unwrap());
        let why = |errno| Refusal {
            errno,
            explanation: String::new(),
        };
        let text = refused(&changes, &why(libc::EOPNOTSUPP));
        assert!(
            text.contains("irq-suspend-timeout=1 came with Linux 6.13"),
            "{text}"
        );
        assert!(
            text.contains("threaded=busy-poll came with Linux 6.19"),
            "{text}"
        );
        let text = refused(&changes, &why(libc::EPERM));
        assert!(!text.contains("came with"), "{text}");
    }
}
