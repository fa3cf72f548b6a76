//! A Plonky3 `Air` that interprets a table's description: a hash-consed graph of field operations.

use p3_air::{Air, AirBuilder, BaseAir, DebugConstraintBuilder, WindowAccess};
use p3_batch_stark::folder::{ProverConstraintFolderWithLookups, VerifierConstraintFolderWithLookups};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Count, InteractionBuilder, InteractionSymbolicBuilder};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;

use crate::description::{Description, Node, operands};
use crate::hash::Hash;
use crate::profile::{Challenge, Config, Val};
use crate::statement::{Result, element};

/// What a step leaves in its register. Operands are registers.
#[derive(Clone, Copy)]
enum Operation {
    Constant(Val),
    Main(u32),
    MainNext(u32),
    Preprocessed(u32),
    PreprocessedNext(u32),
    Public(u32),
    FirstRow,
    LastRow,
    Transition,
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Neg(u32),
}

#[derive(Clone, Copy)]
enum Step {
    Set(u32, Operation),
    /// Hands the register to the caller as the next root.
    Emit(u32),
}

/// Straight-line code for some roots of the graph, each node computed once, registers reused after their last reader:
/// the prover runs this for every packed row, and its working set should stay in the nearest cache.
#[derive(Clone)]
struct Program {
    steps: Vec<Step>,
    registers: usize,
}

impl Program {
    fn compile(nodes: &[Node], roots: &[usize]) -> Result<Self> {
        let order = schedule(nodes, roots);
        let mut readers = vec![0usize; nodes.len()];
        for &item in &order {
            match item {
                Item::Node(node) => operands(nodes[node]).for_each(|child| readers[child] += 1),
                Item::Root(node) => readers[node] += 1,
            }
        }
        let mut register = vec![u32::MAX; nodes.len()];
        let mut free = Vec::new();
        let mut registers = 0;
        let mut steps = Vec::with_capacity(order.len());
        let mut release = |node: usize, free: &mut Vec<u32>, register: &[u32]| {
            readers[node] -= 1;
            if readers[node] == 0 {
                free.push(register[node]);
            }
        };
        for item in order {
            match item {
                Item::Node(node) => {
                    let operation = operation(nodes[node], &register)?;
                    operands(nodes[node]).for_each(|child| release(child, &mut free, &register));
                    register[node] = free.pop().unwrap_or_else(|| {
                        registers += 1;
                        registers as u32 - 1
                    });
                    steps.push(Step::Set(register[node], operation));
                }
                Item::Root(node) => {
                    steps.push(Step::Emit(register[node]));
                    release(node, &mut free, &register);
                }
            }
        }
        Ok(Self { steps, registers })
    }

