//! Checks the signature of an order, adds it up, and states the result without the order itself.
//!
//! The input is JSON: a key on secp256k1, a signature, and the signed text, which is JSON, too. k256, sha2 and serde_json
//! come from the registry as they are, and run in software.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use graphprover_guest::{entry, read_input, write_output};
use k256::ecdsa::signature::Verifier;
use k256::ecdsa::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

entry!(main);

#[derive(Deserialize)]
struct Signed {
    /// The key as in SEC 1, in hex.
    key: String,
    /// `r || s` of ECDSA with SHA-256, in hex.
    signature: String,
    /// An [`Order`].
    text: String,
}

#[derive(Deserialize)]
struct Order {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    count: u64,
    price: u64,
}

#[derive(Serialize)]
struct Receipt {
    key: String,
    digest: String,
    total: u64,
    counts: BTreeMap<String, u64>,
}

fn main() -> Result<(), String> {
    let signed: Signed = serde_json::from_slice(read_input()).map_err(|error| format!("the input: {error}"))?;
    let key = VerifyingKey::from_sec1_bytes(&from_hex(&signed.key)?).map_err(|_| "the key is no point")?;
    let signature = Signature::from_slice(&from_hex(&signed.signature)?).map_err(|_| "the signature has no form")?;
    key.verify(signed.text.as_bytes(), &signature).map_err(|_| "the signature is not of this key and text")?;

    let order: Order = serde_json::from_str(&signed.text).map_err(|error| format!("the order: {error}"))?;
    let mut total: u64 = 0;
    let mut counts = BTreeMap::new();
    for Item { name, count, price } in order.items {
        let cost = count.checked_mul(price).ok_or("a cost is too large")?;
        total = total.checked_add(cost).ok_or("the total is too large")?;
        let sum: &mut u64 = counts.entry(name).or_default();
        *sum = sum.checked_add(count).ok_or("a count is too large")?;
    }
    let digest = to_hex(&Sha256::digest(signed.text.as_bytes()));
    let receipt = Receipt { key: signed.key, digest, total, counts };
    write_output(&serde_json::to_vec(&receipt).map_err(|error| format!("the receipt: {error}"))?);
    Ok(())
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| (byte as char).to_digit(16).ok_or_else(|| format!("no hex digit: {}", byte as char));
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("an odd number of hex digits: {}", text.len()));
    }
    pairs.iter().map(|&[high, low]| Ok((digit(high)? << 4 | digit(low)?) as u8)).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
