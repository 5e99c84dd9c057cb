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
use self::tree::{IoRow, NodeId, ROOT, Row, Tree};

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

/// What a processor executes.
#[derive(Debug, Default)]
struct Processor {
    stack: Stack,
    /// Instructions that it has begun, and when the block being executed began.
    counter: u64,
    began: u64,
    /// The block being executed.
    instructions: u64,
    leaving: Leaving,
}

/// Counts instructions in contexts.
#[derive(Debug)]
pub struct Profiler {
    map: Map,
    tree: Tree,
    processors: Vec<Processor>,
    /// Who executes.
    running: usize,
    /// The counter when it was last counted from.
    counted: u64,
    /// How often a stack was lost in the last window.
    lost: u64,
}

impl Profiler {
    /// A profiler for these functions and so many processors. The count of instructions begun by all is `counter`.
    pub fn new(addresses: &Addresses, processors: u32, counter: u64) -> Result<Self, String> {
        let (map, mut tree) = (Map::new(addresses)?, Tree::default());
        let several = processors > 1;
        let of = |number| Processor {
            stack: match several {
                true => Stack::below(tree.processor(number)),
                false => Stack::default(),
            },
            ..Processor::default()
        };
        Ok(Profiler {
            processors: (0..processors).map(of).collect(),
            map,
            tree,
            running: 0,
            counted: counter,
            lost: 0,
        })
    }

    /// The functions.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// `block` is about to be executed by a processor; `counter` instructions have been begun by all since power-on.
    pub fn enter(&mut self, processor: usize, block: &Block, counter: u64) {
        self.settle(counter);
        self.running = processor;
        let Some(one) = self.processors.get_mut(processor) else {
            return;
        };
        // A faulting instruction was begun but not executed: it will be executed again.
        if block.first && self.map.mark(block.function) == Mark::Exception {
            self.tree.undone(one.stack.top());
        }
        let cut_short = one.counter.wrapping_sub(one.began) < one.instructions;
        let leaving = if cut_short {
            Leaving::default()
        } else {
            one.leaving
        };
        one.stack.step(leaving, block, &self.map, &mut self.tree);
        one.began = one.counter;
        one.instructions = block.instructions;
        one.leaving = Leaving {
            ending: block.ending,
            after: block.after,
        };
    }

    /// The window opens, which sets all counts to 0, or closes.
    pub fn window(&mut self, open: bool, counter: u64) {
        self.settle(counter);
        self.tree.count(open);
        let stacks = self.processors.iter_mut().map(|one| &mut one.stack);
        if open {
            stacks.for_each(|stack| stack.lost = 0);
        } else {
            self.lost = stacks.map(|stack| stack.lost).sum();
        }
    }

    /// A device was accessed, by the function that is being executed.
    pub fn accessed(&mut self, access: Access) {
        self.tree.accessed(self.top(), access);
    }

    /// The function that is being executed.
    pub fn user(&self) -> User {
        self.tree.user(self.top())
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

    fn top(&self) -> NodeId {
        let running = self.processors.get(self.running);
        running.map_or(ROOT, |one| one.stack.top())
    }

    fn settle(&mut self, counter: u64) {
        let executed = counter.wrapping_sub(self.counted);
        self.counted = counter;
        self.tree.executed(self.top(), executed);
        if let Some(one) = self.processors.get_mut(self.running) {
            one.counter = one.counter.wrapping_add(executed);
        }
    }
}

#[cfg(test)]
mod tests;
