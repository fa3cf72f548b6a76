//! Sorts the lines of its input, and puts out the Keccak-256 of the result.
#![no_std]
#![no_main]

extern crate alloc;

#[path = "../sdk/zkvm.rs"]
mod zkvm;

use alloc::vec::Vec;

#[no_mangle]
extern "C" fn main() -> i32 {
    let mut lines: Vec<&[u8]> = zkvm::read_input().split(|&byte| byte == b'\n').collect();
    lines.sort();
    zkvm::write_output(&zkvm::keccak256(&lines.join(&b'\n')));
    0
}
