// SPDX-License-Identifier: GPL-2.0-or-later
//! Which cards there are: the name of each as a QEMU device, and its chip.

use std::ffi::{CStr, c_void};

use super::cards::{fill, realize};
use irqlab_tester::i82559::{self, Revision};
use irqlab_tester::i82574;
use irqlab_tester::pci::{Capabilities, Card, Errata, Identity, Window};
use irqlab_tester::rtl8139;

/// A chip.
#[derive(Clone, Copy)]
pub enum Model {
    I82559(Revision),
    I82574,
    Rtl8139,
}

impl Model {
    pub fn identity(self) -> Identity {
        match self {
            Model::I82559(revision) => revision.identity(),
            Model::I82574 => i82574::IDENTITY,
            Model::Rtl8139 => rtl8139::IDENTITY,
        }
    }
    pub fn windows(self) -> &'static [Window] {
        match self {
            Model::I82559(_) => &i82559::WINDOWS,
            Model::I82574 => &i82574::WINDOWS,
            Model::Rtl8139 => &rtl8139::WINDOWS,
        }
    }
    pub fn capabilities(self) -> Capabilities {
        match self {
            Model::I82574 => i82574::CAPABILITIES,
            _ => Capabilities::NONE,
        }
    }
    pub fn card(self, now_ns: u64, mac: [u8; 6], errata: Errata) -> Box<dyn Card> {
        match self {
            Model::I82559(revision) => Box::new(i82559::Chip::new(now_ns, revision, mac, errata)),
            Model::I82574 => Box::new(i82574::Chip::new(now_ns, mac)),
            Model::Rtl8139 => Box::new(rtl8139::Chip::new(now_ns, mac, errata)),
        }
    }
}

/// A kind of card.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static CStr,
    pub model: Model,
    pub class_init: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

/// Class initialisers have no argument that says whose they are, so there is one for each kind.
macro_rules! kinds {
    ($($init:ident $realize:ident $name:literal $model:expr;)*) => {
        /// All of them.
        pub const KINDS: &[Kind] = &[$(Kind {
            name: $name,
            model: $model,
            class_init: $init,
        }),*];
        $(
            unsafe extern "C" fn $init(class: *mut c_void, _data: *mut c_void) {
                // SAFETY: QEMU passes the class of our type.
                unsafe { fill(class, $model.identity(), $realize) };
            }
            unsafe extern "C" fn $realize(device: *mut c_void, _error: *mut c_void) {
                let kind = KINDS.iter().find(|kind| kind.name == $name);
                // SAFETY: QEMU is realizing a device of our type.
                kind.into_iter().for_each(|kind| unsafe { realize(device, *kind) });
            }
        )*
    };
}

kinds! {
    init_82557 realize_82557 c"irqlab-82557" Model::I82559(Revision::I82557);
    init_82558 realize_82558 c"irqlab-82558" Model::I82559(Revision::I82558);
    init_82559 realize_82559 c"irqlab-82559" Model::I82559(Revision::I82559);
    init_82551 realize_82551 c"irqlab-82551" Model::I82559(Revision::I82551);
    init_82574 realize_82574 c"irqlab-82574" Model::I82574;
    init_8139 realize_8139 c"irqlab-8139cp" Model::Rtl8139;
}
