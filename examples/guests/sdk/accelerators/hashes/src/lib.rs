//! `zkvm_sha256` and `zkvm_ripemd160`.
#![cfg_attr(target_os = "none", no_std)]

use ripemd::Ripemd160;
use sha2::{Digest, Sha256};
use zkvm_support::{slice, write, Bytes, Status, EOK};

/// Computes SHA-256 (FIPS 180-4) of any number of bytes. Never fails.
///
/// # Safety
/// As in C: `data` points to `len` bytes, `output` to a result that may overlap them.
#[no_mangle]
pub unsafe extern "C" fn zkvm_sha256(data: *const u8, len: usize, output: *mut Bytes<32>) -> Status {
    let digest = Sha256::digest(unsafe { slice(data, len) });
    unsafe { write(output, Bytes(digest.into())) };
    EOK
}

/// Computes RIPEMD-160 of any number of bytes: 12 zero bytes, then the 20 bytes of the hash. Never fails.
///
/// # Safety
/// As [`zkvm_sha256`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_ripemd160(data: *const u8, len: usize, output: *mut Bytes<32>) -> Status {
    let digest = Ripemd160::digest(unsafe { slice(data, len) });
    let mut padded = [0; 32];
    padded[12..].copy_from_slice(&digest);
    unsafe { write(output, Bytes(padded)) };
    EOK
}
