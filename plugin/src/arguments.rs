// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use irqlab_tester::lan7800::usb::Speed;
use irqlab_tester::memory_model::{self, DeviceWrites, Geometry, Stall, store_buffer, tlb};
use irqlab_tester::pci::Errata;
use irqlab_tester::pci::bus::Parameters;

/// What the lab tells the plugin.
pub struct Args {
    /// The socket to the lab. None: the tester checks that it works in this QEMU, and ends it.
    pub fd: Option<RawFd>,
    /// How many NICs the device under test has.
    pub ports: usize,
    /// How long an instruction takes.
    pub ns_per_instruction: u64,
    /// Instructions can be counted.
    pub profile: bool,
    /// The machine has no instruction clock (`-icount`), and may have several processors: nothing is measured.
    pub functional: bool,
    /// How many virtual processors there are.
    pub processors: u32,
    /// They run at the same virtual time, in rounds of so many ns; None: one after the other.
    pub quantum_ns: Option<u64>,
    /// The NICs are LAN7800s of our own, at this speed.
    pub lan7800: Option<Speed>,
    /// The NICs are PCI cards of our own, on this bus.
    pub pci: Option<Parameters>,
    /// Defects of these cards.
    pub errata: Errata,
    /// The memory behind the processor; None: it never stalls.
    pub memory: Option<memory_model::Parameters>,
}

/// Reads `key=value`.
pub fn parse(args: &[String]) -> Result<Args, String> {
    let (mut fd, mut ports, mut shift, mut profile, mut lan7800) = (None, 2, 0, false, None);
    let (mut selfcheck, mut functional, mut processors, mut quantum_ns) = (false, false, 1, None);
    let (mut memory, mut pci, mut errata) = (Memory::default(), None, Errata::default());
    for arg in args {
        let (key, value) = arg.split_once('=').unwrap_or((arg, ""));
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| format!("{key}: {value:?} is not a number"))
        };
        match key {
            "fd" => fd = Some(number()? as RawFd),
            "ports" => ports = number()? as usize,
            "shift" => shift = number()?.min(10),
            "profile" => profile = number()? != 0,
            "selfcheck" => selfcheck = number()? != 0,
            "functional" => functional = number()? != 0,
            "processors" => processors = number()?,
            "quantum" if number()? > 0 => quantum_ns = Some(number()?.into()),
            "l1i" | "l1d" | "l2" | "l3" | "ram" => memory.set(key, value)?,
            "itlb" | "dtlb" | "tlb2" | "walk" | "large" | "tagged" | "stores" => {
                memory.set_more(key, value)?;
            }
            "interrupt" => memory.interrupt_ps = number()?.into(),
            "dma" if value == "invalidate" => memory.device_writes = DeviceWrites::Invalidate,
            "dma" if value == "last" => memory.device_writes = DeviceWrites::LastLevel,
            "register" => memory.register_ps = number()?.into(),
            "instruction" if number()? > 0 => memory.instruction_ps = Some(number()?.into()),
            "lan7800" if value == "high" => lan7800 = Some(Speed::High),
            "pci" => pci = Some(bus(value)?),
            "errata" => errata = errata_of(value)?,
            "lan7800" if value == "super" => lan7800 = Some(Speed::Super),
            _ => {
                return Err(format!(
                    "unknown argument {arg:?}; there are fd=N, ports=N, shift=N, profile=0|1, functional=0|1, processors=N, quantum=NS, lan7800=high|super, pci=MHZ:BITS, errata=NAME:..., \
                     selfcheck=0|1, \
                     l1i|l1d=BYTES:WAYS:LINE, l2|l3=BYTES:WAYS:LINE:PS[:PS], ram=PS[:PS], dma=invalidate|last, register=PS, instruction=PS, \
                     itlb|dtlb=ENTRIES:WAYS:LARGE:WAYS, tlb2=ENTRIES:WAYS:LARGE:WAYS:PS:PS, walk=PS:PS, large=BYTES, tagged=0|1, \
                     stores=ENTRIES:FILLS, interrupt=PS"
                ));
            }
        }
    }
    if fd.is_some() == selfcheck {
        return Err("one of fd=N (a UNIX stream socket) and selfcheck=1 is needed".into());
    }
    Ok(Args {
        fd,
        ports,
        ns_per_instruction: 1 << shift,
        profile,
        functional,
        processors,
        quantum_ns,
        lan7800,
        pci,
        errata,
        memory: memory.parameters(functional)?,
    })
}

