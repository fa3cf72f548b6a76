//! `zkvm_ripemd160`.
#![cfg_attr(target_os = "none", no_std)]

use ripemd::{Digest, Ripemd160};
use zkvm_support::{slice, write, Bytes, Status, EOK};

/// Computes RIPEMD-160 of any number of bytes: 12 zero bytes, then the 20 bytes of the hash. Never fails.
///
/// # Safety
/// As in C: `data` points to `len` bytes, `output` to a result that may overlap them.
#[no_mangle]
pub unsafe extern "C" fn zkvm_ripemd160(data: *const u8, len: usize, output: *mut Bytes<32>) -> Status {
    let digest = Ripemd160::digest(unsafe { slice(data, len) });
    let mut padded = [0; 32];
    padded[12..].copy_from_slice(&digest);
    unsafe { write(output, Bytes(padded)) };
    EOK
}
