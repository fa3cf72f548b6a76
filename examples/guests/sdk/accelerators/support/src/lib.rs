//! What all accelerator functions share: the types of `zkvm_accelerators.h`, results and failure.
//!
//! On the machine (`target_os = "none"`) failure comes from the C part of `libzkvm.a`. On any other target, for tests, it
//! is a panic.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(target_os = "none")]
mod machine;

/// `zkvm_status`: [`EOK`] or [`EFAIL`].
pub type Status = i32;

/// `ZKVM_EOK`.
pub const EOK: Status = 0;

/// `ZKVM_EFAIL`.
pub const EFAIL: Status = -1;

/// `zkvm_bytes_N`: N bytes at an address that is a multiple of 8.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<const N: usize>(pub [u8; N]);

/// Ends the execution with a message on the debug channel; nothing can be proved.
pub fn fail(message: &str) -> ! {
    #[cfg(target_os = "none")]
    machine::fail(message);
    #[cfg(not(target_os = "none"))]
    panic!("{message}");
}

fn check_pointer<T>(pointer: *const T) {
    if pointer.is_null() {
        fail("null pointer in a call of an accelerator");
    }
}

/// Copies a value that the caller points to, before anything is written: results may overlap arguments.
///
/// # Safety
/// `pointer` is null, which ends the execution, or valid for reading.
pub unsafe fn read<T: Copy>(pointer: *const T) -> T {
    check_pointer(pointer);
    unsafe { pointer.read() }
}

/// Writes a result.
///
/// # Safety
/// `pointer` is null, which ends the execution, or valid for writing.
pub unsafe fn write<T>(pointer: *mut T, value: T) {
    check_pointer(pointer);
    unsafe { pointer.write(value) }
}

/// Returns the caller's `count` values. The pointer is not used if there are none.
///
/// # Safety
/// `count` is 0, or `pointer` is null, which ends the execution, or valid for reading `count` values for `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    check_pointer(pointer);
    unsafe { core::slice::from_raw_parts(pointer, count) }
}
