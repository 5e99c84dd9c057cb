// SPDX-License-Identifier: GPL-2.0-or-later
//! The shadow stack: the functions that have been called and have not returned.
//!
//! It may be wrong for a while and corrects itself: a return looks for its address in the stack, and if it finds none, the new function
//! replaces the one on top. Contexts depend only on few and certain events: an interrupt's entry and its `iret`, and the call of the
//! softirqs' function and its return.

use super::map::{Map, Mark, USER};
use super::tree::{NodeId, Tree};
use super::{Block, Ending};

/// A deeper stack is discarded: it must be wrong.
const MAX_DEPTH: usize = 200;

/// How a block was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    /// The kind of its last instruction; [`Ending::Other`] if the block was not executed to its end.
    pub ending: Ending,
    /// The address after it.
    pub after: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    node: NodeId,
    /// Where the call returns to; 0: not known.
    back: u64,
    /// It is the entry of an interrupt or exception.
    gate: Option<Gate>,
}

#[derive(Clone, Copy, Debug)]
struct Gate {
    /// How the interrupted block was left.
    interrupted: Leaving,
    /// Of the function that was entered first.
    node: NodeId,
}

/// The functions of the running task that have not returned.
#[derive(Debug, Default)]
pub struct Stack {
    /// What all is below.
    root: NodeId,
    frames: Vec<Frame>,
    /// How many returns found no address.
    pub lost: u64,
}

impl Stack {
    /// An empty stack below this node.
    pub fn below(root: NodeId) -> Self {
        Stack {
            root,
            ..Stack::default()
        }
    }

    /// The node of the function on top.
    pub fn top(&self) -> NodeId {
        self.frames.last().map_or(self.root, |frame| frame.node)
    }

    /// `block` is executed next; the block before it was left as `leaving` says.
    pub fn step(&mut self, leaving: Leaving, block: &Block, map: &Map, tree: &mut Tree) {
        let Some(top) = self.frames.last().copied() else {
            return self.restart(block, map, tree);
        };
        let function = block.function;
        if function == USER {
            if top.function != USER {
                self.restart(block, map, tree);
            }
            return;
        }
        let mark = map.mark(function);
        let gate_on_top = top.gate.is_some();
        match (mark, leaving.ending) {
            // Interrupts are off until the entry code has called something.
            (Mark::Vectors, _) if !gate_on_top => self.interrupt(leaving, block, map, tree),
            (Mark::Interrupt, _) if !gate_on_top && block.first => {
                self.interrupt(leaving, block, map, tree)
            }
            (Mark::Exception, _) if block.first => self.interrupt(leaving, block, map, tree),
            _ if top.function == USER => self.restart(block, map, tree),
            (Mark::Switch, _) if block.first => self.restart(block, map, tree),
            (_, Ending::Call) => {
                self.push(function, leaving.after, None, map, tree);
                tree.entered(self.top());
            }
            (_, Ending::Return) => self.come_back(block, map, tree),
            (_, Ending::InterruptReturn) => {
                let gate = self.frames.iter().rposition(|frame| frame.gate.is_some());
                let interrupted = gate.and_then(|gate| self.frames[gate].gate);
                if let (Some(at), Some(gate)) = (gate, interrupted) {
                    self.frames.truncate(at);
                    self.step(gate.interrupted, block, map, tree);
                } else {
                    self.lost += 1;
                    self.restart(block, map, tree);
                }
            }
            (_, Ending::Other) if function != top.function => {
                self.replace(function, map, tree);
                // From the vector's stub into the common code: one interrupt, not two.
                if block.first && !gate_on_top {
                    tree.entered(self.top());
                }
            }
            (_, Ending::Other) => {}
        }
    }

    fn interrupt(&mut self, leaving: Leaving, block: &Block, map: &Map, tree: &mut Tree) {
        // An interrupt has nothing to do with the code that it interrupts; an exception has.
        let parent = match map.mark(block.function) {
            Mark::Exception => self.top(),
            _ => self.root,
        };
        let node = tree.child(parent, block.function, map);
        tree.entered(node);
        self.frames.push(Frame {
            function: block.function,
            node,
            back: 0,
            gate: Some(Gate {
                interrupted: leaving,
                node,
            }),
        });
    }

    fn come_back(&mut self, block: &Block, map: &Map, tree: &mut Tree) {
        let gate = self.frames.iter().rposition(|frame| frame.gate.is_some());
        let open = gate.map_or(0, |gate| gate + 1);
        let found = self.frames[open..]
            .iter()
            .rposition(|frame| frame.back == block.start);
        match found {
            Some(above) => self.frames.truncate(open + above),
            None if self.frames.len() > open => {
                self.frames.pop();
                // The new task's stack is not known; this is not counted as lost.
                self.lost += u64::from(self.frames.len() > open);
            }
            None => self.lost += 1,
        }
        match self.frames.last() {
            Some(top) if top.function == block.function => {}
            Some(top) if map.mark(top.function) != Mark::Softirq => {
                self.replace(block.function, map, tree)
            }
            _ => self.push(block.function, 0, None, map, tree),
        }
    }

    fn restart(&mut self, block: &Block, map: &Map, tree: &mut Tree) {
        self.frames.clear();
        self.push(block.function, 0, None, map, tree);
        if block.first {
            tree.entered(self.top());
        }
    }

    fn push(&mut self, function: u32, back: u64, gate: Option<Gate>, map: &Map, tree: &mut Tree) {
        if self.frames.len() >= MAX_DEPTH {
            self.frames.clear();
            self.lost += 1;
        }
        let node = tree.child(self.top(), function, map);
        self.frames.push(Frame {
            function,
            node,
            back,
            gate,
        });
    }

    /// A jump into another function: it replaces the function that jumped, and returns where that one would have returned.
    fn replace(&mut self, function: u32, map: &Map, tree: &mut Tree) {
        if let Some(old) = self.frames.pop() {
            match old.gate {
                // The entry code's functions are all below the one that was entered first, in its context.
                Some(gate) => {
                    let node = tree.child(gate.node, function, map);
                    self.frames.push(Frame {
                        function,
                        node,
                        ..old
                    });
                }
                None => self.push(function, old.back, None, map, tree),
            }
        }
    }
}
