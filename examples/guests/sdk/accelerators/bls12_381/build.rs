//! Makes the lines of the two points of G2 in the KZG verifier: a proof then need not contain that computation.
use std::fmt::Write;
use std::path::Path;

use ark_bls12_381::{Config, Fq, Fq2, G2Affine};
use ark_ec::bls12::G2Prepared;
use ark_ec::AffineRepr;
use ark_ff::MontFp;

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

fn limbs(element: Fq) -> String {
    format!("{:?}", element.0 .0)
}

fn coefficient(element: Fq2) -> String {
    format!("element({}, {})", limbs(element.c0), limbs(element.c1))
}

fn lines(name: &str, point: G2Affine) -> String {
    let mut text = format!("static {name}: Lines = [\n");
    for (first, second, third) in G2Prepared::<Config>::from(point).ell_coeffs {
        let [first, second, third] = [first, second, third].map(coefficient);
        writeln!(text, "    ({first}, {second}, {third}),").expect("a string has no limit");
    }
    text + "];\n"
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    assert!(TAU.is_on_curve() && TAU.is_in_correct_subgroup_assuming_on_curve());
    let text = lines("NEGATIVE_GENERATOR", -G2Affine::generator()) + &lines("TAU", TAU);
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&folder).join("lines.rs"), text).expect("OUT_DIR is writable");
}
