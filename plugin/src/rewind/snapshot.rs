// SPDX-License-Identifier: GPL-2.0-or-later
//! A snapshot file, as QEMU's `migrate` writes it: where each page of RAM lies in it, and what it says of the devices.
//!
//! The format is that of migration/savevm.c and migration/ram.c, QEMU 7.2 to 10.x, without any of the capabilities that change it.
//! What is not known is an error.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Of the DUT's RAM, and of the format.
pub const PAGE_BYTES: usize = 4096;
/// A page of zeros.
pub const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

const MAGIC: u32 = 0x5145_564d;
const VERSION: u32 = 3;
const SECTION_START: u8 = 1;
const SECTION_PART: u8 = 2;
const SECTION_END: u8 = 3;
const SECTION_FULL: u8 = 4;
const CONFIGURATION: u8 = 7;
const COMMAND: u8 = 8;
const SECTION_FOOTER: u8 = 0x7e;

const FLAG_ZERO: u64 = 0x02;
const FLAG_MEM_SIZE: u64 = 0x04;
const FLAG_PAGE: u64 = 0x08;
const FLAG_END: u64 = 0x10;
const FLAG_SAME_BLOCK: u64 = 0x20;

/// The section of each processor that [`Snapshot::devices`] leaves out: loading it would throw away all translated code.
const PROCESSOR: &[u8] = b"\x0acpu_common";

/// A file in memory.
struct Mapping {
    at: *const u8,
    bytes: usize,
}

// SAFETY: it is only read.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(path: &str) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len() as usize;
        // SAFETY: a new mapping; snapshot files are never written to once they have their name.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self {
            at: at.cast(),
            bytes,
        })
    }

    fn contents(&self) -> &[u8] {
        // SAFETY: mapped until it is dropped.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no longer borrowed.
        unsafe { libc::munmap(self.at.cast_mut().cast(), self.bytes) };
    }
}

/// What is known of a file's layout.
#[derive(Debug, Default, PartialEq)]
struct Layout {
    /// Of each block of RAM, where its pages lie in the file; 0: a page of zeros, None: not there.
    blocks: HashMap<String, Vec<Option<usize>>>,
    /// The file's beginning, up to the first section.
    header: usize,
    /// The first section of a device.
    devices: usize,
    /// The processors, in their order.
    processors: Vec<Processor>,
}

/// What a processor's section says that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    section: Range<usize>,
    /// Whether it is halted.
    pub halted: u32,
    /// Its pending interrupts.
    pub interrupt_request: u32,
}

/// A snapshot file, mapped and read.
pub struct Snapshot {
    mapping: Mapping,
    layout: Layout,
}

impl Snapshot {
    /// Reads the file at `path`.
    pub fn open(path: &str) -> Result<Self, String> {
        let mapping = Mapping::new(path).map_err(|error| format!("{path}: {error}"))?;
        let layout = read(mapping.contents()).map_err(|why| format!("{path}: {why}"))?;
        Ok(Self { mapping, layout })
    }

    /// A page of a block of RAM, by the block's name and the page's number.
    pub fn page(&self, block: &str, number: usize) -> Option<&[u8]> {
        match (*self.layout.blocks.get(block)?.get(number)?)? {
            0 => Some(&ZEROS),
            at => self.mapping.contents().get(at..at + PAGE_BYTES),
        }
    }

    /// The devices' state, as a stream that QEMU loads; the sections of RAM are not in it, nor is `cpu_common`.
    pub fn devices(&self) -> Vec<u8> {
        let (file, layout) = (self.mapping.contents(), &self.layout);
        let mut stream = file[..layout.header].to_vec();
        let mut at = layout.devices;
        for processor in &layout.processors {
            stream.extend_from_slice(&file[at..processor.section.start]);
            at = processor.section.end;
        }
        stream.extend_from_slice(&file[at..]);
        stream
    }

    /// What `cpu_common` says of each processor.
    pub fn processors(&self) -> &[Processor] {
        &self.layout.processors
    }
}

