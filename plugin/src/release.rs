// SPDX-License-Identifier: GPL-2.0-or-later
//! Which releases of QEMU the tester runs in.
//!
//! The tester calls internal functions of QEMU and relies on how -icount schedules. Both may change with any release, and a
//! changed clock would give wrong results without an error. So only releases that passed irqlab's tests are accepted.

use super::api::Api;

/// Major and minor numbers of the releases that passed irqlab's tests.
const TESTED: [(i64, i64); 3] = [(7, 2), (10, 0), (11, 1)];
/// Set to 1, it lets the tester run in other releases, too.
const OVERRIDE: &str = "IRQLAB_QEMU_UNTESTED";

/// QEMU's version: major, minor, micro.
pub type Version = [i64; 3];

/// The version of the QEMU that is running.
pub fn version(api: &Api) -> Version {
    // SAFETY: the function ignores its Error** argument, and returns a structure that nobody frees.
    unsafe { *(*(api.qmp_query_version)(std::ptr::null_mut())).triple }
}

/// Refuses a release that was not tested, unless the user wants it.
pub fn check(version: Version) -> Result<(), String> {
    verdict(version, std::env::var(OVERRIDE).as_deref() == Ok("1"))
}

fn verdict([major, minor, micro]: Version, wanted: bool) -> Result<(), String> {
    if wanted || TESTED.contains(&(major, minor)) {
        return Ok(());
    }
    let tested: Vec<String> = TESTED
        .iter()
        .map(|(major, minor)| format!("{major}.{minor}"))
        .collect();
    Err(format!(
        "QEMU {major}.{minor}.{micro} has not been tested with irqlab, whose results depend on QEMU's internals; \
         tested releases: {}. Name a QEMU of a tested release in IRQLAB_QEMU, or set {OVERRIDE}=1 to use this one \
         at your own risk",
        tested.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tested_releases_are_accepted() {
        for version in [[7, 2, 0], [7, 2, 22], [10, 0, 13], [11, 1, 3]] {
            assert_eq!(verdict(version, false), Ok(()));
        }
    }

    #[test]
    fn other_releases_are_refused_unless_the_user_wants_them() {
        for version in [[7, 1, 0], [8, 2, 1], [9, 0, 0], [11, 0, 0], [11, 2, 0]] {
            let why = verdict(version, false).unwrap_err();
            let [major, minor, micro] = version;
            for part in [
                &format!("QEMU {major}.{minor}.{micro} "),
                "7.2, 10.0, 11.1",
                "IRQLAB_QEMU_UNTESTED=1",
            ] {
                assert!(why.contains(part), "{why}");
            }
            assert_eq!(verdict(version, true), Ok(()));
        }
    }
}
