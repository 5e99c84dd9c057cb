// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions and variables of QEMU that the tester uses, found by name in the running executable.
//!
//! Apart from `qemu_plugin_*` they are QEMU's internals; Debian's QEMU exports them. The prototypes are those of the releases that
//! [`release`](super::release) accepts. All names are looked up at once, so that one message lists all that are missing.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use super::die::die;
use super::layout::{
    ByteArray, MemoryRegionOps, NetClientInfo, PluginCounter, TypeInfo, VersionInfo, YankInstance,
};

/// Called by QEMU with the pointer that was registered with it.
pub type Callback = unsafe extern "C" fn(*mut c_void);
/// Called by GLib with the pointer that was registered with it; nonzero: it is to be called again.
pub type SourceFunction = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Work for the virtual processor's thread: (processor, `run_on_cpu_data`, a union of eight bytes).
pub type CpuWork = unsafe extern "C" fn(*mut c_void, u64);
/// Returns a property's value, which the caller frees: (object, error).
pub type PropertyGetter = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_char;
/// Sets a property: (object, value, error).
pub type PropertySetter = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void);
/// Called when the machine stops or begins to run: (what was registered with it, running, state).
pub type RunState = unsafe extern "C" fn(*mut c_void, bool, c_int);
/// Called when a block or an instruction is about to be executed: (processor, what was registered with it).
pub type Executed = unsafe extern "C" fn(c_uint, *mut c_void);
/// Called when an instruction has accessed memory: (processor, `qemu_plugin_meminfo_t`, virtual address, what was registered with it).
pub type Accessed = unsafe extern "C" fn(c_uint, u32, u64, *mut c_void);

macro_rules! symbols {
    (
        functions { $($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)* }
        addresses { $($address:ident;)* }
        optional { $($option:ident: fn($($option_arg:ty),*) $(-> $option_ret:ty)?;)* }
    ) => {
        /// What was found.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            $(pub $address: *mut c_void,)*
            $(pub $option: Option<unsafe extern "C" fn($($option_arg),*) $(-> $option_ret)?>,)*
        }

        fn find(look_up: impl Fn(&CStr) -> *mut c_void) -> Result<Api, Vec<&'static str>> {
            let mut missing = Vec::new();
            let mut symbol = |name: &'static CStr| {
                let found = look_up(name);
                if found.is_null() {
                    missing.push(name.to_str().unwrap_or_default());
                }
                found
            };
            $(let $name = symbol(name!($name));)*
            $(let $address = symbol(name!($address));)*
            if !missing.is_empty() {
                return Err(missing);
            }
            // SAFETY: the pointers are not null, and each type is that of the QEMU function of that name; a null pointer is the
            // None of an optional function.
            Ok(unsafe {
                Api {
                    $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $ret)?>($name),)*
                    $($address,)*
                    $($option: std::mem::transmute::<
                        *mut c_void,
                        Option<unsafe extern "C" fn($($option_arg),*) $(-> $option_ret)?>,
                    >(look_up(name!($option))),)*
                }
            })
        }
    };
}

macro_rules! name {
    ($name:ident) => {
        // The name is an identifier, so the only NUL is the last byte.
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    };
}