struct Reader<'a> {
    file: &'a [u8],
    at: usize,
    /// The block of RAM that the last page was of.
    block: String,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(bytes);
        let taken = end.and_then(|end| self.file.get(self.at..end));
        let taken = taken.ok_or_else(|| format!("ends at {} bytes", self.file.len()))?;
        self.at += bytes;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let big_endian = |sum, byte: &u8| sum << 8 | u64::from(*byte);
        Ok(self.take(bytes)?.iter().fold(0, big_endian))
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.number(1)? as u8)
    }

    fn word(&mut self) -> Result<u32, String> {
        Ok(self.number(4)? as u32)
    }

    fn name(&mut self) -> Result<String, String> {
        let length = self.byte()?;
        let name = self.take(usize::from(length))?;
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn expect(&mut self, what: &str, wanted: u32, found: u32) -> Result<(), String> {
        if wanted == found {
            return Ok(());
        }
        Err(format!(
            "{what} is {found:#x} at {}: not {wanted:#x}",
            self.at
        ))
    }

    fn footer(&mut self, section: u32) -> Result<(), String> {
        let found = self.byte()?;
        self.expect("a footer", u32::from(SECTION_FOOTER), u32::from(found))?;
        let found = self.word()?;
        self.expect("a footer's section", section, found)
    }

    /// A section of RAM, after its header.
    fn ram(&mut self, blocks: &mut HashMap<String, Vec<Option<usize>>>) -> Result<(), String> {
        loop {
            let head = self.number(8)?;
            let (address, flags) = (head & !0xfff, head & 0xfff);
            match flags & !FLAG_SAME_BLOCK {
                FLAG_END => return Ok(()),
                FLAG_MEM_SIZE => {
                    let mut left = address;
                    while left > 0 {
                        let (name, bytes) = (self.name()?, self.number(8)?);
                        blocks.insert(name, vec![None; bytes as usize / PAGE_BYTES]);
                        left = left
                            .checked_sub(bytes)
                            .ok_or("its blocks of RAM are larger than their sum")?;
                    }
                }
                kind @ (FLAG_ZERO | FLAG_PAGE) => {
                    if flags & FLAG_SAME_BLOCK == 0 {
                        self.block = self.name()?;
                    }
                    let at = if kind == FLAG_PAGE {
                        let at = self.at;
                        self.take(PAGE_BYTES)?;
                        at
                    } else {
                        let filled = self.byte()?;
                        self.expect("a page's filling", 0, u32::from(filled))?;
                        0
                    };
                    let pages = blocks.get_mut(&self.block);
                    let page = pages.and_then(|p| p.get_mut(address as usize / PAGE_BYTES));
                    *page.ok_or_else(|| format!("a page of no block at {}", self.at))? = Some(at);
                }
                _ => return Err(format!("RAM with flags {flags:#x} at {}", self.at)),
            }
        }
    }
}

fn read(file: &[u8]) -> Result<Layout, String> {
    let mut layout = Layout::default();
    let mut reader = Reader {
        file,
        at: 0,
        block: String::new(),
    };
    let (magic, version) = (reader.word()?, reader.word()?);
    reader.expect("its magic number", MAGIC, magic)?;
    reader.expect("its version", VERSION, version)?;
    if reader.file.get(reader.at) == Some(&CONFIGURATION) {
        reader.byte()?;
        let length = reader.word()? as usize;
        reader.take(length)?;
    }
    layout.header = reader.at;
    loop {
        let at = reader.at;
        match reader.byte()? {
            SECTION_START => {
                let (section, name) = (reader.word()?, reader.name()?);
                reader.take(8)?; // instance and version
                if name != "ram" {
                    return Err(format!("has a section of {name} among those of RAM"));
                }
                reader.ram(&mut layout.blocks)?;
                reader.footer(section)?;
            }
            SECTION_PART | SECTION_END => {
                let section = reader.word()?;
                reader.ram(&mut layout.blocks)?;
                reader.footer(section)?;
            }
            COMMAND => {
                let (_, length) = (reader.number(2)?, reader.number(2)?);
                reader.take(length as usize)?;
            }
            SECTION_FULL => {
                layout.devices = at;
                layout.processors = processors(file, at)?;
                return Ok(layout);
            }
            other => return Err(format!("has a section of kind {other} at {at}")),
        }
    }
}

