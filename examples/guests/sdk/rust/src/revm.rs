//! The precompiles of revm 43 by the accelerators, and its arithmetic by the machine.
use alloc::vec;
use alloc::vec::Vec;

use revm_precompile::bls12_381::{G1Point, G1PointScalar, G2Point, G2PointScalar};
use revm_precompile::{install_crypto, Crypto, PrecompileHalt};

mod arithmetic;

pub use arithmetic::install_arithmetic;

use crate::accelerators::{self, Bls12G1Term, Bls12G2Term, Bls12Pair, Bn254Pair, Refused};

/// The provider of all operations.
#[derive(Clone, Copy, Debug)]
pub struct Accelerators;

/// Let revm's precompiles use the accelerators. Call it once, before the first transaction.
///
/// # Panics
///
/// Another provider is installed, or revm has used its own.
pub fn install() {
    assert!(install_crypto(Accelerators), "revm has a provider of cryptography already: install this one first");
}

/// Join the coordinates of a point.
fn joined<const HALF: usize, const WHOLE: usize>(parts: &[&[u8; HALF]]) -> [u8; WHOLE] {
    let mut whole = [0; WHOLE];
    for (to, part) in whole.chunks_exact_mut(HALF).zip(parts) {
        to.copy_from_slice(*part);
    }
    whole
}

/// Join a point's coordinates, as the accelerators take them.
fn g1((x, y): &G1Point) -> [u8; 96] {
    joined(&[x, y])
}

/// Join a point's coordinates, as the accelerators take them.
fn g2((x0, x1, y0, y1): &G2Point) -> [u8; 192] {
    joined(&[x0, x1, y0, y1])
}

/// Copy bytes to an array of their size.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("revm passes as many bytes as the operation takes")
}

/// Copy words to their bytes, little-endian.
fn little_endian<const N: usize>(words: &[u64]) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl Crypto for Accelerators {
    fn sha256(&self, input: &[u8]) -> [u8; 32] {
        accelerators::sha256(input)
    }

    fn ripemd160(&self, input: &[u8]) -> [u8; 32] {
        accelerators::ripemd160(input)
    }

    fn bn254_g1_add(&self, left: &[u8], right: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        accelerators::bn254_g1_add(&array(left), &array(right)).map_err(not_on_bn254)
    }

    fn bn254_g1_mul(&self, point: &[u8], scalar: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        accelerators::bn254_g1_mul(&array(point), &array(scalar)).map_err(not_on_bn254)
    }

    fn bn254_pairing_check(&self, pairs: &[(&[u8], &[u8])]) -> Result<bool, PrecompileHalt> {
        let pairs: Vec<_> = pairs.iter().map(|(g1, g2)| Bn254Pair { g1: array(g1), g2: array(g2) }).collect();
        accelerators::bn254_pairing(&pairs).map_err(not_on_bn254)
    }

    fn secp256k1_ecrecover(
        &self,
        signature: &[u8; 64],
        recovery: u8,
        hash: &[u8; 32],
    ) -> Result<[u8; 32], PrecompileHalt> {
        let key = accelerators::secp256k1_ecrecover(hash, signature, recovery)
            .map_err(|Refused| PrecompileHalt::Secp256k1RecoverFailed)?;
        let mut address = accelerators::keccak256(&key);
        address[..12].fill(0);
        Ok(address)
    }

    fn modexp(&self, base: &[u8], exponent: &[u8], modulus: &[u8]) -> Result<Vec<u8>, PrecompileHalt> {
        let mut output = vec![0; modulus.len()];
        accelerators::modexp(base, exponent, modulus, &mut output).expect("any numbers have a power");
        Ok(output)
    }

    fn blake2_compress(&self, rounds: u32, state: &mut [u64; 8], message: &[u64; 16], offset: &[u64; 2], last: bool) {
        let mut bytes = little_endian(state);
        accelerators::blake2f(rounds, &mut bytes, &little_endian(message), &little_endian(offset), last)
            .expect("any state has a next one");
        for (word, bytes) in state.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(array(bytes));
        }
    }

    fn secp256r1_verify_signature(&self, hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
        accelerators::secp256r1_verify(hash, signature, key).unwrap_or(false)
    }

    fn verify_kzg_proof(
        &self,
        point: &[u8; 32],
        value: &[u8; 32],
        commitment: &[u8; 48],
        proof: &[u8; 48],
    ) -> Result<(), PrecompileHalt> {
        match accelerators::kzg_point_eval(commitment, point, value, proof) {
            Ok(true) => Ok(()),
            _ => Err(PrecompileHalt::BlobVerifyKzgProofFailed),
        }
    }

    fn bls12_381_g1_add(&self, left: G1Point, right: G1Point) -> Result<[u8; 96], PrecompileHalt> {
        accelerators::bls12_g1_add(&g1(&left), &g1(&right)).map_err(not_in_g1)
    }

    fn bls12_381_g1_msm(
        &self,
        terms: &mut dyn Iterator<Item = Result<G1PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 96], PrecompileHalt> {
        let terms: Vec<_> = terms
            .map(|term| term.map(|(point, scalar)| Bls12G1Term { point: g1(&point), scalar }))
            .collect::<Result<_, _>>()?;
        accelerators::bls12_g1_msm(&terms).map_err(not_in_g1)
    }

    fn bls12_381_g2_add(&self, left: G2Point, right: G2Point) -> Result<[u8; 192], PrecompileHalt> {
        accelerators::bls12_g2_add(&g2(&left), &g2(&right)).map_err(not_in_g2)
    }

    fn bls12_381_g2_msm(
        &self,
        terms: &mut dyn Iterator<Item = Result<G2PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 192], PrecompileHalt> {
        let terms: Vec<_> = terms
            .map(|term| term.map(|(point, scalar)| Bls12G2Term { point: g2(&point), scalar }))
            .collect::<Result<_, _>>()?;
        accelerators::bls12_g2_msm(&terms).map_err(not_in_g2)
    }

    fn bls12_381_pairing_check(&self, pairs: &[(G1Point, G2Point)]) -> Result<bool, PrecompileHalt> {
        let pairs: Vec<_> = pairs.iter().map(|(left, right)| Bls12Pair { g1: g1(left), g2: g2(right) }).collect();
        accelerators::bls12_pairing(&pairs).map_err(not_in_g1)
    }

    fn bls12_381_fp_to_g1(&self, element: &[u8; 48]) -> Result<[u8; 96], PrecompileHalt> {
        accelerators::bls12_map_fp_to_g1(element).map_err(|Refused| PrecompileHalt::NonCanonicalFp)
    }

    fn bls12_381_fp2_to_g2(&self, (c0, c1): ([u8; 48], [u8; 48])) -> Result<[u8; 192], PrecompileHalt> {
        accelerators::bls12_map_fp2_to_g2(&joined(&[&c0, &c1])).map_err(|Refused| PrecompileHalt::NonCanonicalFp)
    }
}

// The accelerators do not say why they refuse, and a transaction does not depend on it: any halt takes all gas.

fn not_on_bn254(_: Refused) -> PrecompileHalt {
    PrecompileHalt::Bn254AffineGFailedToCreate
}

fn not_in_g1(_: Refused) -> PrecompileHalt {
    PrecompileHalt::Bls12381G1NotInSubgroup
}

fn not_in_g2(_: Refused) -> PrecompileHalt {
    PrecompileHalt::Bls12381G2NotInSubgroup
}
