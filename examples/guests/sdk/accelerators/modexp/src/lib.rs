//! `zkvm_modexp` (EIP-198).
#![cfg_attr(target_os = "none", no_std)]

use zkvm_support::{slice, slice_mut, with_memory, Status, EOK};

/// Computes `base ^ exp mod modulus` of big-endian numbers of any length, 0 included. Never fails.
///
/// A number of no bytes is 0, 0 ^ 0 is 1, and the result for a modulus of 0 is 0. The result has `mod_len` bytes.
///
/// # Safety
/// As in C: each pointer points to the stated number of bytes; `output` may overlap the arguments.
#[no_mangle]
pub unsafe extern "C" fn zkvm_modexp(
    base: *const u8,
    base_len: usize,
    exp: *const u8,
    exp_len: usize,
    modulus: *const u8,
    mod_len: usize,
    output: *mut u8,
) -> Status {
    with_memory(|| {
        let (base, exp, modulus) =
            unsafe { (slice(base, base_len), slice(exp, exp_len), slice(modulus, mod_len)) };
        let result = aurora_engine_modexp::modexp(base, exp, modulus);
        let output = unsafe { slice_mut(output, mod_len) };
        let (zeros, digits) = output.split_at_mut(mod_len - result.len());
        zeros.fill(0);
        digits.copy_from_slice(&result);
    });
    EOK
}
