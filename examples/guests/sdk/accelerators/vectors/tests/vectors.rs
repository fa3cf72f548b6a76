//! Runs the accelerator functions in Rust on their conformance vectors, and on arguments that they lack: no pairs, no
//! bytes, and results over arguments.
use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use zkvm_support::{Bytes, Status, EFAIL, EOK};

#[derive(Deserialize)]
struct Vector {
    input: String,
    expect: Option<String>,
    source: String,
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Checks the results of `call`, which returns a status and the bytes of the result.
fn check(function: &str, call: impl Fn(&[u8]) -> (Status, Vec<u8>)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../conformance/vectors");
    let file = File::open(folder.join(format!("{function}.jsonl.gz"))).unwrap();
    let vectors = serde_json::Deserializer::from_reader(GzDecoder::new(file)).into_iter::<Vector>();
    let mut count = 0;
    for vector in vectors {
        let vector = vector.unwrap();
        let (status, result) = call(&unhex(&vector.input));
        match vector.expect {
            Some(expected) => {
                assert_eq!(status, EOK, "{function}: {}", vector.source);
                assert_eq!(result, unhex(&expected), "{function}: {}", vector.source);
            }
            None => assert_eq!(status, EFAIL, "{function}: {}", vector.source),
        }
        count += 1;
    }
    assert!(count > 20, "{function}: {count} vectors");
}

/// Returns N bytes of `input`, aligned as the functions require.
fn part<const N: usize>(input: &[u8], offset: usize) -> Bytes<N> {
    Bytes(input[offset..offset + N].try_into().unwrap())
}

/// Returns pairs of two values of N and M bytes. A pair has no gap.
fn pairs<const N: usize, const M: usize, P>(input: &[u8], pair: impl Fn(Bytes<N>, Bytes<M>) -> P) -> Vec<P> {
    assert_eq!(input.len() % (N + M), 0);
    input.chunks(N + M).map(|both| pair(part(both, 0), part(both, N))).collect()
}

fn verdict(status: Status, verified: bool) -> (Status, Vec<u8>) {
    (status, vec![u8::from(verified)])
}

#[test]
fn ripemd160() {
    check("ripemd160", |input| {
        let mut result = Bytes([0xa5; 32]);
        (unsafe { zkvm_hashes::zkvm_ripemd160(input.as_ptr(), input.len(), &mut result) }, result.0.to_vec())
    });
}

#[test]
fn blake2f() {
    check("blake2f", |input| {
        let mut state: Bytes<64> = part(input, 0);
        let rounds = u32::from_le_bytes(input[208..212].try_into().unwrap());
        let (message, offset) = (part(input, 64), part(input, 192));
        let status = unsafe { zkvm_blake2f::zkvm_blake2f(rounds, &mut state, &message, &offset, input[212]) };
        (status, state.0.to_vec())
    });
}

#[test]
fn bls12_381_sums() {
    use zkvm_bls12_381::{zkvm_bls12_g1_add, zkvm_bls12_g1_msm, zkvm_bls12_g2_add, zkvm_bls12_g2_msm, Term};
    check("bls12_g1_add", |input| {
        let mut point: Bytes<96> = part(input, 0);
        (unsafe { zkvm_bls12_g1_add(&point, &part(input, 96), &mut point) }, point.0.to_vec())
    });
    check("bls12_g2_add", |input| {
        let mut point: Bytes<192> = part(input, 0);
        (unsafe { zkvm_bls12_g2_add(&point, &part(input, 192), &mut point) }, point.0.to_vec())
    });
    check("bls12_g1_msm", |input| {
        let terms = pairs(input, |point, scalar| Term::<96> { point, scalar });
        let mut sum = Bytes([0xa5; 96]);
        (unsafe { zkvm_bls12_g1_msm(terms.as_ptr(), terms.len(), &mut sum) }, sum.0.to_vec())
    });
    check("bls12_g2_msm", |input| {
        let terms = pairs(input, |point, scalar| Term::<192> { point, scalar });
        let mut sum = Bytes([0xa5; 192]);
        (unsafe { zkvm_bls12_g2_msm(terms.as_ptr(), terms.len(), &mut sum) }, sum.0.to_vec())
    });
}

#[test]
fn bls12_381_pairings_and_maps() {
    use zkvm_bls12_381::{zkvm_bls12_map_fp2_to_g2, zkvm_bls12_map_fp_to_g1, zkvm_bls12_pairing, Pair};
    check("bls12_pairing", |input| {
        let pairs = pairs(input, |g1, g2| Pair { g1, g2 });
        let mut verified = true;
        verdict(unsafe { zkvm_bls12_pairing(pairs.as_ptr(), pairs.len(), &mut verified) }, verified)
    });
    check("bls12_map_fp_to_g1", |input| {
        let mut point = Bytes([0xa5; 96]);
        (unsafe { zkvm_bls12_map_fp_to_g1(&part(input, 0), &mut point) }, point.0.to_vec())
    });
    check("bls12_map_fp2_to_g2", |input| {
        let mut point = Bytes([0xa5; 192]);
        (unsafe { zkvm_bls12_map_fp2_to_g2(&part(input, 0), &mut point) }, point.0.to_vec())
    });
    let mut verified = true;
    assert_eq!(unsafe { zkvm_bls12_pairing(std::ptr::null(), 0, &mut verified) }, EFAIL);
    assert!(!verified);
}

#[test]
fn kzg() {
    check("kzg_point_eval", |input| {
        let (commitment, z, y, proof) = (part(input, 0), part(input, 48), part(input, 80), part(input, 112));
        let mut verified = true;
        verdict(
            unsafe { zkvm_bls12_381::zkvm_kzg_point_eval(&commitment, &z, &y, &proof, &mut verified) },
            verified,
        )
    });
}
