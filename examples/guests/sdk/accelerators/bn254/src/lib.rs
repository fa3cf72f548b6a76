//! `zkvm_bn254_pairing` (EIP-197).
//!
//! Coordinates are big-endian numbers of 32 bytes, the point at infinity is all zeros, and in G2 the imaginary part
//! comes first. The function fails if a coordinate is not below the field's modulus or a point not on its curve. Every
//! point of G1's curve is in G1; G2 has a check of the subgroup.
#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

use alloc::vec::Vec;
use ark_bn254::{Bn254, Fq, Fq2, G1Affine, G2Affine};
use ark_ec::pairing::Pairing;
use zkvm_curves::{decode_field, decode_member, decode_point, encode_field, Encoding};
use zkvm_support::{finish_check, slice, with_memory, Bytes, Status};

struct Base;

impl Encoding for Base {
    type Element = Fq;

    fn decode(bytes: &[u8]) -> Option<Fq> {
        decode_field(bytes)
    }

    fn encode(element: &Fq, bytes: &mut [u8]) {
        encode_field(element, bytes);
    }
}

struct Extension;

impl Encoding for Extension {
    type Element = Fq2;

    fn decode(bytes: &[u8]) -> Option<Fq2> {
        Some(Fq2::new(decode_field(&bytes[32..])?, decode_field(&bytes[..32])?))
    }

    fn encode(element: &Fq2, bytes: &mut [u8]) {
        encode_field(&element.c1, &mut bytes[..32]);
        encode_field(&element.c0, &mut bytes[32..]);
    }
}

/// `zkvm_bn254_pairing_pair`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pair {
    /// A point of G1.
    pub g1: Bytes<64>,
    /// A point of G2.
    pub g2: Bytes<128>,
}

fn g1(bytes: &Bytes<64>) -> Option<G1Affine> {
    decode_point::<_, Base>(&bytes.0)
}

fn pairing(pairs: &[Pair]) -> Option<bool> {
    let mut left = Vec::with_capacity(pairs.len());
    let mut right: Vec<G2Affine> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        left.push(g1(&pair.g1)?);
        right.push(decode_member::<_, Extension>(&pair.g2.0)?);
    }
    Some(Bn254::multi_pairing(left, right).0 == ark_ff::One::one())
}

/// Checks that the product of the pairs' pairings is 1, which it is for no pairs.
///
/// # Safety
/// As in C: `pairs` points to `num_pairs` pairs, `verified` to a result.
#[no_mangle]
pub unsafe extern "C" fn zkvm_bn254_pairing(
    pairs: *const Pair,
    num_pairs: usize,
    verified: *mut bool,
) -> Status {
    let pairs = unsafe { slice(pairs, num_pairs) };
    let result = with_memory(|| pairing(pairs));
    unsafe { finish_check(result, verified) }
}
