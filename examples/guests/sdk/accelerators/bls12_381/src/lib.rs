//! The functions of EIP-2537 on BLS12-381, and `zkvm_kzg_point_eval` (EIP-4844).
//!
//! Coordinates are big-endian numbers of 48 bytes (EIP-2537's without the 16 bytes of zeros), the point at infinity is
//! all zeros, and in G2 the real part comes first. All functions fail if a coordinate is not below the field's modulus
//! or a point not on its curve. Sums need no points of the subgroups; multi-scalar multiplications and pairings do.
#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

mod kzg;

use alloc::vec::Vec;
use ark_bls12_381::{g1, g2, Bls12_381, Fq, Fq2, Fr, G1Affine, G2Affine};
use ark_ec::hashing::curve_maps::wb::WBMap;
use ark_ec::hashing::map_to_curve_hasher::MapToCurve;
use ark_ec::pairing::Pairing;
use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::short_weierstrass::{Projective, SWCurveConfig};
use ark_ec::CurveGroup;
use zkvm_curves::{
    decode_field, decode_member, decode_point, decode_scalar, encode_field, encode_point, sum_of_products_glv,
    Encoding,
};
use zkvm_support::{finish, finish_check, read, slice, with_memory, Bytes, Status};

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
        Some(Fq2::new(decode_field(&bytes[..48])?, decode_field(&bytes[48..])?))
    }

    fn encode(element: &Fq2, bytes: &mut [u8]) {
        encode_field(&element.c0, &mut bytes[..48]);
        encode_field(&element.c1, &mut bytes[48..]);
    }
}

/// `zkvm_bls12_381_g1_msm_pair` (N = 96) or `zkvm_bls12_381_g2_msm_pair` (N = 192).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Term<const N: usize> {
    /// A point.
    pub point: Bytes<N>,
    /// Its factor.
    pub scalar: Bytes<32>,
}

/// `zkvm_bls12_381_pairing_pair`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pair {
    /// A point of G1.
    pub g1: Bytes<96>,
    /// A point of G2.
    pub g2: Bytes<192>,
}

fn add<C: SWCurveConfig, E: Encoding<Element = C::BaseField>, const N: usize>(
    left: &Bytes<N>,
    right: &Bytes<N>,
) -> Option<Bytes<N>> {
    let left = decode_point::<C, E>(&left.0)?;
    let sum: Projective<C> = left + decode_point::<C, E>(&right.0)?;
    Some(Bytes(encode_point::<C, E, N>(sum.into_affine())))
}

fn multiply<C, E, const N: usize>(terms: &[Term<N>]) -> Option<Bytes<N>>
where
    C: GLVConfig<ScalarField = Fr>,
    E: Encoding<Element = C::BaseField>,
{
    if terms.is_empty() {
        return None;
    }
    let mut factors = Vec::with_capacity(terms.len());
    for term in terms {
        factors.push((decode_member::<C, E>(&term.point.0)?, decode_scalar::<Fr>(&term.scalar.0)));
    }
    let sum = sum_of_products_glv(&factors);
    Some(Bytes(encode_point::<C, E, N>(sum.into_affine())))
}

fn pairing(pairs: &[Pair]) -> Option<bool> {
    if pairs.is_empty() {
        return None;
    }
    let mut left: Vec<G1Affine> = Vec::with_capacity(pairs.len());
    let mut right: Vec<G2Affine> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        left.push(decode_member::<_, Base>(&pair.g1.0)?);
        right.push(decode_member::<_, Extension>(&pair.g2.0)?);
    }
    Some(Bls12_381::multi_pairing(left, right).0 == ark_ff::One::one())
}

fn map_to_g1(element: &Bytes<48>) -> Option<Bytes<96>> {
    let point: G1Affine = WBMap::<g1::Config>::map_to_curve(Base::decode(&element.0)?).ok()?;
    Some(Bytes(encode_point::<_, Base, 96>(g1::Config::clear_cofactor(&point))))
}

fn map_to_g2(element: &Bytes<96>) -> Option<Bytes<192>> {
    let point: G2Affine = WBMap::<g2::Config>::map_to_curve(Extension::decode(&element.0)?).ok()?;
    Some(Bytes(encode_point::<_, Extension, 192>(g2::Config::clear_cofactor(&point))))
}

