// SPDX-License-Identifier: GPL-2.0-or-later
//! Device types of the tester's own, on any bus: how they are registered, and where the callbacks of a class are.
//!
//! The classes of PCI and of USB devices begin with a `DeviceClass`, which differs between QEMU's releases. Its last member points to the
//! name of the bus; the callbacks of the bus follow.

use std::ffi::{CStr, c_void};

use super::api::api;
use super::layout::{InterfaceInfo, TypeInfo};
use super::memory::{is_string, read_bytes};

/// How much of a class is searched for the callbacks, in words of eight bytes.
const CLASS_WORDS: usize = 64;

/// A device type.
pub struct DeviceType {
    /// Its name, for `-device`.
    pub name: &'static CStr,
    /// The type that it extends.
    pub parent: &'static CStr,
    /// (class, data)
    pub class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
    /// (device)
    pub instance_init: Option<unsafe extern "C" fn(*mut c_void)>,
    /// An interface that it has.
    pub interface: Option<&'static CStr>,
}

/// Registers a device type. To be called before QEMU creates devices.
pub fn register(kind: &DeviceType) {
    let interface = |name: *const _| InterfaceInfo { kind: name };
    let interfaces = kind.interface.map(|name| {
        let list = [interface(name.as_ptr()), interface(std::ptr::null())];
        Box::leak(Box::new(list)).as_ptr()
    });
    let info: &'static TypeInfo = Box::leak(Box::new(TypeInfo {
        name: kind.name.as_ptr(),
        parent: kind.parent.as_ptr(),
        instance_size: 0, // the parent's
        instance_align: 0,
        instance_init: (kind.instance_init).map_or(std::ptr::null(), |init| init as *const c_void),
        instance_post_init: std::ptr::null(),
        instance_finalize: std::ptr::null(),
        is_abstract: false,
        class_size: 0, // the parent's
        class_init: kind.class_init,
        class_base_init: std::ptr::null(),
        class_data: std::ptr::null_mut(),
        interfaces: interfaces.map_or(std::ptr::null(), <*const InterfaceInfo>::cast),
    }));
    // SAFETY: `info` is never freed.
    unsafe { (api().type_register_static)(info) };
}

/// The class of a type of QEMU's own; its layout can be compared with what is expected.
pub fn class_named(name: &CStr) -> *mut c_void {
    // SAFETY: the name is NUL-terminated.
    unsafe { (api().object_class_by_name)(name.as_ptr()) }
}

/// Where the callbacks of a class are: behind the pointer to the name of the bus.
pub fn callbacks_of<T>(class: *mut c_void, bus: &CStr) -> Option<*mut T> {
    let words = read_bytes(class as usize, CLASS_WORDS * size_of::<usize>())?;
    let at = words.chunks_exact(size_of::<usize>()).position(|word| {
        let word = usize::from_ne_bytes(word.try_into().unwrap_or_default());
        word != 0 && is_string(word, bus)
    })?;
    Some(class.cast::<usize>().wrapping_add(at + 1).cast())
}
