//! Recovery of signers in alloy-consensus 2 by the accelerators.
use alloc::sync::Arc;

use alloy_consensus::crypto::backend::{install_default_provider, CryptoProvider};
use alloy_consensus::crypto::RecoveryError;
use alloy_primitives::Address;

use crate::accelerators::{keccak256, secp256k1_ecrecover, secp256k1_verify};

/// The first byte of a key in SEC 1 that both its coordinates follow.
const UNCOMPRESSED: u8 = 4;

/// The provider of both operations.
#[derive(Clone, Copy, Debug)]
pub struct Accelerators;

/// Let alloy-consensus use the accelerators. Call it once, before the first signer is recovered.
///
/// # Panics
///
/// A provider is installed already.
pub fn install() {
    install_default_provider(Arc::new(Accelerators)).expect("this is the first provider of alloy-consensus");
}

/// Return the address of a key.
fn address(key: &[u8; 64]) -> Address {
    Address::from_slice(&keccak256(key)[12..])
}

impl CryptoProvider for Accelerators {
    fn recover_signer_unchecked(&self, signature: &[u8; 65], hash: &[u8; 32]) -> Result<Address, RecoveryError> {
        let [numbers @ .., recovery] = signature;
        let key = secp256k1_ecrecover(hash, numbers, *recovery).map_err(|_| RecoveryError::new())?;
        Ok(address(&key))
    }

    fn verify_and_compute_signer_unchecked(
        &self,
        key: &[u8; 65],
        signature: &[u8; 64],
        hash: &[u8; 32],
    ) -> Result<Address, RecoveryError> {
        let [form, point @ ..] = key;
        match secp256k1_verify(hash, signature, point) {
            Ok(true) if *form == UNCOMPRESSED => Ok(address(point)),
            _ => Err(RecoveryError::new()),
        }
    }
}
