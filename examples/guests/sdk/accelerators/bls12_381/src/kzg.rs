//! The KZG verifier of EIP-4844: the function `verify_kzg_proof` of the consensus specification (Deneb).
use ark_bls12_381::{Bls12_381, Fq, Fr, G1Affine, G2Affine};
use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::MontFp;
use zkvm_curves::decode_field;

use crate::Fq2;

/// \[tau\] of G2's generator: `g2_monomial[1]` of the trusted setup of Ethereum's KZG ceremony, which the consensus
/// specification has as `presets/mainnet/trusted_setups/trusted_setup_4096.json`.
const TAU: G2Affine = G2Affine::new_unchecked(
    Fq2::new(
        MontFp!("3749701713850085193403383609513386037494151572263731328608276629425322978272408394373143740944003571525027436289778"),
        MontFp!("3347537128081568434923729147580015899756771550835613107520576615563260658656019591232316627827007503930666726825842"),
    ),
    Fq2::new(
        MontFp!("194392958648403190675529552496435226424111592982833162118538452666741235889530674000225873281133418439621742897817"),
        MontFp!("3447898402727835650716129438012169492682148398295533958400255525306573911008434577489634554212211450783070687991119"),
    ),
);

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
    let left = (proof * z - G1Affine::generator() * y + commitment).into_affine();
    let product = Bls12_381::multi_pairing([left, proof], [-G2Affine::generator(), TAU]);
    Some(product.0 == ark_ff::One::one())
}
