// SPDX-License-Identifier: GPL-2.0-or-later
//! The tree of calling contexts: one node for every stack of functions that was seen.

use serde::Serialize;

use super::access::{self, Access, Count, Space};
use super::lines::User;
use super::map::{Map, Mark};

/// The context in which code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Context {
    /// A task, in the kernel or in user space.
    Process,
    /// A softirq, whatever task or interrupt runs it.
    Softirq,
    /// An interrupt, from the processor's entry to its return, without the softirqs in between.
    HardIrq,
    /// The idle task.
    Idle,
}

impl Context {
    /// The context of a function that is entered from this context.
    fn enter(self, mark: Mark) -> Self {
        match mark {
            Mark::Vectors | Mark::Interrupt => Context::HardIrq,
            Mark::Softirq => Context::Softirq,
            Mark::Idle if self == Context::Process => Context::Idle,
            _ => self,
        }
    }
}

/// A node's number; the root, which is not a function, has 0.
pub type NodeId = usize;
/// The root.
pub const ROOT: NodeId = 0;
/// Numbers of functions from here on are processors: below each, if there are several, is what it executed.
const PROCESSORS: u32 = u32::MAX - 64;

#[derive(Debug)]
struct Node {
    function: u32,
    context: Context,
    instructions: u64,
    entries: u64,
    accesses: Vec<Count>,
    children: Vec<NodeId>,
}

/// The tree.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Whether anything is counted at present.
    counting: bool,
}

/// A node of a result: its parent's place in the list (-1: none), where its function begins, its context, the instructions executed in
/// it (not in its children), and how often it was entered. The node of one of several processors has its number, from 1 on, as address.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Row(pub i64, pub u64, pub Context, pub u64, pub u64);

/// Accesses to one place by one node: the node's place in the list, what the place is in, its address, reads, writes.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct IoRow(pub i64, pub Space, pub u64, pub u64, pub u64);

impl Default for Tree {
    fn default() -> Self {
        let root = Node {
            function: u32::MAX,
            context: Context::Process,
            instructions: 0,
            entries: 0,
            accesses: Vec::new(),
            children: Vec::new(),
        };
        Tree {
            nodes: vec![root],
            counting: false,
        }
    }
}

impl Tree {
    /// The node of `function` below `parent`.
    pub fn child(&mut self, parent: NodeId, function: u32, map: &Map) -> NodeId {
        let found = self.nodes[parent]
            .children
            .iter()
            .copied()
            .find(|child| self.nodes[*child].function == function);
        if let Some(child) = found {
            return child;
        }
        let context = self.nodes[parent].context.enter(map.mark(function));
        self.add(parent, function, context)
    }

    fn add(&mut self, parent: NodeId, function: u32, context: Context) -> NodeId {
        let child = self.nodes.len();
        self.nodes.push(Node {
            function,
            context,
            instructions: 0,
            entries: 0,
            accesses: Vec::new(),
            children: Vec::new(),
        });
        self.nodes[parent].children.push(child);
        child
    }

    /// A new node for one of several processors.
    pub fn processor(&mut self, number: u32) -> NodeId {
        self.add(ROOT, PROCESSORS + number, Context::Process)
    }

    /// A node's function and context.
    pub fn user(&self, node: NodeId) -> User {
        User::new(self.nodes[node].function, self.nodes[node].context)
    }

    /// Counts instructions executed in a node.
    pub fn executed(&mut self, node: NodeId, instructions: u64) {
        if self.counting {
            self.nodes[node].instructions += instructions;
        }
    }

    /// The last instruction that was counted in a node was not executed after all.
    pub fn undone(&mut self, node: NodeId) {
        if self.counting {
            let instructions = &mut self.nodes[node].instructions;
            *instructions = instructions.saturating_sub(1);
        }
    }

    /// Counts that a node's function was entered at its beginning.
    pub fn entered(&mut self, node: NodeId) {
        if self.counting {
            self.nodes[node].entries += 1;
        }
    }

    /// Counts an access to a device by a node.
    pub fn accessed(&mut self, node: NodeId, access: Access) {
        if self.counting {
            access::add(&mut self.nodes[node].accesses, access);
        }
    }

    /// Starts counting, from 0, or stops.
    pub fn count(&mut self, counting: bool) {
        self.counting = counting;
        if !counting {
            return;
        }
        for node in &mut self.nodes {
            node.instructions = 0;
            node.entries = 0;
            node.accesses.clear();
        }
    }

    /// All instructions counted.
    pub fn total(&self) -> u64 {
        self.nodes.iter().map(|node| node.instructions).sum()
    }

    /// The nodes in which anything was counted and those above them, depth first, siblings by address; and their accesses.
    pub fn rows(&self, map: &Map) -> (Vec<Row>, Vec<IoRow>) {
        let mut alive: Vec<bool> = self
            .nodes
            .iter()
            .map(|node| node.instructions + node.entries > 0 || !node.accesses.is_empty())
            .collect();
        // A child's number is higher than its parent's.
        for id in (0..self.nodes.len()).rev() {
            alive[id] |= self.nodes[id].children.iter().any(|child| alive[*child]);
        }
        let mut rows = Vec::new();
        let mut io = Vec::new();
        let mut to_do = vec![(-1, ROOT)];
        while let Some((parent, id)) = to_do.pop() {
            let node = &self.nodes[id];
            let mut here = -1;
            // Instructions before the first function is known are the root's.
            if id != ROOT || node.instructions > 0 || !node.accesses.is_empty() {
                here = rows.len() as i64;
                let start = match node.function {
                    u32::MAX => 0, // the root
                    PROCESSORS.. => u64::from(node.function - PROCESSORS) + 1,
                    function => map.start(function),
                };
                rows.push(Row(
                    parent,
                    start,
                    node.context,
                    node.instructions,
                    node.entries,
                ));
            }
            let mut accesses = node.accesses.clone();
            accesses.sort_by_key(|count| (count.space, count.address));
            io.extend(
                accesses
                    .into_iter()
                    .map(|c| IoRow(here, c.space, c.address, c.reads, c.writes)),
            );
            let mut children: Vec<NodeId> = node
                .children
                .iter()
                .copied()
                .filter(|child| alive[*child])
                .collect();
            children.sort_by_key(|child| std::cmp::Reverse(self.nodes[*child].function));
            to_do.extend(children.into_iter().map(|child| (here, child)));
        }
        (rows, io)
    }
}
