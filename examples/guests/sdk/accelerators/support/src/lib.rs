//! What all accelerator functions share: the types of `zkvm_accelerators.h`, results, memory and failure.
//!
//! On the machine (`target_os = "none"`) memory and failure come from the C part of `libzkvm.a`. On any other target, for
//! tests, they are those of the standard library.
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

/// Returns the caller's buffer of `count` bytes. The pointer is not used if there are none.
///
/// # Safety
/// `count` is 0, or `pointer` is null, which ends the execution, or valid for writing `count` bytes for `'a`, and no
/// other reference to these bytes is used while the result is.
pub unsafe fn slice_mut<'a>(pointer: *mut u8, count: usize) -> &'a mut [u8] {
    if count == 0 {
        return &mut [];
    }
    check_pointer(pointer);
    unsafe { core::slice::from_raw_parts_mut(pointer, count) }
}

/// Writes `value` and returns [`EOK`], or returns [`EFAIL`] and writes nothing.
///
/// # Safety
/// As [`write`].
pub unsafe fn finish<T>(value: Option<T>, result: *mut T) -> Status {
    match value {
        Some(value) => {
            unsafe { write(result, value) };
            EOK
        }
        None => EFAIL,
    }
}

/// Writes the verdict and returns [`EOK`], or writes false and returns [`EFAIL`].
///
/// # Safety
/// As [`write`].
pub unsafe fn finish_check(verdict: Option<bool>, verified: *mut bool) -> Status {
    unsafe { write(verified, verdict.unwrap_or(false)) };
    if verdict.is_some() {
        EOK
    } else {
        EFAIL
    }
}

/// Runs `work` and then frees all memory that it allocated. Its result must not refer to any.
pub fn with_memory<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "none")]
    let mark = machine::mark();
    let result = work();
    #[cfg(target_os = "none")]
    machine::release(mark);
    result
}
