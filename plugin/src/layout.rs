// SPDX-License-Identifier: GPL-2.0-or-later
//! Every structure and constant of QEMU that the tester relies on, as in the releases that [`release`](super::release) accepts.
//!
//! Each says how the tester verifies it when QEMU starts. Structures that only QEMU looks into are [opaque](super::memory::opaque).

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::memory::Plain;

/// `QEMU_CLOCK_VIRTUAL` of include/qemu/timer.h. Verified: [`selfcheck`](super::selfcheck) compares it with the instructions.
pub const CLOCK_VIRTUAL: c_int = 1;

/// `NET_CLIENT_DRIVER_USER` of qapi/net.json: the type that the monitor's `info network` shows. It has no other effect.
pub const NET_CLIENT_DRIVER_USER: c_int = 2;

/// `NetClientInfo` of include/net/net.h. Its first three members are used and are the same in all releases.
///
/// Verified: [`net`](super::net) sends a frame over a hub of its own.
#[repr(C)]
pub struct NetClientInfo {
    pub kind: c_int,
    /// Of `NetClientState`, in bytes; QEMU allocates that much.
    pub size: usize,
    pub receive: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize,
    /// Functions that may be null.
    pub rest: [usize; 64],
}

/// `DEVICE_LITTLE_ENDIAN` of include/exec/cpu-common.h or system/memory.h.
pub const DEVICE_LITTLE_ENDIAN: c_int = 2;

/// `MemoryRegionOps` of include/exec/memory.h.
///
/// Verified: [`port_io`](super::port_io) reads and writes through it.
#[repr(C)]
pub struct MemoryRegionOps {
    pub read: unsafe extern "C" fn(*mut c_void, u64, c_uint) -> u64,
    pub write: unsafe extern "C" fn(*mut c_void, u64, u64, c_uint),
    pub read_with_attrs: *const c_void,
    pub write_with_attrs: *const c_void,
    pub endianness: c_int,
    pub valid: ValidSizes,
    pub implemented: ImplementedSizes,
    pub rest: [usize; 8],
}

/// `MemoryRegionOps.valid`.
#[repr(C)]
pub struct ValidSizes {
    pub min: c_uint,
    pub max: c_uint,
    pub unaligned: bool,
    pub accepts: *const c_void,
}

/// `MemoryRegionOps.impl`.
#[repr(C)]
pub struct ImplementedSizes {
    pub min: c_uint,
    pub max: c_uint,
    pub unaligned: bool,
}

/// The beginning of `GByteArray` of glib/garray.h.
///
/// Verified: [`machine::pc`](super::machine::pc) accepts it only with as many bytes as QEMU says it appended.
#[repr(C)]
pub struct ByteArray {
    pub data: *const u8,
    pub bytes: c_uint,
}

/// `RUN_STATE_DEBUG` of qapi/run-state.json. Verified: QEMU's GDB stub reports a trap only then.
pub const RUN_STATE_DEBUG: c_int = 0;

/// The number of RIP for a debugger: `IDX_IP_REG` of target/i386/gdbstub.c, gdb-xml/i386-64bit.xml.
pub const REGISTER_RIP: c_int = 16;

/// `VersionInfo` of qapi/control.json.
///
/// Verified: a wrong layout gives a version that no release has, and is refused.
#[repr(C)]
pub struct VersionInfo {
    pub triple: *const [i64; 3],
    pub package: *const c_char,
}

/// `QEMUTimer` of include/qemu/timer.h, to recognise one.
///
/// Verified: [`ioapic_throttle`](super::workarounds::ioapic_throttle) accepts a timer only if all members have the values they must have;
/// [`rewind`](super::rewind), which follows `next`, accepts a list only if it leads to the tester's timer and all are of that list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct QemuTimer {
    pub expire_time: i64,
    pub timer_list: usize,
    pub callback: usize,
    pub opaque: usize,
    pub next: usize,
    pub attributes: c_int,
    pub scale: c_int,
}

// SAFETY: integers.
unsafe impl Plain for QemuTimer {}

