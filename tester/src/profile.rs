// SPDX-License-Identifier: GPL-2.0-or-later
//! The profiler: counts each block of instructions that the device under test executes in the calling context that it runs in.
//!
//! It needs no QEMU: [`Profiler::enter`] is called for each block. In the plugin, `qemu/instrument.rs` calls it.

pub mod access;
pub mod ending;
pub mod lines;
pub mod map;
pub mod stack;
pub mod tree;

use serde::Serialize;

use self::access::Access;
pub use self::ending::Ending;
use self::lines::User;
use self::map::{Addresses, Map, Mark};
use self::stack::{Leaving, Stack};
use self::tree::{IoRow, Row, Tree};

/// Instructions that QEMU translates, and usually executes, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first one's address.
    pub start: u64,
    /// The address after the last one.
    pub after: u64,
    /// How many there are.
    pub instructions: u64,
    /// The effect of the last one on the stack.
    pub ending: Ending,
    /// The function's number in the [`Map`].
    pub function: u32,
    /// The function begins here.
    pub first: bool,
}

impl Block {
    /// Finds the block's function.
    pub fn place(&mut self, map: &Map) {
        self.function = map.function(self.start);
        self.first = map.start(self.function) == self.start;
    }
}

/// `profile_result` of docs/inside/protocol.md.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// Instructions counted in the window.
    pub instructions: u64,
    /// How often the shadow stack was lost in the window.
    pub lost: u64,
    /// The tree.
    pub nodes: Vec<Row>,
    /// Accesses to devices.
    pub io: Vec<IoRow>,
    /// Lines of memory, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<lines::Result>,
}

/// Counts instructions in contexts.
#[derive(Debug)]
pub struct Profiler {
    map: Map,
    tree: Tree,
    stack: Stack,
    /// The counter when the block being executed began, and when it was last counted from.
    began: u64,
    counted: u64,
    /// How often the stack was lost in the last window.
    lost: u64,
    /// The block being executed.
    instructions: u64,
    leaving: Leaving,
}

impl Profiler {
    /// A profiler for these functions. The count of instructions begun is `counter`.
    pub fn new(addresses: &Addresses, counter: u64) -> Result<Self, String> {
        Ok(Profiler {
            map: Map::new(addresses)?,
            tree: Tree::default(),
            stack: Stack::default(),
            began: counter,
            counted: counter,
            lost: 0,
            instructions: 0,
            leaving: Leaving::default(),
        })
    }

    /// The functions.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// `block` is about to be executed; `counter` instructions have been begun since power-on.
    pub fn enter(&mut self, block: &Block, counter: u64) {
        // A faulting instruction was begun but not executed: it will be executed again.
        let fault = block.first && self.map.mark(block.function) == Mark::Exception;
        self.settle(counter, u64::from(fault));
        let cut_short = counter.wrapping_sub(self.began) < self.instructions;
        let leaving = if cut_short {
            Leaving::default()
        } else {
            self.leaving
        };
        self.stack.step(leaving, block, &self.map, &mut self.tree);
        self.began = counter;
        self.instructions = block.instructions;
        self.leaving = Leaving {
            ending: block.ending,
            after: block.after,
        };
    }

    /// The window opens, which sets all counts to 0, or closes.
    pub fn window(&mut self, open: bool, counter: u64) {
        self.settle(counter, 0);
        self.tree.count(open);
        if open {
            self.stack.lost = 0;
        } else {
            self.lost = self.stack.lost;
        }
    }

    /// A device was accessed, by the function that is being executed.
    pub fn accessed(&mut self, access: Access) {
        self.tree.accessed(self.stack.top(), access);
    }

    /// The function that is being executed.
    pub fn user(&self) -> User {
        self.tree.user(self.stack.top())
    }

    /// The profile of the window.
    pub fn result(&self) -> Profile {
        let (nodes, io) = self.tree.rows(&self.map);
        Profile {
            instructions: self.tree.total(),
            lost: self.lost,
            nodes,
            io,
            lines: None,
        }
    }

    fn settle(&mut self, counter: u64, less: u64) {
        let executed = counter.wrapping_sub(self.counted).saturating_sub(less);
        self.counted = counter;
        self.tree.executed(self.stack.top(), executed);
    }
}

#[cfg(test)]
mod tests;