/// Adds two points of G1's curve.
///
/// # Safety
/// As in C: the pointers point to values of their types, which may overlap.
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_g1_add(
    p1: *const Bytes<96>,
    p2: *const Bytes<96>,
    result: *mut Bytes<96>,
) -> Status {
    let (left, right) = unsafe { (read(p1), read(p2)) };
    let sum = with_memory(|| add::<g1::Config, Base, 96>(&left, &right));
    unsafe { finish(sum, result) }
}

/// Adds the multiples of points of G1. Factors are any numbers of 256 bits. Fails if there are no pairs.
///
/// # Safety
/// As in C: `pairs` points to `num_pairs` pairs, `result` to a point.
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_g1_msm(
    pairs: *const Term<96>,
    num_pairs: usize,
    result: *mut Bytes<96>,
) -> Status {
    let terms = unsafe { slice(pairs, num_pairs) };
    let sum = with_memory(|| multiply::<g1::Config, Base, 96>(terms));
    unsafe { finish(sum, result) }
}

/// Adds two points of G2's curve.
///
/// # Safety
/// As [`zkvm_bls12_g1_add`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_g2_add(
    p1: *const Bytes<192>,
    p2: *const Bytes<192>,
    result: *mut Bytes<192>,
) -> Status {
    let (left, right) = unsafe { (read(p1), read(p2)) };
    let sum = with_memory(|| add::<g2::Config, Extension, 192>(&left, &right));
    unsafe { finish(sum, result) }
}

/// Adds the multiples of points of G2. Factors are any numbers of 256 bits. Fails if there are no pairs.
///
/// # Safety
/// As [`zkvm_bls12_g1_msm`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_g2_msm(
    pairs: *const Term<192>,
    num_pairs: usize,
    result: *mut Bytes<192>,
) -> Status {
    let terms = unsafe { slice(pairs, num_pairs) };
    let sum = with_memory(|| multiply::<g2::Config, Extension, 192>(terms));
    unsafe { finish(sum, result) }
}

/// Checks that the product of the pairs' pairings is 1. Fails if there are no pairs.
///
/// # Safety
/// As in C: `pairs` points to `num_pairs` pairs, `verified` to a result.
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_pairing(
    pairs: *const Pair,
    num_pairs: usize,
    verified: *mut bool,
) -> Status {
    let pairs = unsafe { slice(pairs, num_pairs) };
    let result = with_memory(|| pairing(pairs));
    unsafe { finish_check(result, verified) }
}

/// Maps an element of the base field to G1. Fails if it is not below the modulus.
///
/// # Safety
/// As [`zkvm_bls12_g1_add`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_map_fp_to_g1(
    field_element: *const Bytes<48>,
    result: *mut Bytes<96>,
) -> Status {
    let element = unsafe { read(field_element) };
    let point = with_memory(|| map_to_g1(&element));
    unsafe { finish(point, result) }
}

/// Maps an element of the quadratic extension to G2. Fails if a part of it is not below the modulus.
///
/// # Safety
/// As [`zkvm_bls12_g1_add`].
#[no_mangle]
pub unsafe extern "C" fn zkvm_bls12_map_fp2_to_g2(
    field_element: *const Bytes<96>,
    result: *mut Bytes<192>,
) -> Status {
    let element = unsafe { read(field_element) };
    let point = with_memory(|| map_to_g2(&element));
    unsafe { finish(point, result) }
}

/// Checks a KZG proof that the polynomial of `commitment` has the value `y` at `z` (EIP-4844).
///
/// Points are compressed. Fails if one is malformed or not in G1, and if `z` or `y` is not below the order of the group.
///
/// # Safety
/// As in C: the pointers point to values of their types, `verified` to a result.
#[no_mangle]
pub unsafe extern "C" fn zkvm_kzg_point_eval(
    commitment: *const Bytes<48>,
    z: *const Bytes<32>,
    y: *const Bytes<32>,
    proof: *const Bytes<48>,
    verified: *mut bool,
) -> Status {
    let (commitment, z, y, proof) = unsafe { (read(commitment), read(z), read(y), read(proof)) };
    let result = with_memory(|| kzg::verify(&commitment.0, &z.0, &y.0, &proof.0));
    unsafe { finish_check(result, verified) }
}
