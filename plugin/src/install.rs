// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's entry point: what is done before the machine exists.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::api::{self, Api};
use super::arguments::{Args, parse};
use super::lab::Lab;
use super::pci::cards;
use super::translation::{self, Translation};
use super::usb::nic;
use super::workarounds::{cmpxchg_flags, halt_race};
use super::{
    caches, cpu_state, cues, instrument, main_loop, parallel, plugin, preemption, probes, release,
    selfcheck,
};

fn block_translated(translation: &Translation) {
    cpu_state::watch(translation);
    halt_race::watch(translation);
    cmpxchg_flags::watch(translation);
    // A block that is begun again is probed once.
    preemption::watch(translation);
    cues::watch(translation);
    probes::watch(translation);
    caches::translated(translation);
}

/// The function is known before its lines are used.
fn block_translated_and_counted(translation: &Translation) {
    instrument::translated(translation);
    block_translated(translation);
}

/// Loads the tester into the QEMU that calls [`qemu_plugin_install`].
///
/// # Safety
/// `args.fd` is a socket that nothing else in this process uses.
unsafe fn install(args: &Args, id: u64, plugin_api: c_int) -> Result<(), String> {
    let api: &Api = api::resolve()?;
    let version = release::version(api);
    release::check(version)?;
    main_loop::check(api)?;
    if let Some(speed) = args.lan7800 {
        nic::install(speed, plugin::frame_sent)?;
    }
    if let Some(parameters) = args.pci {
        cards::install(parameters, args.errata, args.functional, plugin::frame_sent)?;
    }
    let lab = match args.fd {
        // SAFETY: the caller's promise.
        Some(fd) => Some(unsafe { Lab::connect(fd) }?),
        None => None,
    };
    plugin::begin(args, lab);
    if args.fd.is_none() {
        selfcheck::begin(version, plugin_api, args.ns_per_instruction);
    }
    if args.functional {
        return Ok(()); // what follows makes instructions and time exact
    }
    cmpxchg_flags::install(version[0]);
    if let Some(quantum_ns) = args.quantum_ns {
        parallel::install(args.processors, quantum_ns, args.ns_per_instruction);
        preemption::install(args.ns_per_instruction);
    }
    if args.profile {
        instrument::install(args.processors);
    }
    if let Some(parameters) = &args.memory {
        caches::install(parameters, args.processors, args.ns_per_instruction)?;
    }
    let watch = if args.profile {
        block_translated_and_counted
    } else {
        block_translated
    };
    translation::install(id, plugin_api, args.processors, watch)
}

/// The version of the plugin API that this plugin claims, set before QEMU reads it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, missing_docs)]
pub static mut qemu_plugin_version: c_int = 1;

/// QEMU's releases from which on each version of the plugin API is claimed. QEMU 9.0 refuses plugins below 2, QEMU 11.1 those below 7.
const PLUGIN_APIS: [([i64; 2], c_int); 2] = [([9, 0], 2), ([11, 1], 7)];

unsafe extern "C" fn choose_version() {
    let Ok(api) = api::resolve() else { return }; // the installation says what is missing
    let [major, minor, _] = release::version(api);
    for (release, version) in PLUGIN_APIS {
        if [major, minor] >= release {
            // SAFETY: runs before anything else in this library.
            unsafe { qemu_plugin_version = version };
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE_VERSION: unsafe extern "C" fn() = choose_version;

/// QEMU's entry point (include/qemu/qemu-plugin.h).
///
/// # Safety
/// `info` is QEMU's; `argv` holds `argc` NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let args: Vec<String> = (0..argc as usize)
        // SAFETY: the caller's promise.
        .map(|i| {
            unsafe { CStr::from_ptr(*argv.add(i)) }
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    // SAFETY: the caller's promise, and the lab's that the descriptor is for the tester.
    let installed =
        parse(&args).and_then(|args| unsafe { install(&args, id, translation::api_version(info)) });
    match installed {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("irqlab-tester: {why}");
            1
        }
    }
}