/// A PCI bus by its clock in MHz and its width in bits.
fn bus(value: &str) -> Result<Parameters, String> {
    let parameters = match value {
        "33:32" => Some((30_000, 4)),
        "33:64" => Some((30_000, 8)),
        "66:32" => Some((15_000, 4)),
        "66:64" => Some((15_000, 8)),
        _ => None,
    };
    let Some((clock_ps, width_bytes)) = parameters else {
        return Err(format!("pci={value}: must be 33:32, 33:64, 66:32 or 66:64"));
    };
    Ok(Parameters {
        clock_ps,
        width_bytes,
        ..Parameters::PCI_33
    })
}

/// Errata by their names.
fn errata_of(value: &str) -> Result<Errata, String> {
    let unknown = |name: &str| {
        format!(
            "errata={name}: must be lost-poll, phy-off, resume-hang, lost-rnr or slow-scb, or several with : between"
        )
    };
    value
        .split(':')
        .try_fold(Errata::default(), |errata, name| {
            errata.with(name).ok_or_else(|| unknown(name))
        })
}

/// The arguments of the memory model.
#[derive(Default)]
struct Memory {
    caches: BTreeMap<String, (Geometry, Stall)>,
    ram: Option<Stall>,
    device_writes: DeviceWrites,
    register_ps: u64,
    interrupt_ps: u64,
    instruction_ps: Option<u64>,
    store_buffer: Option<store_buffer::Shape>,
    /// The TLBs' arguments, as numbers.
    tlbs: BTreeMap<String, Vec<u64>>,
}

