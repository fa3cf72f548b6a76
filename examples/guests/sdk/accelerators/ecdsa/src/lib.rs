//! `zkvm_secp256k1_verify`, `zkvm_secp256k1_ecrecover` and `zkvm_secp256r1_verify`.
//!
//! The functions that verify never fail: a key that is no point of the curve and a signature out of range verify
//! nothing, which is what EIP-7951 says of the precompile. The message's hash is reduced modulo the group's order.
#![cfg_attr(target_os = "none", no_std)]

use k256::ecdsa::RecoveryId;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use zkvm_support::{finish, read, write, Bytes, Status, EOK};

/// Returns the SEC1 encoding of an uncompressed point.
fn sec1(point: &Bytes<64>) -> [u8; 65] {
    let mut bytes = [4; 65];
    bytes[1..].copy_from_slice(&point.0);
    bytes
}

fn verify_secp256k1(message: &[u8], signature: &[u8], key: &[u8]) -> Option<()> {
    // The crate refuses a high s, as EIP-2 does for transactions. Of (r, s) and (r, n - s) both are valid or none.
    let signature = k256::ecdsa::Signature::from_slice(signature).ok()?.normalize_s();
    let key = k256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    key.verify_prehash(message, &signature).ok()
}

fn verify_secp256r1(message: &[u8], signature: &[u8], key: &[u8]) -> Option<()> {
    let signature = p256::ecdsa::Signature::from_slice(signature).ok()?;
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    key.verify_prehash(message, &signature).ok()
}

fn recover(message: &[u8], signature: &[u8], recid: u8) -> Option<Bytes<64>> {
    let signature = k256::ecdsa::Signature::from_slice(signature).ok()?;
    let id = RecoveryId::from_byte(recid)?;
    let key = k256::ecdsa::VerifyingKey::recover_from_prehash(message, &signature, id).ok()?;
    let point = key.to_sec1_point(false);
    Some(Bytes(point.as_bytes()[1..].try_into().ok()?))
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
    let result = verify_secp256k1(&message.0, &signature.0, &sec1(&key)).is_some();
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
    let key = recover(&message.0, &signature.0, recid);
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
    let result = verify_secp256r1(&message.0, &signature.0, &sec1(&key)).is_some();
    unsafe { write(verified, result) };
    EOK
}
