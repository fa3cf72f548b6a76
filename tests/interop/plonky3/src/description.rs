//! A table's description: read, checked, and written as the bytes that identify it (docs/protocol.md, section 2).

use serde::Deserialize;

use crate::statement::Result;

const AIR_MAGIC: &[u8] = b"graphprover air 1";

/// An operation and its operands, `(op, a, b)`.
pub type Node = (u8, u64, u64);

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// For people.
    pub name: String,
    pub main_width: usize,
    pub preprocessed_width: usize,
    pub num_public_values: usize,
    /// Operands before the operations that use them.
    pub nodes: Vec<Node>,
    /// Nodes asserted to be zero on every row, in emission order.
    pub constraints: Vec<usize>,
    pub locals: Vec<Local>,
    pub globals: Vec<Global>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    pub tuples: Vec<Tuple>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuple {
    pub fields: Vec<usize>,
    pub multiplicity: usize,
    pub weight: u32,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Global {
    pub bus: String,
    pub fields: Vec<usize>,
    pub multiplicity: usize,
    pub weight: u32,
}

/// The nodes that an operation reads; one that reads a node twice names it twice.
pub fn operands((op, a, b): Node) -> impl Iterator<Item = usize> {
    let count = match op {
        7..=9 => 2,
        10 => 1,
        _ => 0,
    };
    [a as usize, b as usize].into_iter().take(count)
}

impl Description {
    /// Every node that something outside of the nodes names: constraints, then the fields and the multiplicity of each
    /// tuple of the locals, then of the globals.
    pub fn roots(&self) -> Vec<usize> {
        let mut roots = self.constraints.clone();
        for tuple in self.locals.iter().flat_map(|local| &local.tuples) {
            roots.extend(tuple.fields.iter().chain([&tuple.multiplicity]));
        }
        for global in &self.globals {
            roots.extend(global.fields.iter().chain([&global.multiplicity]));
        }
        roots
    }

    /// Refuses a description with an index out of range.
    pub fn check(&self) -> Result<()> {
        if self.roots().iter().any(|&root| root >= self.nodes.len()) {
            return Err("a constraint or interaction names a missing node".into());
        }
        for (index, &node) in self.nodes.iter().enumerate() {
            if operands(node).any(|child| child >= index) {
                return Err("a node comes before its operand".into());
            }
            let limit = match node.0 {
                1 => self.main_width,
                2 => self.preprocessed_width,
                3 => self.num_public_values,
                _ => continue,
            };
            if node.1 >= limit as u64 {
                return Err("a node reads a missing column or public value".into());
            }
        }
        Ok(())
    }

    /// Whether a node reads the next row of the main trace.
    pub fn main_next(&self) -> bool {
        self.nodes.iter().any(|&(op, _, offset)| op == 1 && offset != 0)
    }

    /// Whether a node reads the next row of the preprocessed trace.
    pub fn preprocessed_next(&self) -> bool {
        self.nodes.iter().any(|&(op, _, offset)| op == 2 && offset != 0)
    }

    /// Whether whatever the table sends or provides, it does zero times: a constraint on every row says so.
    pub fn sends_nothing(&self) -> bool {
        let is_zero = |node: usize| match self.nodes[node] {
            (10, negated, _) => self.constraints.contains(&(negated as usize)),
            _ => self.constraints.contains(&node),
        };
        self.locals.is_empty() && self.globals.iter().all(|global| is_zero(global.multiplicity))
    }

    /// All that the table says, but no name except those of its buses.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = AIR_MAGIC.to_vec();
        let mut words = Words(&mut bytes);
        words.push(self.main_width);
        words.push(self.preprocessed_width);
        words.push(self.num_public_values);
        words.push(self.nodes.len());
        for &(op, a, b) in &self.nodes {
            [u64::from(op), a, b].iter().for_each(|&word| words.push_word(word));
        }
        words.push_list(&self.constraints);
        words.push(self.locals.len());
        for local in &self.locals {
            words.push_text("");
            words.push(local.tuples.len());
            for tuple in &local.tuples {
                words.push_tuple(&tuple.fields, tuple.multiplicity, tuple.weight);
            }
        }
        words.push(self.globals.len());
        for global in &self.globals {
            words.push_text(&global.bus);
            words.push(1);
            words.push_tuple(&global.fields, global.multiplicity, global.weight);
        }
        bytes
    }
}

/// Bytes that grow by words, u64 LE.
struct Words<'a>(&'a mut Vec<u8>);

impl Words<'_> {
    fn push_word(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    fn push(&mut self, number: usize) {
        self.push_word(number as u64);
    }

    /// The length, then the members.
    fn push_list(&mut self, numbers: &[usize]) {
        self.push(numbers.len());
        numbers.iter().for_each(|&number| self.push(number));
    }

    /// The length in bytes, then the bytes.
    fn push_text(&mut self, text: &str) {
        self.push(text.len());
        self.0.extend(text.as_bytes());
    }

    fn push_tuple(&mut self, fields: &[usize], multiplicity: usize, weight: u32) {
        self.push_list(fields);
        self.push(multiplicity);
        self.push_word(weight.into());
    }
}