/// Finds each processor's section `cpu_common` behind `at`; it has no subsections unless something is wrong with the processor.
fn processors(file: &[u8], mut at: usize) -> Result<Vec<Processor>, String> {
    let mut all: Vec<Processor> = Vec::new();
    let next = |at: usize| {
        let found = file[at..]
            .windows(PROCESSOR.len())
            .position(|w| w == PROCESSOR);
        found.map(|found| at + found)
    };
    while let Some(name) = next(at) {
        let mut reader = Reader {
            file,
            at: name - 5,
            block: String::new(),
        };
        let (kind, section) = (reader.byte()?, reader.word()?);
        let wanted = u32::from(SECTION_FULL);
        reader.expect("cpu_common's kind", wanted, u32::from(kind))?;
        reader.take(PROCESSOR.len())?;
        let (number, _version) = (reader.word()?, reader.word()?);
        let (halted, interrupt_request) = (reader.word()?, reader.word()?);
        reader.footer(section)?;
        reader.expect("cpu_common's number", all.len() as u32, number)?;
        all.push(Processor {
            section: name - 5..reader.at,
            halted,
            interrupt_request,
        });
        at = reader.at;
    }
    if all.is_empty() {
        return Err("has no section cpu_common".into());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of two blocks of RAM, whose second page is sent in another section, and of two devices.
    fn file() -> Vec<u8> {
        let section = |kind: u8, number: u32, rest: &[&[u8]]| {
            let parts = [&[kind][..], &number.to_be_bytes(), &rest.concat()].concat();
            [&parts, &[SECTION_FOOTER][..], &number.to_be_bytes()].concat()
        };
        let page = |address: u64, flags: u64| (address | flags).to_be_bytes();
        let end = FLAG_END.to_be_bytes();
        [
            &MAGIC.to_be_bytes()[..],
            &VERSION.to_be_bytes(),
            b"\x07\0\0\0\x02pc",
            &section(
                SECTION_START,
                2,
                &[
                    b"\x03ram\0\0\0\0\0\0\0\x04",
                    &page(0x3000, FLAG_MEM_SIZE),
                    b"\x01a\0\0\0\0\0\0\x20\0",
                    b"\x01b\0\0\0\0\0\0\x10\0",
                    &end,
                ],
            ),
            &section(SECTION_PART, 2, &[&page(0, FLAG_ZERO), b"\x01a\0", &end]),
            &section(
                SECTION_END,
                2,
                &[
                    &page(0x1000, FLAG_PAGE | FLAG_SAME_BLOCK),
                    &[5; PAGE_BYTES],
                    &page(0, FLAG_PAGE),
                    b"\x01b",
                    &[6; PAGE_BYTES],
                    &end,
                ],
            ),
            &section(SECTION_FULL, 3, &[b"\x05timer12345678"]),
            &section(
                SECTION_FULL,
                4,
                &[PROCESSOR, b"\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x02"],
            ),
            &section(SECTION_FULL, 5, &[b"\x03cpu"]),
            &section(
                SECTION_FULL,
                6,
                &[PROCESSOR, b"\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x04"],
            ),
            b"\0rest",
        ]
        .concat()
    }

    fn snapshot(name: &str, file: &[u8]) -> Result<Snapshot, String> {
        let path = std::env::temp_dir().join(format!("irqlab-{name}-{}", std::process::id()));
        std::fs::write(&path, file).map_err(|error| error.to_string())?;
        let opened = Snapshot::open(&path.to_string_lossy());
        let _ = std::fs::remove_file(path);
        opened
    }

    #[test]
    fn pages_devices_and_processors_are_found() -> Result<(), String> {
        let found = snapshot("whole", &file())?;
        assert_eq!(found.page("a", 0), Some(&ZEROS[..]));
        assert_eq!(found.page("a", 1), Some(&[5; PAGE_BYTES][..]));
        assert_eq!(found.page("b", 0), Some(&[6; PAGE_BYTES][..]));
        assert_eq!(found.page("b", 1), None);
        assert_eq!(found.page("c", 0), None);
        let processors = found.processors().iter();
        let processors: Vec<_> = processors
            .map(|one| (one.halted, one.interrupt_request))
            .collect();
        assert_eq!(processors, [(1, 2), (0, 4)]);
        let devices = found.devices();
        assert!(devices.starts_with(b"QEVM\0\0\0\x03\x07\0\0\0\x02pc\x04\0\0\0\x03\x05timer"));
        assert!(
            devices.ends_with(b"12345678\x7e\0\0\0\x03\x04\0\0\0\x05\x03cpu\x7e\0\0\0\x05\0rest")
        );
        Ok(())
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        let whole = file();
        let with = |name: &str, from: &[u8], to: &[u8]| {
            let at = whole.windows(from.len()).position(|w| w == from);
            let mut other = whole.clone();
            other.splice(
                at.map_or(0..0, |at| at..at + from.len()),
                to.iter().copied(),
            );
            snapshot(name, &other).err().unwrap_or_default()
        };
        assert!(with("magic", b"QEVM", b"QEVN").contains("magic"));
        assert!(with("section", b"\x03ram", b"\x03rom").contains("rom"));
        assert!(with("processor", b"cpu_common", b"cpu_unique").contains("cpu_common"));
        // As long as a subsection's beginning: the footer is not where it should be.
        assert!(with("subsection", b"\0\0\0\x02\x7e", b"\0\0\0\x02\x05").contains("footer"));
        assert!(
            with(
                "filled",
                b"\x01a\0\0\0\0\0\0\0\0\x10",
                b"\x01a\x09\0\0\0\0\0\0\0\x10"
            )
            .contains("filling")
        );
        let short = snapshot("short", &whole[..whole.len() / 2]);
        assert!(short.is_err_and(|why| why.contains("ends at")));
    }
}
