// SPDX-License-Identifier: GPL-2.0-or-later
//! Counters that others can read without help of the counting process: a file mapped into its memory.
//!
//! The file is one page: a line `irqlab-counters NAME NAME ...`, NUL characters up to byte 512, then for each name a
//! 64-bit little-endian number.

use crate::Ending;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use serde_json::{Map, Value};
use std::ffi::c_void;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;
const VALUES: usize = 512;
const MAGIC: &str = "irqlab-counters";

/// The counters of this process.
pub struct Counters {
    page: NonNull<c_void>,
    path: PathBuf,
    names: &'static [&'static str],
}

// SAFETY: the page stays mapped as long as the value lives, and is only accessed through atomics.
unsafe impl Sync for Counters {}

impl Counters {
    /// Creates the file with all counters at 0. It replaces an older file of that name, which processes may still have open.
    pub fn create(path: &Path, names: &'static [&'static str]) -> io::Result<Self> {
        let mut page = format!("{MAGIC} {}\n", names.join(" ")).into_bytes();
        if page.len() > VALUES || VALUES + 8 * names.len() > PAGE {
            return Err(io::Error::other("too many counters for a page"));
        }
        page.resize(PAGE, 0);
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        file.write_all(&page)?;
        Ok(Self {
            page: map(&file)?,
            path: path.into(),
            names,
        })
    }

    /// A counter by its index in the names.
    pub fn get(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.names.len());
        // SAFETY: the address lies in the page (checked by `create`), which is mapped as long as `self` lives; it is a
        // multiple of 8; and all accesses are atomic.
        unsafe { AtomicU64::from_ptr(self.page.as_ptr().byte_add(VALUES + 8 * index).cast()) }
    }

    /// Adds to a counter. There is a single writer, so no locked instruction is needed.
    pub fn add(&self, index: usize, amount: u64) {
        let counter = self.get(index);
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(amount),
            Ordering::Relaxed,
        );
    }

    /// All counters by name.
    pub fn values(&self) -> Map<String, Value> {
        let value = |(index, name): (usize, &&str)| {
            (
                name.to_string(),
                self.get(index).load(Ordering::Relaxed).into(),
            )
        };
        self.names.iter().enumerate().map(value).collect()
    }

    /// Removes the file.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: mapped by `create`, and no reference to it remains.
        let _ = unsafe { munmap(self.page, PAGE) };
    }
}

fn map(file: &File) -> io::Result<NonNull<c_void>> {
    let length = const { NonZeroUsize::new(PAGE).unwrap() };
    // SAFETY: a new mapping at an address chosen by the kernel, of a file of the same length.
    let page = unsafe {
        mmap(
            None,
            length,
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
            MapFlags::MAP_SHARED,
            file,
            0,
        )
    };
    Ok(page?)
}

/// The names in a counter file, in order.
fn names(bytes: &[u8]) -> Option<Vec<&str>> {
    let head = std::str::from_utf8(bytes.get(..VALUES)?).ok()?;
    let names = head.split_once('\n')?.0.strip_prefix(MAGIC)?;
    Some(names.split_whitespace().collect())
}

/// The counters in a counter file.
pub fn read(path: &Path) -> Result<Map<String, Value>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parse = || -> Option<Map<String, Value>> {
        let names = names(&bytes)?;
        let values = bytes[VALUES..]
            .chunks_exact(8)
            .map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        names
            .into_iter()
            .zip(values)
            .map(|(name, value)| Some((name.to_string(), value?.into())))
            .collect()
    };
    parse().ok_or_else(|| format!("{}: not a file of counters", path.display()))
}

/// `irqlab-guest counters FILE`
pub fn print(path: &Path) -> Ending {
    print_line(&read(path)?)
}

/// `irqlab-guest counters --where FILE`: the physical address of each counter. A page of a tmpfs file keeps its address as
/// long as the file exists, unless memory runs short and is compacted.
pub fn print_places(path: &Path) -> Ending {
    let complain = |error: io::Error| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(complain)?;
    let names =
        names(&bytes).ok_or_else(|| format!("{}: not a file of counters", path.display()))?;
    let page = physical_page(path).map_err(complain)?;
    let place = |(index, name): (usize, &&str)| {
        let address = page + (VALUES + 8 * index) as u64;
        (name.to_string(), Value::from(address))
    };
    print_line(&names.iter().enumerate().map(place).collect())
}

/// The physical address of a file's first page (Documentation/admin-guide/mm/pagemap.rst).
fn physical_page(path: &Path) -> io::Result<u64> {
    const PRESENT: u64 = 1 << 63;
    const FRAME: u64 = (1 << 55) - 1;
    let page = map(&OpenOptions::new().read(true).write(true).open(path)?)?;
    // SAFETY: `page` is mapped; the read makes it present.
    unsafe { page.cast::<u8>().as_ptr().read_volatile() };
    let mut entry = [0; 8];
    let read = File::open("/proc/self/pagemap").and_then(|file| {
        file.read_exact_at(&mut entry, page.addr().get() as u64 / PAGE as u64 * 8)
    });
    // SAFETY: mapped above, and no longer used.
    let _ = unsafe { munmap(page, PAGE) };
    read?;
    let entry = u64::from_le_bytes(entry);
    if entry & PRESENT == 0 || entry & FRAME == 0 {
        return Err(io::Error::other(
            "the kernel does not tell where it is: not root?",
        ));
    }
    Ok((entry & FRAME) * PAGE as u64)
}

/// Prints one JSON line.
pub fn print_line(values: &Map<String, Value>) -> Ending {
    let line = serde_json::to_string(values).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{line}").map_err(|error| format!("standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn others_see_what_was_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters");
        let counters = Counters::create(&path, &["zebras", "ants"]).unwrap();
        counters.add(0, 3);
        counters.add(1, u64::MAX);
        counters.add(0, 4);
        let expected = json!({"zebras": 7, "ants": u64::MAX});
        assert_eq!(Value::from(read(&path).unwrap()), expected);
        assert_eq!(Value::from(counters.values()), expected);
        counters.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_new_process_begins_at_0() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters");
        let old = Counters::create(&path, &["n"]).unwrap();
        old.add(0, 1);
        let _new = Counters::create(&path, &["n"]).unwrap();
        old.add(0, 1);
        assert_eq!(Value::from(read(&path).unwrap()), json!({"n": 0}));
    }

    #[test]
    fn other_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other");
        for content in [vec![], b"irqlab-counters n\n".to_vec(), vec![b'x'; PAGE]] {
            fs::write(&path, content).unwrap();
            assert!(read(&path).unwrap_err().contains("not a file of counters"));
        }
        assert!(read(Path::new("/nonesuch")).is_err());
    }
}
