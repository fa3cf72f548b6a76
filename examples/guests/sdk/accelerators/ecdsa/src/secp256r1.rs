//! ECDSA on secp256r1, on arkworks' curve.
use ark_ec::short_weierstrass::Affine;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{Field, Zero};
use ark_secp256r1::{Config, Fq, Fr};
use zkvm_curves::{decode_field, decode_point, decode_scalar, encode_field, sum_of_products, Encoding};

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

/// Returns whether a signature is valid: the algorithm of FIPS 186-5, section 6.4.2.
pub fn verify(message: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
    is_valid(message, signature, key).unwrap_or(false)
}

fn is_valid(message: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> Option<bool> {
    let (r, s) = signature.split_at(32);
    let (r, s): (Fr, Fr) = (decode_field(r)?, decode_field(s)?);
    let key = decode_point::<Config, Base>(key)?;
    if r.is_zero() || key.is_zero() {
        return None;
    }
    let inverse = s.inverse()?;
    let message: Fr = decode_scalar(message);
    let point = sum_of_products(&[(Affine::generator(), message * inverse), (key, r * inverse)]);
    let mut x = [0; 32];
    encode_field(&point.into_affine().x()?, &mut x);
    Some(decode_scalar::<Fr>(&x) == r)
}