/// `NET_CLIENT_DRIVER__MAX` of qapi/net.json, or more: no client is of this type.
pub const NET_CLIENT_DRIVER_NONE: c_int = 0x7fff;

/// `DIRTY_MEMORY_VGA` of include/exec/ramlist.h. `memory_region_set_log` accepts no other.
pub const DIRTY_MEMORY_VGA: c_uint = 0;

/// `YankInstance` of qapi/yank.json.
#[repr(C)]
pub struct YankInstance {
    pub kind: c_int,
    pub rest: [usize; 4],
}

/// `YANK_INSTANCE_TYPE_MIGRATION` of qapi/yank.json. Verified: QEMU ends if it is not registered when it has loaded a state.
pub const YANK_MIGRATION: c_int = 2;

/// The beginning of `VMStateField` of include/migration/vmstate.h, after the name.
///
/// Verified: [`rewind`](super::rewind) accepts a field only without hint and with the size that it must have.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VmStateField {
    pub hint: usize,
    pub offset: usize,
    pub size: usize,
}

// SAFETY: integers.
unsafe impl Plain for VmStateField {}

/// `IOAPIC_NUM_PINS` of include/hw/intc/ioapic_internal.h.
pub const IOAPIC_PINS: usize = 24;
/// `SUCCESSIVE_IRQ_MAX_COUNT` of hw/intc/ioapic.c.
pub const IOAPIC_THROTTLED_AT: c_int = 10_000;

/// The beginning of `CPUX86State` of target/i386/cpu.h.
///
/// Verified: [`cpu_state`](super::cpu_state) looks for it, and accepts it if it is right at 16 instructions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CpuState {
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub regs: [u64; 16],
    pub eip: u64,
    pub eflags: u64,
    pub cc_dst: u64,
    pub cc_src: u64,
    pub cc_src2: u64,
    pub cc_op: u32,
    pub df: i32,
}

// SAFETY: integers.
unsafe impl Plain for CpuState {}

/// `CC_OP_LOGICQ` and `CC_OP_NB` of `CCOp` in target/i386/cpu.h, QEMU 7.2.
pub const CC_OP_LOGICQ: u32 = 25;
pub const CC_OP_NB: u32 = 51;

/// `TypeInfo` of include/qom/object.h.
///
/// Verified: a wrong one registers no type, and QEMU refuses `-device usb-lan7800`.
#[repr(C)]
pub struct TypeInfo {
    pub name: *const c_char,
    pub parent: *const c_char,
    pub instance_size: usize,
    pub instance_align: usize,
    pub instance_init: *const c_void,
    pub instance_post_init: *const c_void,
    pub instance_finalize: *const c_void,
    pub is_abstract: bool,
    pub class_size: usize,
    pub class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pub class_base_init: *const c_void,
    pub class_data: *mut c_void,
    pub interfaces: *const c_void,
}

/// `USBDeviceClass` of include/hw/usb.h, less the `DeviceClass` that it begins with.
///
/// Verified: [`usb::device`](super::usb) compares it with the class of QEMU's USB keyboard.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UsbCallbacks {
    /// (device, error)
    pub realize: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub unrealize: usize,
    pub find_device: usize,
    pub cancel_packet: usize,
    pub handle_attach: usize,
    /// (device)
    pub handle_reset: Option<unsafe extern "C" fn(*mut c_void)>,
    /// (device, packet, request, value, index, length, data)
    #[allow(clippy::type_complexity)]
    pub handle_control:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, c_int, c_int, c_int, *mut u8)>,
    /// (device, packet)
    pub handle_data: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub set_interface: usize,
    pub flush_ep_queue: usize,
    /// (device, endpoint)
    pub ep_stopped: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub alloc_streams: usize,
    pub free_streams: usize,
    pub product_desc: *const c_char,
    pub usb_desc: usize,
}

impl UsbCallbacks {
    /// All null.
    pub const NONE: UsbCallbacks = UsbCallbacks {
        realize: None,
        unrealize: 0,
        find_device: 0,
        cancel_packet: 0,
        handle_attach: 0,
        handle_reset: None,
        handle_control: None,
        handle_data: None,
        set_interface: 0,
        flush_ep_queue: 0,
        ep_stopped: None,
        alloc_streams: 0,
        free_streams: 0,
        product_desc: std::ptr::null(),
        usb_desc: 0,
    };
}

