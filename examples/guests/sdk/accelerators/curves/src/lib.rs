//! Points of short Weierstrass curves: as bytes, and sums of their multiples.
#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

mod products;

use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ec::AffineRepr;
use ark_ff::PrimeField;

pub use products::sum_of_products_glv;

/// Returns the big-endian number of `bytes` as an element, or nothing if it is not below the modulus.
///
/// There are 8 bytes for each limb.
pub fn decode_field<F: PrimeField>(bytes: &[u8]) -> Option<F> {
    let mut number = F::BigInt::default();
    for (limb, bytes) in number.as_mut().iter_mut().zip(bytes.rchunks_exact(8)) {
        *limb = u64::from_be_bytes(bytes.try_into().ok()?);
    }
    F::from_bigint(number)
}

/// Writes an element as a big-endian number.
pub fn encode_field<F: PrimeField>(element: &F, bytes: &mut [u8]) {
    let number = element.into_bigint();
    for (limb, bytes) in number.as_ref().iter().zip(bytes.rchunks_exact_mut(8)) {
        bytes.copy_from_slice(&limb.to_be_bytes());
    }
}

/// Returns the big-endian number of 32 bytes as a scalar, reduced by the group's order.
pub fn decode_scalar<F: PrimeField>(bytes: &[u8; 32]) -> F {
    F::from_be_bytes_mod_order(bytes)
}

/// Elements of one field as bytes.
pub trait Encoding {
    /// The field.
    type Element;

    /// Returns the element that `bytes` encode, if they do.
    fn decode(bytes: &[u8]) -> Option<Self::Element>;

    /// Writes an element.
    fn encode(element: &Self::Element, bytes: &mut [u8]);
}

/// Returns the point of the curve that x and y encode; zero bytes are the point at infinity. There is nothing if a
/// coordinate is out of range, or the point not on the curve. It may be outside of the subgroup.
pub fn decode_point<C: SWCurveConfig, E: Encoding<Element = C::BaseField>>(bytes: &[u8]) -> Option<Affine<C>> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Some(Affine::zero());
    }
    let (x, y) = bytes.split_at(bytes.len() / 2);
    let point = Affine::new_unchecked(E::decode(x)?, E::decode(y)?);
    point.is_on_curve().then_some(point)
}

/// Returns the point of the subgroup that x and y encode: [`decode_point`] with a check of the subgroup.
pub fn decode_member<C: SWCurveConfig, E: Encoding<Element = C::BaseField>>(bytes: &[u8]) -> Option<Affine<C>> {
    decode_point::<C, E>(bytes).filter(|point| point.is_in_correct_subgroup_assuming_on_curve())
}

/// Returns x and y of a point; zero bytes for the point at infinity.
pub fn encode_point<C: SWCurveConfig, E: Encoding<Element = C::BaseField>, const N: usize>(
    point: Affine<C>,
) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some((x, y)) = point.xy() {
        let (first, second) = bytes.split_at_mut(N / 2);
        E::encode(&x, first);
        E::encode(&y, second);
    }
    bytes
}
