//! Sums of multiples of points: Straus' algorithm on scalars in non-adjacent form, not in constant time.
use alloc::vec::Vec;

use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AdditiveGroup, CurveGroup};
use ark_ff::{BigInteger, PrimeField, Zero};

/// Digits are odd numbers below 2^(WINDOW - 1), or 0; of any WINDOW digits in a row at most one is not 0.
const WINDOW: usize = 5;
/// The odd multiples of a point that digits select.
const MULTIPLES: usize = 1 << (WINDOW - 2);

/// A table of odd multiples of a point, and the digits of its factor, the lowest first.
struct Row<C: SWCurveConfig> {
    table: Vec<Affine<C>>,
    digits: Vec<i64>,
}

fn digits<F: PrimeField>(scalar: F) -> Vec<i64> {
    scalar.into_bigint().find_wnaf(WINDOW).unwrap_or_default()
}

/// Returns the odd multiples of each point, one point after the other.
fn odd_multiples<C: SWCurveConfig>(points: impl Iterator<Item = Affine<C>>) -> Vec<Affine<C>> {
    let mut multiples: Vec<Projective<C>> = Vec::new();
    for point in points {
        let mut multiple: Projective<C> = point.into();
        let double = multiple.double();
        for _ in 0..MULTIPLES {
            multiples.push(multiple);
            multiple += &double;
        }
    }
    Projective::normalize_batch(&multiples)
}

fn sum<C: SWCurveConfig>(rows: &[Row<C>]) -> Projective<C> {
    let mut result = Projective::zero();
    for place in (0..rows.iter().map(|row| row.digits.len()).max().unwrap_or(0)).rev() {
        result.double_in_place();
        for row in rows {
            let digit = row.digits.get(place).copied().unwrap_or(0);
            if digit > 0 {
                result += &row.table[digit as usize / 2];
            } else if digit < 0 {
                result -= &row.table[-digit as usize / 2];
            }
        }
    }
    result
}

/// Adds multiples of points of the subgroup, on a curve with an endomorphism, which halves the number of doublings.
pub fn sum_of_products_glv<C: GLVConfig>(terms: &[(Affine<C>, C::ScalarField)]) -> Projective<C> {
    let tables = odd_multiples(terms.iter().map(|term| term.0));
    let mut rows: Vec<Row<C>> = Vec::with_capacity(2 * terms.len());
    for (table, term) in tables.chunks_exact(MULTIPLES).zip(terms) {
        let ((first_positive, first), (second_positive, second)) = C::scalar_decomposition(term.1);
        let mut table = table.to_vec();
        let mut images: Vec<_> = table.iter().map(C::endomorphism_affine).collect();
        if !first_positive {
            negate(&mut table);
        }
        if !second_positive {
            negate(&mut images);
        }
        rows.push(Row { table, digits: digits(first) });
        rows.push(Row { table: images, digits: digits(second) });
    }
    sum(&rows)
}

fn negate<C: SWCurveConfig>(points: &mut [Affine<C>]) {
    for point in points {
        *point = -*point;
    }
}
