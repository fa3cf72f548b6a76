//! Input, output, exit and the host's numbers, all by the kit's library.
use core::{fmt, ptr, slice};

mod library {
    unsafe extern "C" {
        pub fn read_input(bytes: *mut *const u8, size: *mut usize);
        pub fn write_output(bytes: *const u8, size: usize);
        pub fn zkvm_random_u64() -> u64;
        pub fn exit(code: i32) -> !;
    }
}

/// Return the input, in place: aligned to 8 bytes, the same at every call.
///
/// Unless the proof states it (`graphprover prove --commit-input`), the prover is free to choose it: any size, any
/// bytes. Write its hash to the output if it matters which input it was.
pub fn read_input() -> &'static [u8] {
    let mut bytes = ptr::null();
    let mut size = 0;
    // Safety: the library sets both to a region that is there for the whole run and that nothing writes to.
    unsafe {
        library::read_input(&mut bytes, &mut size);
        slice::from_raw_parts(bytes, size)
    }
}

/// Append bytes to the public output.
pub fn write_output(bytes: &[u8]) {
    // Safety: the function reads `size` bytes.
    unsafe { library::write_output(bytes.as_ptr(), bytes.len()) }
}

/// The public output, for `writeln!(Output, ...)`.
pub struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_output(text.as_bytes());
        Ok(())
    }
}

/// End the guest with an exit code; 0 means success.
///
/// Returning from the main function does the same.
pub fn exit(code: i32) -> ! {
    // Safety: the function has no condition.
    unsafe { library::exit(code) }
}

/// Return a number that the prover chooses.
///
/// It is private input, and a proof states nothing about it: use it to balance a tree, never as a key.
pub fn random_u64() -> u64 {
    // Safety: the function has no condition.
    unsafe { library::zkvm_random_u64() }
}
