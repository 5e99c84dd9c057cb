// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading and writing files, those of /proc and /sys above all.

use crate::commands::Write;
use base64::Engine;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The largest file that is read.
pub const MAX_FILE: usize = 8 << 20;

/// Content by path; none for what cannot be read. A path that ends in `/*` stands for all (not hidden) names in that
/// directory; of these, only regular files are read, so that looking does not open devices.
pub fn read(paths: &[String]) -> Result<BTreeMap<String, Option<String>>, String> {
    let mut files = BTreeMap::new();
    for path in paths {
        match path.strip_suffix('*') {
            Some(directory) if directory.ends_with('/') => {
                let Ok(names) = names(directory.as_ref()) else {
                    files.insert(path.clone(), None);
                    continue;
                };
                for path in names.into_iter().map(|name| format!("{directory}{name}")) {
                    let regular = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
                    let content = if regular { content(&path)? } else { None };
                    files.insert(path, content);
                }
            }
            _ => {
                files.insert(path.clone(), content(path)?);
            }
        }
    }
    Ok(files)
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}

/// What is in a file now: a device or pipe that would make the reader wait is at its end there.
fn content(path: &str) -> Result<Option<String>, String> {
    let Ok(file) = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
    else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    match file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::WouldBlock || bytes.is_empty() => Ok(None),
        _ if bytes.len() > MAX_FILE => Err(format!("read {path}: longer than {MAX_FILE} bytes")),
        _ => Ok(Some(text(bytes))),
    }
}

/// Bytes as the text that JSON wants; what is not UTF-8 becomes U+FFFD.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Replaces or makes a file. All bytes go in one write, as files in /proc and /sys want it.
pub fn write(request: &Write) -> Result<(), String> {
    let path = &request.path;
    let decoded;
    let bytes = match (&request.text, &request.base64) {
        (Some(text), None) => text.as_bytes(),
        (None, Some(base64)) => {
            decoded = decode(base64).map_err(|error| format!("write {path}: {error}"))?;
            &decoded
        }
        _ => return Err(format!("write {path}: needs either \"text\" or \"base64\"")),
    };
    let write = || -> io::Result<()> {
        let mut file = open(path.as_ref())?;
        if let Some(mode) = request.mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)
    };
    write().map_err(|error| format!("write {path}: {error}"))
}

/// Opens a file to replace what is in it. Where files cannot be made, as in /proc and /sys, a missing one is reported as
/// missing rather than as forbidden.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    match options.open(path) {
        Err(missing) if missing.kind() == ErrorKind::NotFound => {
            let made = options.create(true).open(path);
            made.map_err(|error| {
                if error.kind() == ErrorKind::PermissionDenied {
                    missing
                } else {
                    error
                }
            })
        }
        result => result,
    }
}

/// Base64 as in RFC 4648, padded.
pub fn decode(base64: &str) -> Result<Vec<u8>, String> {
    base64::engine::general_purpose::STANDARD
        .decode(base64)
        .map_err(|error| format!("bad base64: {error}"))
}