impl Memory {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let refuse = |form: &str| format!("{key}={value}: must be {key}={form}, in numbers");
        let numbers: Result<Vec<u64>, _> = value.split(':').map(str::parse).collect();
        let cache = |bytes: u64, ways: u64, line_bytes: u64| Geometry {
            bytes,
            ways: ways as usize,
            line_bytes,
        };
        // The second time is that of data, if it differs.
        let stall = |times: &[u64]| match times {
            [fetch_ps] => Some((*fetch_ps, *fetch_ps)),
            [fetch_ps, data_ps] => Some((*fetch_ps, *data_ps)),
            _ => None,
        };
        let stall =
            |times: &[u64]| stall(times).map(|(fetch_ps, data_ps)| Stall { fetch_ps, data_ps });
        match (key, numbers.as_deref()) {
            ("ram", Ok(times)) if stall(times).is_some() => self.ram = stall(times),
            ("ram", _) => return Err(refuse("PS[:PS]")),
            ("l1i" | "l1d", Ok([bytes, ways, line])) => {
                self.caches
                    .insert(key.into(), (cache(*bytes, *ways, *line), Stall::default()));
            }
            ("l1i" | "l1d", _) => return Err(refuse("BYTES:WAYS:LINE")),
            (_, Ok([bytes, ways, line, times @ ..])) => {
                let Some(stall) = stall(times) else {
                    return Err(refuse("BYTES:WAYS:LINE:PS[:PS]"));
                };
                self.caches
                    .insert(key.into(), (cache(*bytes, *ways, *line), stall));
            }
            _ => return Err(refuse("BYTES:WAYS:LINE:PS[:PS]")),
        }
        Ok(())
    }

    /// TLBs, and the store buffer.
    fn set_more(&mut self, key: &str, value: &str) -> Result<(), String> {
        let form = match key {
            "tlb2" => "ENTRIES:WAYS:LARGE:WAYS:PS:PS",
            "itlb" | "dtlb" => "ENTRIES:WAYS:LARGE:WAYS",
            "walk" => "PS:PS",
            "stores" => "ENTRIES:FILLS",
            _ => "N",
        };
        let numbers: Option<Vec<u64>> = value.split(':').map(|word| word.parse().ok()).collect();
        let count = form.split(':').count();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == count) else {
            return Err(format!("{key}={value}: must be {key}={form}, in numbers"));
        };
        if key == "stores" {
            self.store_buffer = Some(store_buffer::Shape {
                entries: numbers[0] as usize,
                fills: numbers[1] as usize,
            });
        } else {
            self.tlbs.insert(key.into(), numbers);
        }
        Ok(())
    }

    fn tlbs(&self) -> Result<Option<tlb::Parameters>, String> {
        if self.tlbs.is_empty() {
            return Ok(None);
        }
        let shape = |numbers: &Vec<u64>| tlb::Shape {
            entries: numbers[0] as usize,
            ways: numbers[1] as usize,
            large: (numbers[2] != 0).then_some((numbers[2] as usize, numbers[3] as usize)),
        };
        let stall = |numbers: &[u64]| Stall {
            fetch_ps: numbers[0],
            data_ps: numbers[1],
        };
        let of = |name: &str| self.tlbs.get(name);
        let (Some(instructions), Some(data), Some(walk), Some(large)) =
            (of("itlb"), of("dtlb"), of("walk"), of("large"))
        else {
            return Err("TLBs need itlb, dtlb, walk and large".into());
        };
        if !large[0].is_power_of_two() {
            return Err(format!("large={}: must be a power of two", large[0]));
        }
        Ok(Some(tlb::Parameters {
            instructions: shape(instructions),
            data: shape(data),
            second: of("tlb2").map(|numbers| (shape(numbers), stall(&numbers[4..]))),
            walk: stall(walk),
            large_shift: large[0].trailing_zeros(),
            tagged: of("tagged").is_some_and(|numbers| numbers[0] != 0),
        }))
    }

    fn parameters(self, functional: bool) -> Result<Option<memory_model::Parameters>, String> {
        let nothing = self.device_writes == DeviceWrites::Unseen
            && self.register_ps == 0
            && self.interrupt_ps == 0
            && self.store_buffer.is_none()
            && self.tlbs.is_empty()
            && self.instruction_ps.is_none();
        if self.caches.is_empty() && self.ram.is_none() && nothing {
            return Ok(None);
        }
        if functional {
            return Err("a memory model needs an instruction clock: not with functional=1".into());
        }
        let cache = |name: &str| self.caches.get(name).copied();
        let (Some((instructions, _)), Some((data, _)), Some(ram)) =
            (cache("l1i"), cache("l1d"), self.ram)
        else {
            return Err("a memory model needs l1i, l1d and ram".into());
        };
        if cache("l3").is_some() && cache("l2").is_none() {
            return Err("l3 without l2".into());
        }
        Ok(Some(memory_model::Parameters {
            instructions,
            data,
            behind: [cache("l2"), cache("l3")].into_iter().flatten().collect(),
            ram,
            device_writes: self.device_writes,
            register_ps: self.register_ps,
            tlbs: self.tlbs()?,
            store_buffer: self.store_buffer,
            interrupt_ps: self.interrupt_ps,
            instruction_ps: self.instruction_ps,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selfcheck_needs_no_lab() {
        let args = parse(&["selfcheck=1".into()]);
        assert!(args.is_ok_and(|args| args.fd.is_none()));
    }

    #[test]
    fn unknown_arguments_are_refused() {
        let read = |text: &str| parse(&text.split(',').map(String::from).collect::<Vec<_>>());
        let args = read("fd=3,shift=2,lan7800=super").ok();
        let found = args.map(|args| (args.fd, args.ns_per_instruction, args.lan7800));
        assert_eq!(found, Some((Some(3), 4, Some(Speed::Super))));
        for (text, word) in [
            ("ports=2", "fd=N"),
            ("fd=3,selfcheck=1", "fd=N"),
            ("fd=x", "not a number"),
            ("fd=3,quantum=0", "quantum=NS"),
            ("fd=3,lan7800=low", "lan7800=high|super"),
            ("fd=3,pci=25:32", "33:32"),
            ("fd=3,errata=lost-poll:none", "resume-hang"),
            ("fd=3,l1i=1:2", "l1i=BYTES:WAYS:LINE"),
            ("fd=3,l2=1:2:3", "l2=BYTES:WAYS:LINE:PS[:PS]"),
            ("fd=3,l2=1:2:3:4:5:6", "l2=BYTES:WAYS:LINE:PS[:PS]"),
            ("fd=3,ram=x", "ram=PS[:PS]"),
            ("fd=3,ram=1:2:3", "ram=PS[:PS]"),
            ("fd=3,register=1", "needs l1i, l1d and ram"),
            ("fd=3,dma=all", "dma=invalidate|last"),
            ("fd=3,interrupt=5", "needs l1i, l1d and ram"),
            ("fd=3,stores=4", "stores=ENTRIES:FILLS, in numbers"),
            ("fd=3,stores=4:2", "needs l1i, l1d and ram"),
            ("fd=3,itlb=1:2:3:x", "itlb=ENTRIES:WAYS:LARGE:WAYS"),
            ("fd=3,tlb2=1:2:3:4:5", "tlb2=ENTRIES:WAYS:LARGE:WAYS:PS:PS"),
            ("fd=3,walk=1", "walk=PS:PS"),
            ("fd=3,ram=1,l1i=1:1:1,l1d=1:1:1,tagged=1", "TLBs need itlb"),
            (
                "fd=3,ram=1,l1i=1:1:1,l1d=1:1:1,itlb=1:1:0:0,dtlb=1:1:0:0,walk=0:0,large=3",
                "large=3: must be a power of two",
            ),
            ("fd=3,instruction=0", "instruction=PS"),
            ("fd=3,ram=1,l1i=1:1:1", "needs l1i, l1d and ram"),
            ("fd=3,ram=1,l1i=1:1:1,l1d=1:1:1,l3=1:1:1:1", "l3 without l2"),
            (
                "fd=3,ram=1,l1i=1:1:1,l1d=1:1:1,functional=1",
                "functional=1",
            ),
        ] {
            assert!(read(text).is_err_and(|why| why.contains(word)), "{text}");
        }
    }

    #[test]
    fn a_memory_model_has_caches_and_ram() {
        let text = "fd=3,l1i=16384:4:32,l1d=8192:2:32,l2=262144:8:64:20000:0,ram=136400,dma=last,register=700000,instruction=312,\
                    itlb=32:4:2:2,dtlb=64:4:0:0,tlb2=512:4:0:0:7:5,walk=30:20,large=2097152,tagged=1,stores=12:4,interrupt=900000";
        let args: Vec<String> = text.split(',').map(String::from).collect();
        let cache = |bytes, ways, line_bytes| Geometry {
            bytes,
            ways,
            line_bytes,
        };
        let stall = |fetch_ps, data_ps| Stall { fetch_ps, data_ps };
        let tlb = |entries, ways, large| tlb::Shape {
            entries,
            ways,
            large,
        };
        let expected = memory_model::Parameters {
            instructions: cache(16_384, 4, 32),
            data: cache(8_192, 2, 32),
            behind: vec![(cache(262_144, 8, 64), stall(20_000, 0))],
            ram: stall(136_400, 136_400),
            device_writes: DeviceWrites::LastLevel,
            register_ps: 700_000,
            tlbs: Some(tlb::Parameters {
                instructions: tlb(32, 4, Some((2, 2))),
                data: tlb(64, 4, None),
                second: Some((tlb(512, 4, None), stall(7, 5))),
                walk: stall(30, 20),
                large_shift: 21,
                tagged: true,
            }),
            store_buffer: Some(store_buffer::Shape {
                entries: 12,
                fills: 4,
            }),
            interrupt_ps: 900_000,
            instruction_ps: Some(312),
        };
        assert_eq!(
            parse(&args).ok().and_then(|args| args.memory),
            Some(expected)
        );
    }
}
