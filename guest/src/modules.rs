// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads and unloads kernel modules. If that fails, the error includes the kernel messages about it.

use crate::commands::Insmod;
use crate::files::decode;
use crate::kmsg::Kmsg;
use nix::errno::Errno;
use nix::kmod::{DeleteModuleFlags, delete_module, init_module};
use std::ffi::CString;
use std::path::Path;

/// Loads a module; `kmsg` is the kernel's log.
pub fn load(request: &Insmod, kmsg: &Path) -> Result<(), String> {
    let name = &request.name;
    let image = decode(&request.base64).map_err(|error| format!("insmod {name}: {error}"))?;
    if !image.starts_with(b"\x7fELF") {
        return Err(format!(
            "insmod {name}: not an ELF object; a compressed module must be unpacked first"
        ));
    }
    let params = CString::new(request.params.as_str())
        .map_err(|_| format!("insmod {name}: the parameters contain a NUL character"))?;
    watched(kmsg, || init_module(&image, &params)).map_err(|(errno, log)| {
        let meaning = match errno {
            Errno::ENOEXEC => "not a module for this kernel",
            Errno::ENOENT => "it needs a symbol that nothing loaded provides",
            Errno::EEXIST => "it is loaded already",
            Errno::ENODEV => "it found no device, or none that it wants",
            Errno::EINVAL => "it, or a parameter, is invalid",
            Errno::EPERM => "not permitted",
            other => other.desc(),
        };
        format!("insmod {name}: {meaning} ({errno:?}){log}")
    })
}

/// Unloads a module that is not in use.
pub fn unload(name: &str, kmsg: &Path) -> Result<(), String> {
    // The kernel's name of a module "a-b" is "a_b".
    let known = CString::new(name.replace('-', "_"))
        .map_err(|_| "rmmod: the name contains a NUL character".to_string())?;
    watched(kmsg, || {
        delete_module(&known, DeleteModuleFlags::O_NONBLOCK)
    })
    .map_err(|(errno, log)| {
        let meaning = match errno {
            Errno::ENOENT => "it is not loaded",
            Errno::EWOULDBLOCK => "it is in use",
            Errno::EBUSY => "it cannot be unloaded, or another module is being unloaded",
            Errno::EPERM => "not permitted",
            other => other.desc(),
        };
        format!("rmmod {name}: {meaning} ({errno:?}){log}")
    })
}

/// Runs `action`; an error includes the kernel messages logged meanwhile.
fn watched(kmsg: &Path, action: impl FnOnce() -> nix::Result<()>) -> Result<(), (Errno, String)> {
    let log = Kmsg::from_now(kmsg);
    action().map_err(|errno| {
        let records = log.and_then(|mut log| log.news()).unwrap_or_default();
        (
            errno,
            records.iter().fold(String::new(), |all, record| {
                all + "\nkernel: " + &record.text
            }),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(base64: &str, params: &str) -> String {
        let request = Insmod {
            name: "cp".into(),
            base64: base64.into(),
            params: params.into(),
        };
        super::load(&request, Path::new("/nonesuch")).unwrap_err()
    }

    #[test]
    fn what_cannot_be_a_module_is_not_given_to_the_kernel() {
        assert!(load("!", "").starts_with("insmod cp: bad base64"));
        let xz = "/Td6WFoA";
        assert!(load(xz, "").contains("compressed module must be unpacked"));
        assert!(load("f0VMRg==", "a=\0").contains("NUL"));
        assert!(
            unload("a\0b", Path::new("/nonesuch"))
                .unwrap_err()
                .contains("NUL")
        );
    }

    #[test]
    fn the_kernel_says_why() {
        // Only an ELF header. With the privilege to load modules the error is ENOEXEC, without it EPERM.
        let error = load("f0VMRg==", "");
        let known = [
            "not a module for this kernel (ENOEXEC)",
            "not permitted (EPERM)",
            "(ENOSYS)",
        ];
        assert!(known.iter().any(|text| error.contains(text)), "{error}");
    }
}
