//! Checks blocks on the host, as the guest does.
//!
//! ```text
//! block-runner check INPUT...          the guest's inputs; prints a line for each
//! block-runner fixtures FILE...        Ethereum's blockchain tests; prints the tests that differ
//! block-runner export FILE TEST DIR    the inputs of the blocks of a test
//! block-runner seal DRAFT...           completes the header of the block in each input, in place
//! ```
mod fixtures;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check", ref files @ ..] => files.iter().all(|file| check(file)),
        ["fixtures", ref files @ ..] => fixtures::run(files),
        ["export", file, test, folder] => fixtures::export(file, test, Path::new(folder)),
        ["seal", ref files @ ..] => files.iter().all(|file| seal(file)),
        _ => {
            eprintln!("usage: block-runner check INPUT... | fixtures FILE... | export FILE TEST DIR | seal DRAFT...");
            false
        }
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn check(file: &str) -> bool {
    let input = fs::read(file).expect("the input can be read");
    match block_core::check(&input, block_core::GAS_LIMIT, &mut ()) {
        Ok(valid) => {
            println!("{file}: valid: block {} state {} gas {}", valid.hash, valid.state_root, valid.gas_used);
            true
        }
        Err(refusal) => {
            println!("{file}: {refusal}");
            false
        }
    }
}

fn seal(file: &str) -> bool {
    let bytes = fs::read(file).expect("the draft can be read");
    let draft = block_core::Input::parse(&bytes).expect("the draft has the form of an input");
    match block_core::seal(&bytes, &mut ()) {
        Ok(block) => {
            let sealed = block_core::Input { block: &block, ..draft };
            fs::write(file, sealed.to_bytes()).expect("the file can be written");
            true
        }
        Err(refusal) => {
            println!("{file}: {refusal}");
            false
        }
    }
}
