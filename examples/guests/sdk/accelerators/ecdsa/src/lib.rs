//! `zkvm_secp256k1_verify`, `zkvm_secp256k1_ecrecover` and `zkvm_secp256r1_verify`.
//!
//! The functions that verify never fail: a key that is no point of the curve and a signature out of range verify
//! nothing, which is what EIP-7951 says of the precompile. The message's hash is reduced modulo the group's order.
#![cfg_attr(target_os = "none", no_std)]

mod secp256k1;
mod secp256r1;

use zkvm_support::{finish, read, with_memory, write, Bytes, Status, EOK};

/// Returns the SEC1 encoding of an uncompressed point.
fn sec1(point: &Bytes<64>) -> [u8; 65] {
    let mut bytes = [4; 65];
    bytes[1..].copy_from_slice(&point.0);
    bytes
}

/// Verifies an ECDSA signature on secp256k1. Never fails: see the module.
///
/// A high s is valid. (EIP-2 refuses it in transactions only.)
///
/// # Safety
/// As in C: the pointers point to values of their types, which may overlap.
#[no_mangle]
pub unsafe extern "C" fn zkvm_secp256k1_verify(
    msg: *const Bytes<32>,
    sig: *const Bytes<64>,
    pubkey: *const Bytes<64>,
    verified: *mut bool,
) -> Status {
    let (message, signature, key) = unsafe { (read(msg), read(sig), read(pubkey)) };
    let result = secp256k1::verify(&message.0, &signature.0, &sec1(&key));
    unsafe { write(verified, result) };
    EOK
}

/// Recovers the public key from an ECDSA signature on secp256k1.
///
/// Bit 0 of `recid` is the parity of y of the point R of the signature. Bit 1 states that its x is r + n, where n is the
/// group's order. (The precompile has the values 0 and 1 only: v = 27 and 28.) A high s is valid. Fails if r or s is
/// not in [1, n), if `recid` is above 3, if there is no such point R, or if the key would be the point at infinity. The
/// precompile returns nothing in these cases.
///
/// # Safety
/// As [`zkvm_secp256k1_verify`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_secp256k1_ecrecover(
    msg: *const Bytes<32>,
    sig: *const Bytes<64>,
    recid: u8,
    output: *mut Bytes<64>,
) -> Status {
    let (message, signature) = unsafe { (read(msg), read(sig)) };
    let point = secp256k1::recover(&message.0, &signature.0, recid);
    let key = point.and_then(|point| Some(Bytes(point[1..].try_into().ok()?)));
    unsafe { finish(key, output) }
}

/// Verifies an ECDSA signature on secp256r1 (EIP-7951). Never fails: see the module.
///
/// # Safety
/// As [`zkvm_secp256k1_verify`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_secp256r1_verify(
    msg: *const Bytes<32>,
    sig: *const Bytes<64>,
    pubkey: *const Bytes<64>,
    verified: *mut bool,
) -> Status {
    let (message, signature, key) = unsafe { (read(msg), read(sig), read(pubkey)) };
    let result = with_memory(|| secp256r1::verify(&message.0, &signature.0, &key.0));
    unsafe { write(verified, result) };
    EOK
}
