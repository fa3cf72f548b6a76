//! Sorts the lines of its input, and puts out the Keccak-256 of the result.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;

use graphprover_guest::{accelerators::keccak256, entry, println, read_input, write_output};

entry!(main);

fn main() {
    let mut lines: Vec<&[u8]> = read_input().split(|&byte| byte == b'\n').collect();
    lines.sort();
    println!("{} lines", lines.len());
    write_output(&keccak256(&lines.join(&b'\n')));
}