symbols! {
    functions {
        // Time: include/qemu/timer.h, include/sysemu/cpu-timers.h
        timer_init_full: fn(*mut c_void, *mut c_void, c_int, c_int, c_int, Callback, *mut c_void);
        timer_mod_ns: fn(*mut c_void, i64);
        timer_del: fn(*mut c_void);
        qemu_clock_get_ns: fn(c_int) -> i64;
        icount_get_raw: fn() -> i64;
        qemu_clock_deadline_ns_all: fn(c_int, c_int) -> i64;
        qemu_clock_run_timers: fn(c_int) -> bool;
        icount_start_warp_timer: fn();
        // The machine: qapi/control.json, qapi/misc.json, include/block/aio.h, include/sysemu/runstate.h, include/qom/object.h
        qmp_query_version: fn(*mut *mut c_void) -> *const VersionInfo;
        qmp_stop: fn(*mut *mut c_void);
        vm_stop: fn(c_int) -> c_int;
        runstate_is_running: fn() -> bool;
        vm_start: fn();
        qemu_get_aio_context: fn() -> *mut c_void;
        aio_bh_schedule_oneshot_full: fn(*mut c_void, Callback, *mut c_void, *const c_char);
        qemu_add_vm_change_state_handler: fn(RunState, *mut c_void) -> *mut c_void;
        qemu_add_vm_change_state_handler_prio: fn(RunState, *mut c_void, c_int) -> *mut c_void;
        object_resolve_path: fn(*const c_char, *mut bool) -> *mut c_void;
        object_resolve_path_at: fn(*mut c_void, *const c_char) -> *mut c_void;
        object_resolve_path_type: fn(*const c_char, *const c_char, *mut bool) -> *mut c_void;
        // The main loop is GLib's.
        g_idle_add: fn(SourceFunction, *mut c_void) -> c_uint;
        // The virtual processor: include/hw/core/cpu.h, include/sysemu/cpus.h
        all_cpu_threads_idle: fn() -> bool;
        cpu_is_stopped: fn(*mut c_void) -> bool;
        qemu_get_cpu: fn(c_int) -> *mut c_void;
        qemu_in_vcpu_thread: fn() -> bool;
        async_run_on_cpu: fn(*mut c_void, CpuWork, u64);
        cpu_reset: fn(*mut c_void);
        cpu_exit: fn(*mut c_void);
        // Reset: include/hw/qdev-core.h, include/hw/sysbus.h, include/sysemu/reset.h
        sysbus_get_default: fn() -> *mut c_void;
        bus_cold_reset: fn(*mut c_void);
        device_cold_reset: fn(*mut c_void);
        qemu_register_reset: fn(Callback, *mut c_void);
        // Loading of state: include/qemu/yank.h, qapi/migration.json, include/qapi/error.h
        yank_register_instance: fn(*const YankInstance, *mut *mut c_void) -> bool;
        qmp_xen_load_devices_state: fn(*const c_char, *mut *mut c_void);
        error_get_pretty: fn(*const c_void) -> *const c_char;
        // Net clients: include/net/net.h, net/hub.h
        qemu_new_net_client: fn(*const NetClientInfo, *mut c_void, *const c_char, *const c_char) -> *mut c_void;
        net_hub_add_port: fn(c_int, *const c_char, *mut c_void) -> *mut c_void;
        qemu_can_send_packet: fn(*mut c_void) -> c_int;
        qemu_send_packet: fn(*mut c_void, *const u8, c_int) -> isize;
        qemu_find_net_clients_except: fn(*const c_char, *mut *mut c_void, c_int, c_int) -> c_int;
        qmp_set_link: fn(*const c_char, bool, *mut *mut c_void);
        qemu_purge_queued_packets: fn(*mut c_void);
        qemu_flush_queued_packets: fn(*mut c_void);
        // Memory and I/O ports: include/exec/memory.h, include/exec/ioport.h
        memory_region_init_io: fn(*mut c_void, *mut c_void, *const MemoryRegionOps, *mut c_void, *const c_char, u64);
        memory_region_add_subregion: fn(*mut c_void, u64, *mut c_void);
        memory_region_add_subregion_overlap: fn(*mut c_void, u64, *mut c_void, c_int);
        memory_region_init_ram: fn(*mut c_void, *mut c_void, *const c_char, u64, *mut c_void);
        memory_region_get_ram_ptr: fn(*mut c_void) -> *mut u8;
        memory_region_init_alias: fn(*mut c_void, *mut c_void, *const c_char, *mut c_void, u64, u64);
        memory_region_from_host: fn(*mut u8, *mut u64) -> *mut c_void;
        memory_region_set_log: fn(*mut c_void, bool, c_uint);
        memory_region_snapshot_and_clear_dirty: fn(*mut c_void, u64, u64, c_uint) -> *mut c_void;
        memory_region_snapshot_get_dirty: fn(*mut c_void, *mut c_void, u64, u64) -> bool;
        address_space_init: fn(*mut c_void, *mut c_void, *const c_char);
        get_system_io: fn() -> *mut c_void;
        // MemTxAttrs is a structure of four or eight bytes, passed like an integer.
        address_space_ldq_le: fn(*mut c_void, u64, u64, *mut c_uint) -> u64;
        address_space_write_rom: fn(*mut c_void, u64, u64, *const u8, u64) -> c_uint;
        // Blocks of RAM: include/exec/cpu-common.h
        qemu_ram_foreach_block: fn(unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, *mut c_void) -> c_int;
        qemu_ram_get_idstr: fn(*mut c_void) -> *const c_char;
        qemu_ram_get_host_addr: fn(*mut c_void) -> *mut u8;
        qemu_ram_get_used_length: fn(*mut c_void) -> u64;
        cpu_inl: fn(c_uint) -> c_uint;
        cpu_outl: fn(c_uint, c_uint);
        // Device types: include/qom/object.h, include/migration/vmstate.h
        type_register_static: fn(*const TypeInfo) -> *mut c_void;
        object_class_by_name: fn(*const c_char) -> *mut c_void;
        object_property_get_str: fn(*mut c_void, *const c_char, *mut c_void) -> *mut c_char;
        vmstate_register_with_alias_id: fn(*mut c_void, u32, *const c_void, *mut c_void, c_int, c_int, *mut c_void) -> c_int;
        vmstate_unregister: fn(*mut c_void, *const c_void, *mut c_void);
        object_property_add_str: fn(*mut c_void, *const c_char, PropertyGetter, PropertySetter) -> *mut c_void;
        // PCI: include/hw/pci/pci.h, include/exec/memory.h
        pci_register_bar: fn(*mut c_void, c_int, u8, *mut c_void);
        pci_default_read_config: fn(*mut c_void, c_uint, c_int) -> c_uint;
        pci_default_write_config: fn(*mut c_void, c_uint, c_uint, c_int);
        pci_set_irq: fn(*mut c_void, c_int);
        pci_add_capability: fn(*mut c_void, u8, u8, u8, *mut *mut c_void) -> c_int;
        // Messages: include/hw/pci/msi.h, include/hw/pci/msix.h
        msi_init: fn(*mut c_void, u8, c_uint, bool, bool, *mut *mut c_void) -> c_int;
        msi_uninit: fn(*mut c_void);
        msi_enabled: fn(*const c_void) -> bool;
        msi_notify: fn(*mut c_void, c_uint);
        msix_init: fn(*mut c_void, u16, *mut c_void, u8, c_uint, *mut c_void, u8, c_uint, u8, *mut *mut c_void) -> c_int;
        msix_uninit: fn(*mut c_void, *mut c_void, *mut c_void);
        msix_enabled: fn(*mut c_void) -> c_int;
        msix_notify: fn(*mut c_void, c_uint);
        msix_vector_use: fn(*mut c_void, c_uint);
        address_space_rw: fn(*mut c_void, u64, u64, *mut u8, u64, bool) -> c_uint;
        // USB: include/hw/usb.h
        usb_ep_get: fn(*mut c_void, c_int, c_int) -> *mut c_void;
        usb_wakeup: fn(*mut c_void, c_uint);
        usb_device_attach: fn(*mut c_void, *mut c_void);
        usb_device_detach: fn(*mut c_void) -> c_int;
        usb_packet_init: fn(*mut c_void);
        usb_packet_setup: fn(*mut c_void, c_int, *mut c_void, c_uint, u64, bool, bool);
        usb_packet_addbuf: fn(*mut c_void, *mut c_void, usize);
        usb_packet_copy: fn(*mut c_void, *mut c_void, usize);
        usb_packet_size: fn(*mut c_void) -> usize;
        usb_packet_cleanup: fn(*mut c_void);
        // Plugin API: include/qemu/qemu-plugin.h
        qemu_plugin_tb_n_insns: fn(*const c_void) -> usize;
        qemu_plugin_tb_get_insn: fn(*const c_void, usize) -> *mut c_void;
        qemu_plugin_insn_vaddr: fn(*const c_void) -> u64;
        qemu_plugin_insn_size: fn(*const c_void) -> usize;
        qemu_plugin_register_vcpu_tb_exec_cb: fn(*mut c_void, Executed, c_int, *mut c_void);
        qemu_plugin_register_vcpu_insn_exec_cb: fn(*mut c_void, Executed, c_int, *mut c_void);
        qemu_plugin_register_vcpu_mem_cb: fn(*mut c_void, Accessed, c_int, c_int, *mut c_void);
        qemu_plugin_mem_is_store: fn(u32) -> bool;
        qemu_plugin_mem_size_shift: fn(u32) -> c_uint;
        qemu_plugin_get_hwaddr: fn(u32, u64) -> *const c_void;
        qemu_plugin_hwaddr_is_io: fn(*const c_void) -> bool;
        qemu_plugin_hwaddr_phys_addr: fn(*const c_void) -> u64;
    }
    addresses {
        // The tester uses only the addresses of these variables.
        main_loop_tlg;
        vmstate_cpu_common;
        vmstate_usb_device;
        vmstate_pci_device;
        vmstate_msix;
        address_space_memory;
        // Functions whose prototype depends on the plugin API's version.
        qemu_plugin_insn_data;
        qemu_plugin_register_vcpu_tb_trans_cb;
    }
    optional {
        // The global lock: up to QEMU 8.2, and from 9.0 on.
        qemu_mutex_lock_iothread_impl: fn(*const c_char, c_int);
        qemu_mutex_unlock_iothread: fn();
        bql_lock_impl: fn(*const c_char, c_int);
        bql_unlock: fn();
        // What probes need: include/exec/exec-all.h, include/sysemu/cpu-timers.h; `timers_state` is a variable.
        tb_flush: fn(*mut c_void);
        cpu_loop_exit: fn(*mut c_void);
        icount_update: fn(*mut c_void);
        timers_state: fn();
        // Processors at the same virtual time: include/qemu/timer.h, target/i386/cpu.h, include/exec/cpu-common.h
        qemu_clock_notify: fn(c_int);
        x86_cpu_pending_interrupt: fn(*mut c_void, c_int) -> c_int;
        // The guest's memory by virtual address: include/exec/cpu-common.h
        cpu_memory_rw_debug: fn(*mut c_void, u64, *mut c_void, usize, bool) -> c_int;
        // The processor's registers, as for a debugger: target/i386/cpu.h. The buffer is GLib's GByteArray.
        x86_cpu_gdb_read_register: fn(*mut c_void, *mut ByteArray, c_int) -> c_int;
        g_byte_array_new: fn() -> *mut ByteArray;
        g_byte_array_unref: fn(*mut ByteArray);
        // Plugin API version 1.
        qemu_plugin_register_vcpu_insn_exec_inline: fn(*mut c_void, c_int, *mut c_void, u64);
        // From version 2 on.
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu: fn(*mut c_void, c_int, PluginCounter, u64);
        qemu_plugin_scoreboard_new: fn(usize) -> *mut c_void;
        qemu_plugin_scoreboard_find: fn(*mut c_void, c_uint) -> *mut c_void;
    }
}

