// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and writes files, mainly in /proc and /sys.

use crate::commands::Write;
use base64::Engine;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The largest file that is read.
pub const MAX_FILE: usize = 8 << 20;

/// Content by path; none for unreadable files.
///
/// A `*` may replace one component of a path and matches every name in that directory that does not begin with a dot. Of the
/// matches, only regular files are read, so that no device is opened.
pub fn read(paths: &[String]) -> Result<BTreeMap<String, Option<String>>, String> {
    let mut files = BTreeMap::new();
    for path in paths {
        let Some((directory, rest)) = pattern(path) else {
            files.insert(path.clone(), content(path)?);
            continue;
        };
        let Ok(names) = names(directory.as_ref()) else {
            files.insert(path.clone(), None);
            continue;
        };
        for path in names.iter().map(|name| format!("{directory}{name}{rest}")) {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => {
                    let content = content(&path)?;
                    files.insert(path, content);
                }
                // `/a/*/b` does not match entries of /a without b.
                Err(_) if !rest.is_empty() => {}
                _ => {
                    files.insert(path, None);
                }
            }
        }
    }
    Ok(files)
}

/// The parts before and after the `*` in a path, if it replaces a whole component.
fn pattern(path: &str) -> Option<(&str, &str)> {
    let (before, rest) = path.split_once("/*")?;
    let directory = &path[..before.len() + 1];
    (rest.is_empty() || rest.starts_with('/')).then_some((directory, rest))
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}

/// The current content of a file; reading stops where a device or pipe would block.
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

/// Bytes as text for JSON; invalid UTF-8 is replaced by U+FFFD.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Replaces or creates a file. All bytes are written at once, as files in /proc and /sys require.
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

/// Opens a file to replace its content. Where files cannot be created, as in /proc and /sys, a missing file is reported as
/// missing instead of forbidden.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;

    fn request(path: &Path, text: &str) -> Write {
        let path = path.to_str().unwrap().to_string();
        Write {
            path,
            text: Some(text.into()),
            base64: None,
            mode: None,
        }
    }

    fn read_all(paths: &[&str]) -> BTreeMap<String, Option<String>> {
        read(
            &paths
                .iter()
                .map(|&path| path.to_string())
                .collect::<Vec<_>>(),
        )
        .unwrap()
    }

    #[test]
    fn writes_replace_and_set_the_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        write(&request(&path, "much longer")).unwrap();
        write(&Write {
            mode: Some(0o640),
            ..request(&path, "short")
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "short");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o640
        );
    }

    #[test]
    fn a_write_needs_exactly_one_kind_of_content() {
        let path = Path::new("/nonesuch/file");
        for request in [
            Write {
                text: None,
                ..request(path, "")
            },
            Write {
                base64: Some(String::new()),
                ..request(path, "")
            },
        ] {
            assert!(write(&request).unwrap_err().contains("either"));
        }
    }

    #[test]
    fn a_missing_sysctl_is_missing_not_forbidden() {
        let error = write(&request(Path::new("/proc/sys/net/nonesuch"), "1")).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn unreadable_files_are_none() {
        let files = read_all(&["/proc/self/stat", "/proc", "/nonesuch", "/nonesuch/*"]);
        let readable: Vec<_> = files
            .iter()
            .map(|(path, content)| (path.as_str(), content.is_some()))
            .collect();
        let expected = [
            ("/nonesuch", false),
            ("/nonesuch/*", false),
            ("/proc", false),
            ("/proc/self/stat", true),
        ];
        assert_eq!(readable, expected);
    }

    #[test]
    fn globs_one_level() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().to_str().unwrap();
        fs::write(format!("{base}/a"), "A").unwrap();
        fs::write(format!("{base}/.hidden"), "").unwrap();
        fs::create_dir(format!("{base}/eth0")).unwrap();
        fs::write(format!("{base}/eth0/address"), "52:54").unwrap();
        symlink("eth0", format!("{base}/eth1")).unwrap();
        symlink("/dev/zero", format!("{base}/zero")).unwrap();

        let files = read_all(&[&format!("{base}/*")]);
        let names: BTreeSet<_> = files
            .keys()
            .map(|path| path.strip_prefix(base).unwrap())
            .collect();
        assert_eq!(names, BTreeSet::from(["/a", "/eth0", "/eth1", "/zero"]));
        let contents: Vec<_> = files.values().flatten().collect();
        assert_eq!(contents, ["A"]);

        let files = read_all(&[&format!("{base}/*/address")]);
        let expected =
            ["eth0", "eth1"].map(|name| (format!("{base}/{name}/address"), Some("52:54".into())));
        assert_eq!(files, BTreeMap::from(expected));
    }

    #[test]
    fn a_star_within_a_name_is_literal() {
        assert_eq!(
            read_all(&["/proc/st*"]),
            BTreeMap::from([("/proc/st*".to_string(), None)])
        );
    }

    #[test]
    fn pipes_do_not_block_and_endless_files_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pipe = pipe.to_str().unwrap();
        assert_eq!(read_all(&[pipe])[pipe].as_deref(), Some(""));
        assert!(
            read(&["/dev/zero".into()])
                .unwrap_err()
                .contains("longer than")
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        assert_eq!(text(b"a\xffb".to_vec()), "a\u{fffd}b");
    }
}
