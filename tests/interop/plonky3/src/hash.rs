//! The two hashes of the profile: a statement names one of them, and everything but its tables depends on it.

use p3_blake3::Blake3;
use p3_keccak::Keccak256Hash;
use p3_symmetric::CryptographicHasher;
use serde::Deserialize;

pub type Digest = [u8; 32];

/// A hash as a statement names it; the binding holds its number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum HashName {
    Keccak = 0,
    Blake3 = 1,
}

/// A hash as Plonky3 computes it.
pub trait Hash: CryptographicHasher<u8, Digest> + Copy + Send + Sync + 'static {
    const HASHER: Self;

    /// The hash of the parts, one behind the other.
    fn of(parts: &[&[u8]]) -> Digest {
        Self::HASHER.hash_iter_slices(parts.iter().copied())
    }
}

impl Hash for Keccak256Hash {
    const HASHER: Self = Self;
}

impl Hash for Blake3 {
    const HASHER: Self = Self;
}
