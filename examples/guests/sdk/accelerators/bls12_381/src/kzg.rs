//! The KZG verifier of EIP-4844: the function `verify_kzg_proof` of the consensus specification (Deneb).
use ark_bls12_381::{Bls12_381, Config, Fq, Fq2, Fr, G1Affine};
use ark_ec::bls12::g2::EllCoeff;
use ark_ec::bls12::G2Prepared;
use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::BigInt;
use zkvm_curves::{decode_field, sum_of_products_glv};

/// The coefficients of the lines of a Miller loop, which depend only on the point of G2.
type Lines = [EllCoeff<Config>; 68];

const fn element(real: [u64; 6], imaginary: [u64; 6]) -> Fq2 {
    Fq2::new(Fq::new_unchecked(BigInt::new(real)), Fq::new_unchecked(BigInt::new(imaginary)))
}

// `NEGATIVE_GENERATOR` and `TAU`: the lines of -H and tau H, made by build.rs.
include!(concat!(env!("OUT_DIR"), "/lines.rs"));

fn prepared(lines: &Lines) -> G2Prepared<Config> {
    G2Prepared { ell_coeffs: lines.to_vec(), infinity: false }
}

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const LARGER_Y: u8 = 0x20;

/// Returns the point of G1 that 48 bytes encode: x, and in its three highest bits that it is compressed, whether it is
/// the point at infinity, and whether y is above -y.
fn decompress(bytes: &[u8; 48]) -> Option<G1Affine> {
    let mut x = *bytes;
    let flags = x[0] & (COMPRESSED | INFINITY | LARGER_Y);
    x[0] ^= flags;
    if flags == COMPRESSED | INFINITY {
        return (x == [0; 48]).then_some(G1Affine::zero());
    }
    if flags & !LARGER_Y != COMPRESSED {
        return None;
    }
    let x: Fq = decode_field(&x)?;
    let point = G1Affine::get_point_from_x_unchecked(x, flags & LARGER_Y != 0)?;
    point.is_in_correct_subgroup_assuming_on_curve().then_some(point)
}

/// Returns whether e(C - y G, -H) e(P, tau H - z H) = 1, or nothing if an argument is malformed.
///
/// With the second argument's z moved to the first, both points of G2 are constants:
/// e(C - y G + z P, -H) e(P, tau H) = 1.
pub fn verify(commitment: &[u8; 48], z: &[u8; 32], y: &[u8; 32], proof: &[u8; 48]) -> Option<bool> {
    let (commitment, proof) = (decompress(commitment)?, decompress(proof)?);
    let (z, y): (Fr, Fr) = (decode_field(z)?, decode_field(y)?);
    let left = sum_of_products_glv(&[(proof, z), (G1Affine::generator(), -y)]) + commitment;
    let left = left.into_affine();
    let product = Bls12_381::multi_pairing([left, proof], [prepared(&NEGATIVE_GENERATOR), prepared(&TAU)]);
    Some(product.0 == ark_ff::One::one())
}
