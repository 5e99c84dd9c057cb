// SPDX-License-Identifier: GPL-2.0-or-later
//! Capabilities that only some cards have: PCI Express and messages.

use std::ffi::{c_uint, c_void};

use super::Device;
use crate::api::api;
use irqlab_tester::pci::{Capabilities, MsiX};

/// The capability of PCI Express 1.1 (PCI Express Base Specification 1.1, 7.8): an endpoint, one lane, 2.5 GT/s.
const EXPRESS: u8 = 0x10;
const EXPRESS_BYTES: usize = 20;
const EXPRESS_REGISTERS: [(usize, u32); 5] = [
    (0x00, 0x0001_0000), // version 1, endpoint; identifier and link stay
    (0x04, 0x0000_8cc0), // payloads of 128 bytes, latencies, role-based errors
    (0x08, 0x0000_2810), // requests of 512 bytes, relaxed ordering, no snoop
    (0x0c, 0x0003_1c11), // 2.5 GT/s, one lane, L0s and L1
    (0x10, 0x1011_0000), // the same as negotiated, common clock
];
/// The bits of its control registers that can be written: of the device, of the link.
const EXPRESS_WRITABLE: [(usize, u16); 2] = [(0x08, 0x7fff), (0x10, 0x01fb)];

impl Device {
    /// Adds capabilities. False if QEMU refuses.
    pub fn add_capabilities(&mut self, wanted: Capabilities, regions: &[*mut c_void]) -> bool {
        let (api, no_error) = (api(), std::ptr::null_mut());
        if let Some(offset) = wanted.express {
            // SAFETY: the device is being realized.
            let at = unsafe {
                (api.pci_add_capability)(
                    self.device,
                    EXPRESS,
                    offset,
                    EXPRESS_BYTES as u8,
                    no_error,
                )
            };
            if at < 0 {
                return false;
            }
            for (register, value) in EXPRESS_REGISTERS {
                let bytes = value.to_le_bytes();
                let skipped = if register == 0 { 2 } else { 0 };
                // SAFETY: within the configuration space, where the capability was just put.
                unsafe {
                    let place = self.configuration.add(usize::from(offset) + register);
                    place
                        .add(skipped)
                        .copy_from_nonoverlapping(bytes[skipped..].as_ptr(), 4 - skipped);
                }
            }
            for (register, mask) in EXPRESS_WRITABLE {
                let bytes = mask.to_le_bytes();
                // SAFETY: as above; the masks are as large as the configuration space.
                unsafe {
                    let place = self.writable.add(usize::from(offset) + register);
                    place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
            }
        }
        if let Some(offset) = wanted.msi {
            // SAFETY: the device is being realized. One message, 64 bits of address, no masks.
            let outcome = unsafe { (api.msi_init)(self.device, offset, 1, true, false, no_error) };
            self.msi = outcome == 0;
            if !self.msi {
                return false;
            }
        }
        wanted
            .msix
            .is_none_or(|msix| self.add_vectors(msix, regions))
    }

    fn add_vectors(&mut self, msix: MsiX, regions: &[*mut c_void]) -> bool {
        let (api, window) = (api(), msix.window as u8);
        let Some(&region) = regions.get(msix.window) else {
            return false;
        };
        // SAFETY: the device is being realized, and the region is that of its window.
        unsafe {
            let outcome = (api.msix_init)(
                self.device,
                msix.vectors as u16,
                region,
                window,
                msix.table,
                region,
                window,
                msix.pending,
                msix.offset,
                std::ptr::null_mut(),
            );
            if outcome == 0 {
                (0..msix.vectors as c_uint).for_each(|vector| {
                    (api.msix_vector_use)(self.device, vector);
                });
                self.tables = Some(region);
            }
            outcome == 0
        }
    }
}
