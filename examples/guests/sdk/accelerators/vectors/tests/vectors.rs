//! Runs the accelerator functions in Rust on their conformance vectors.
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
