//! graphprover as a zkVM of [ere](https://github.com/eth-act/ere): compile, key, execute, prove, verify.
//!
//! Each method runs the command `graphprover`, or the one that the environment variable `GRAPHPROVER` names, and reads
//! the JSON that it prints with `--json`.

mod command;
mod compiler;
mod error;
mod prover;
mod verifier;

pub use compiler::GraphproverCompiler;
pub use error::Error;
pub use prover::{Cost, GraphproverProver};
pub use verifier::GraphproverVerifier;
