//! The library of guests in Rust for graphprover's RV64IM machine.
//!
//! A guest is a program without the standard library. It reads an input, computes, and writes an output, and a proof
//! states the output and the exit code:
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//!
//! use graphprover_guest::{accelerators, entry, read_input, write_output};
//!
//! entry!(main);
//!
//! fn main() {
//!     write_output(&accelerators::keccak256(read_input()));
//! }
//! ```
//!
//! | part | content |
//! |---|---|
//! | [`entry!`] | names the function that the guest begins at |
//! | [`read_input`], [`write_output`], [`Output`] | input and output as bytes |
//! | `read`, `write` | input and output as values of serde (feature `serde`) |
//! | [`println!`], [`eprintln!`], [`print!`], [`eprint!`] | text on the debug channel, no part of the statement |
//! | [`accelerators`] | the 19 functions of the zkVM standards |
//! | [`numbers`] | products and remainders of 256-bit numbers |
//! | [`exit`], [`random_u64`] | the end; numbers of the host's choice |
//! | `revm`, `alloy` | providers, so that these crates use the accelerators (features of the same names) |
//!
//! The crate brings a global allocator (feature `allocator`), a panic handler (`panic-handler`) and backends of
//! getrandom that refuse (`getrandom`). All three are default features. The start code, input and output, and the
//! accelerators are in the kit's `libzkvm.a`, which this crate links.
#![no_std]

#[cfg(any(feature = "serde", feature = "revm", feature = "alloy"))]
extern crate alloc;

pub mod accelerators;
#[cfg(feature = "allocator")]
mod allocator;
#[cfg(feature = "alloy")]
pub mod alloy;
mod debug;
mod entry;
#[cfg(feature = "getrandom")]
mod getrandom;
mod io;
#[cfg(feature = "native-keccak")]
mod keccak;
pub mod numbers;
#[cfg(feature = "panic-handler")]
mod panic;
#[cfg(feature = "revm")]
pub mod revm;
#[cfg(feature = "serde")]
mod values;

pub use debug::DebugChannel;
pub use entry::Termination;
pub use io::{exit, random_u64, read_input, write_output, Output};
#[cfg(feature = "serde")]
pub use postcard::Error as ValueError;
#[cfg(feature = "serde")]
pub use values::{read, write};

#[doc(hidden)]
pub use debug::print as __print;