    /// Evaluates on the builder's current row, passing the roots on in order.
    fn run<AB: AirBuilder<F = Val>>(&self, builder: &mut AB, mut emit: impl FnMut(&mut AB, AB::Expr)) {
        let main = builder.main();
        let preprocessed = builder.preprocessed().clone();
        let mut registers = vec![AB::Expr::ZERO; self.registers];
        for &step in &self.steps {
            match step {
                Step::Set(target, operation) => {
                    let value = |register: u32| registers[register as usize].clone();
                    registers[target as usize] = match operation {
                        Operation::Constant(constant) => constant.into(),
                        Operation::Main(column) => main.current_slice()[column as usize].into(),
                        Operation::MainNext(column) => main.next_slice()[column as usize].into(),
                        Operation::Preprocessed(column) => preprocessed.current_slice()[column as usize].into(),
                        Operation::PreprocessedNext(column) => preprocessed.next_slice()[column as usize].into(),
                        Operation::Public(index) => builder.public_values()[index as usize].into(),
                        Operation::FirstRow => builder.is_first_row(),
                        Operation::LastRow => builder.is_last_row(),
                        Operation::Transition => builder.is_transition(),
                        Operation::Add(a, b) => value(a) + value(b),
                        Operation::Sub(a, b) => value(a) - value(b),
                        Operation::Mul(a, b) => value(a) * value(b),
                        Operation::Neg(a) => -value(a),
                    };
                }
                Step::Emit(register) => emit(builder, registers[register as usize].clone()),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Item {
    Node(usize),
    Root(usize),
}

/// Every node that the roots need, right before the first root that needs it.
fn schedule(nodes: &[Node], roots: &[usize]) -> Vec<Item> {
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::new();
    for &root in roots {
        let mut stack = vec![(root, false)];
        while let Some((node, ready)) = stack.pop() {
            if ready {
                order.push(Item::Node(node));
            } else if !std::mem::replace(&mut seen[node], true) {
                stack.push((node, true));
                let children: Vec<usize> = operands(nodes[node]).collect();
                stack.extend(children.into_iter().rev().map(|child| (child, false)));
            }
        }
        order.push(Item::Root(root));
    }
    order
}

fn operation((op, a, b): Node, register: &[u32]) -> Result<Operation> {
    let of = |node: u64| register[node as usize];
    Ok(match (op, b) {
        (0, _) => Operation::Constant(element(a)?),
        (1, 0) => Operation::Main(a as u32),
        (1, 1) => Operation::MainNext(a as u32),
        (2, 0) => Operation::Preprocessed(a as u32),
        (2, 1) => Operation::PreprocessedNext(a as u32),
        (3, _) => Operation::Public(a as u32),
        (4, _) => Operation::FirstRow,
        (5, _) => Operation::LastRow,
        (6, _) => Operation::Transition,
        (7, _) => Operation::Add(of(a), of(b)),
        (8, _) => Operation::Sub(of(a), of(b)),
        (9, _) => Operation::Mul(of(a), of(b)),
        (10, _) => Operation::Neg(of(a)),
        _ => return Err(format!("unknown operation [{op}, {a}, {b}]")),
    })
}

/// One table of a statement.
#[derive(Clone)]
pub struct Table {
    pub description: Description,
    preprocessed: Option<RowMajorMatrix<Val>>,
    /// The constraints alone, for the prover's and the verifier's folders, which ignore interactions.
    constraints: Program,
    /// The constraints, then every field and multiplicity of the locals, then of the globals.
    everything: Program,
}

impl Table {
    /// Checks the description and compiles it.
    pub fn new(description: Description, preprocessed: Option<RowMajorMatrix<Val>>) -> Result<Self> {
        let fail = |message: String| format!("table {}: {message}", description.name);
        if preprocessed.as_ref().map_or(0, |trace| trace.width()) != description.preprocessed_width {
            return Err(fail("preprocessed columns differ from the declared width".into()));
        }
        description.check().map_err(fail)?;
        Ok(Self {
            constraints: Program::compile(&description.nodes, &description.constraints)?,
            everything: Program::compile(&description.nodes, &description.roots())?,
            description,
            preprocessed,
        })
    }
}

impl BaseAir<Val> for Table {
    fn width(&self) -> usize {
        self.description.main_width
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<Val>> {
        self.preprocessed.clone()
    }

    fn preprocessed_width(&self) -> usize {
        self.description.preprocessed_width
    }

    fn num_public_values(&self) -> usize {
        self.description.num_public_values
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        all_or_none(self.description.main_next(), self.description.main_width)
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        all_or_none(
            self.description.preprocessed_next(),
            self.description.preprocessed_width,
        )
    }
}

fn all_or_none(all: bool, width: usize) -> Vec<usize> {
    if all { (0..width).collect() } else { Vec::new() }
}

impl Air<InteractionSymbolicBuilder<Val, Challenge>> for Table {
    fn eval(&self, builder: &mut InteractionSymbolicBuilder<Val, Challenge>) {
        let mut constraints = self.description.constraints.len();
        let mut terms = Vec::new();
        self.everything.run(builder, |builder, value| {
            if constraints > 0 {
                constraints -= 1;
                builder.assert_zero(value);
            } else {
                terms.push(value);
            }
        });
        let mut terms = terms.into_iter();
        let mut take = |fields: &[usize], weight: u32| {
            let fields: Vec<_> = terms.by_ref().take(fields.len()).collect();
            let multiplicity = terms.next().expect("one root a field and a multiplicity");
            (fields, Count::bounded(multiplicity, weight))
        };
        for local in &self.description.locals {
            let tuples: Vec<_> = local
                .tuples
                .iter()
                .map(|tuple| take(&tuple.fields, tuple.weight))
                .collect();
            builder.push_local_interaction(tuples);
        }
        for global in &self.description.globals {
            let (fields, count) = take(&global.fields, global.weight);
            builder.push_interaction(&global.bus, fields, count);
        }
    }
}

impl<'a, H: Hash> Air<ProverConstraintFolderWithLookups<'a, Config<H>>> for Table {
    fn eval(&self, builder: &mut ProverConstraintFolderWithLookups<'a, Config<H>>) {
        self.constraints.run(builder, AirBuilder::assert_zero);
    }
}

impl<'a, H: Hash> Air<VerifierConstraintFolderWithLookups<'a, Config<H>>> for Table {
    fn eval(&self, builder: &mut VerifierConstraintFolderWithLookups<'a, Config<H>>) {
        self.constraints.run(builder, AirBuilder::assert_zero);
    }
}

/// Plonky3's prover checks the trace row by row when built with debug assertions.
impl<'a> Air<DebugConstraintBuilder<'a, Val, Challenge>> for Table {
    fn eval(&self, builder: &mut DebugConstraintBuilder<'a, Val, Challenge>) {
        self.constraints.run(builder, AirBuilder::assert_zero);
    }
}