// SAFETY: functions, and addresses of variables that QEMU never frees.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

static API: OnceLock<Api> = OnceLock::new();

/// Looks up everything, or says what this QEMU lacks.
pub fn resolve() -> Result<&'static Api, String> {
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let found = find(|name| {
        // SAFETY: the name is NUL-terminated.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    });
    match found {
        Ok(api) => Ok(API.get_or_init(|| api)),
        Err(missing) => Err(format!(
            "this QEMU does not export {}; the tester needs a QEMU that is built like Debian's",
            missing.join(", ")
        )),
    }
}

/// What [`resolve`] found. Only to be called when it has succeeded.
pub fn api() -> &'static Api {
    API.get()
        .unwrap_or_else(|| die("a function of QEMU was called before it was looked up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_name_is_listed() {
        let missing = find(|name| match name.to_bytes() {
            b"timer_del" | b"usb_wakeup" | b"vmstate_usb_device" => std::ptr::null_mut(),
            _ => std::ptr::dangling_mut(),
        });
        let missing = missing.err().unwrap_or_default();
        assert_eq!(missing, ["timer_del", "usb_wakeup", "vmstate_usb_device"]);
    }

    #[test]
    fn an_optional_name_may_be_missing() {
        let found = find(|name| match name.to_bytes() {
            b"qemu_plugin_scoreboard_new" => std::ptr::null_mut(),
            _ => std::ptr::dangling_mut(),
        });
        let api = found.unwrap_or_else(|missing| panic!("{missing:?}"));
        assert!(api.qemu_plugin_scoreboard_new.is_none());
        assert!(api.qemu_plugin_scoreboard_find.is_some());
    }

    #[test]
    fn outside_qemu_all_names_are_missing() {
        let why = resolve().err().unwrap_or_default();
        for name in [
            "timer_init_full",
            "usb_packet_copy",
            "qemu_plugin_insn_data",
        ] {
            assert!(why.contains(name), "{why}");
        }
    }
}
