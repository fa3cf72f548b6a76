//! Known answers of both hashes: commitments and a transcript, as Plonky3 composes them.

use p3_blake3::Blake3;
use p3_challenger::{CanObserve, CanSample, CanSampleBits, GrindingChallenger};
use p3_commit::Mmcs;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_keccak::Keccak256Hash;
use p3_matrix::dense::RowMajorMatrix;
use serde_json::{Value, json};

use crate::hash::{Digest, Hash};
use crate::profile::{Challenge, Challenger, Val, mmcs};
use crate::shard::Sponge;
use crate::transcript::ByteChallenger;

/// Words of a row, around the ends of a block and of a chunk of either hash.
const WIDTHS: [usize; 14] = [1, 7, 8, 9, 16, 17, 18, 34, 127, 128, 129, 256, 300, 1025];

/// `(rows, columns)` of matrices in one commitment, and the height of its cap.
const JOINED: [(&[(usize, usize)], usize); 3] = [
    (&[(8, 3), (8, 2), (2, 130)], 0),
    (&[(2, 5), (16, 1), (4, 20)], 0),
    (&[(2, 130), (32, 4), (8, 6)], 1),
];

/// One answer a line.
pub fn lines() -> Vec<Value> {
    [of::<Keccak256Hash>("keccak"), of::<Blake3>("blake3")].concat()
}

fn of<H: Hash>(hash: &str) -> Vec<Value> {
    let rows = WIDTHS.map(|width| commitment::<H>(hash, &[(1, width)], 0));
    let joined = JOINED.map(|(shapes, cap_height)| commitment::<H>(hash, shapes, cap_height));
    [&rows[..], &joined[..], &[transcript::<H>(hash)]].concat()
}

/// Commits to matrices, each of which has the powers of 7 in its rows, the first row first.
fn commitment<H: Hash>(hash: &str, shapes: &[(usize, usize)], cap_height: usize) -> Value {
    let matrices = shapes
        .iter()
        .map(|&(rows, columns)| RowMajorMatrix::new(powers(rows * columns), columns));
    let (cap, _) = mmcs::<H>(cap_height).commit(matrices.collect());
    let cap: Vec<_> = cap.roots().iter().map(|digest| hexadecimal(digest)).collect();
    json!({"hash": hash, "shapes": shapes, "cap_height": cap_height, "cap": cap})
}

/// The steps of a transcript with their results; the nonce is the least if Plonky3 runs on one thread.
fn transcript<H: Hash>(hash: &str) -> Value {
    let start: Digest = std::array::from_fn(|i| i as u8);
    let mut challenger = Challenger::<H>::new(ByteChallenger::new(Sponge::new(&start, None, false), None));
    let mut steps = Vec::new();
    for words in [0, 1, 4, 15, 16, 200] {
        for word in powers(words) {
            challenger.observe(word);
        }
        steps.push(json!(["absorb", words]));
        // Two elements take more bytes than a digest has.
        for _ in 0..2 {
            let element: Challenge = challenger.sample();
            steps.push(json!(["element", element.as_basis_coefficients_slice() as &[Val]]));
        }
        steps.push(json!(["bits", 33, challenger.sample_bits(33)]));
        steps.push(json!(["grind", 8, challenger.grind(8)]));
    }
    json!({"hash": hash, "start": hexadecimal(&start), "transcript": steps})
}

/// The first powers of 7.
fn powers(count: usize) -> Vec<Val> {
    Val::new(7).powers().collect_n(count)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
