//! Checks a block of Ethereum from a witness of the state before it.
//!
//! The output of a valid block is that of `Valid::to_bytes`, and the exit code is 0. For an invalid block the output is
//! "invalid: " and a reason, and the exit code 1. If the witness does not suffice to tell, it is "no verdict: " and a
//! reason, and the exit code 2.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::string::ToString;

use graphprover_guest::{entry, read_input, write_output};

entry!(main);

fn main() -> i32 {
    graphprover_guest::alloy::install();
    graphprover_guest::revm::install();
    match block_core::check(read_input(), block_core::GAS_LIMIT, &mut ()) {
        Ok(valid) => {
            write_output(&valid.to_bytes());
            0
        }
        Err(refusal) => {
            write_output(refusal.to_string().as_bytes());
            refusal.exit_code()
        }
    }
}