/// `product_desc` of `USBDevice`, in bytes.
pub const USB_DESCRIPTION_BYTES: usize = 32;
/// How many bytes before `ep_ctl` the member `remote_wakeup` of `USBDevice` lies.
pub const USB_REMOTE_WAKEUP_BEFORE_EP: usize = 16;
/// `USB_TOKEN_IN` and `USB_TOKEN_OUT` of include/hw/usb.h.
pub const USB_TOKEN_IN: c_int = 0x69;
pub const USB_TOKEN_OUT: c_int = 0xe1;
/// `USB_SPEED_HIGH` and `USB_SPEED_SUPER` of include/hw/usb.h.
pub const USB_SPEED_HIGH: c_int = 2;
pub const USB_SPEED_SUPER: c_int = 3;
/// `USB_RET_NAK`, `USB_RET_STALL` and `USB_RET_BABBLE` of include/hw/usb.h.
pub const USB_RET_NAK: c_int = -2;
pub const USB_RET_STALL: c_int = -3;
pub const USB_RET_BABBLE: c_int = -4;

/// The beginning of `USBPacket` of include/hw/usb.h.
///
/// Verified: [`usb::packet`](super::usb) has QEMU set one up and looks where each value is.
#[repr(C)]
pub struct UsbPacket {
    pub pid: c_int,
    pub id: u64,
    pub ep: *mut c_void,
    pub stream: c_uint,
    /// `QEMUIOVector`.
    pub iov: [usize; 5],
    pub parameter: u64,
    pub short_not_ok: bool,
    pub int_req: bool,
    pub status: c_int,
    pub actual_length: c_int,
}

/// `PCIDeviceClass` of include/hw/pci/pci.h or pci_device.h, less the `DeviceClass` that it begins with, and what follows.
///
/// Verified: [`pci::device`](super::pci) compares it with the class of a NIC of QEMU's.
#[repr(C)]
pub struct PciCallbacks {
    /// (device, error)
    pub realize: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// (device)
    pub exit: Option<unsafe extern "C" fn(*mut c_void)>,
    /// (device, address, bytes)
    pub config_read: Option<unsafe extern "C" fn(*mut c_void, c_uint, c_int) -> c_uint>,
    /// (device, address, value, bytes)
    pub config_write: Option<unsafe extern "C" fn(*mut c_void, c_uint, c_uint, c_int)>,
    pub vendor: u16,
    pub device: u16,
    pub revision: u8,
    pub class: u16,
    pub subsystem_vendor: u16,
    pub subsystem: u16,
}

/// `InterfaceInfo` of include/qom/object.h. Verified: without the interface QEMU refuses to create the class.
#[repr(C)]
pub struct InterfaceInfo {
    pub kind: *const c_char,
}

/// `PCI_BASE_ADDRESS_SPACE_IO` of the kernel's pci_regs.h; otherwise memory.
pub const PCI_BAR_PORTS: u8 = 1;

/// `VMSTATE_INSTANCE_ID_ANY` of include/migration/vmstate.h.
pub const INSTANCE_ID_ANY: u32 = u32::MAX;

/// The beginning of `qemu_info_t` of include/qemu/qemu-plugin.h.
#[repr(C)]
pub struct PluginInfo {
    pub target_name: *const c_char,
    pub min_version: c_int,
    pub version: c_int,
}

/// `qemu_plugin_u64` of include/qemu/qemu-plugin.h, from API version 2 on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PluginCounter {
    pub scoreboard: *mut c_void,
    pub offset: usize,
}

/// `QEMU_PLUGIN_CB_NO_REGS`.
pub const PLUGIN_NO_REGS: c_int = 0;
/// `QEMU_PLUGIN_MEM_RW`.
pub const PLUGIN_READ_AND_WRITE: c_int = 3;
/// `QEMU_PLUGIN_INLINE_ADD_U64`.
pub const PLUGIN_ADD_U64: c_int = 0;
