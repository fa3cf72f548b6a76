//! Where the transcript starts: the hash of what Plonky3 leaves to its caller to bind (docs/protocol.md, section 11).
//!
//! Nothing of it is taken from a proof or from a statement's word: tables are hashed as they are evaluated, and the
//! commitment to preprocessed columns is the one that Plonky3 makes of the columns given.

use crate::hash::{Digest, Hash};
use crate::statement::{Parameters, Result, Statement};

const STATEMENT_MAGIC: &[u8] = b"graphprover statement 2";
const RELEASE: &[u8] = b"0.8.0";

/// The initial state of the challenger of these tables in a proof by themselves; `cap` commits to preprocessed columns,
/// and is empty without any.
pub fn binding<H: Hash>(statement: &Statement, cap: &[Digest]) -> Result<Digest> {
    let label = statement.label.as_bytes();
    let length = u8::try_from(label.len()).map_err(|_| format!("a label of {} bytes, at most 255", label.len()))?;
    let mut bytes = [STATEMENT_MAGIC, RELEASE, &[length], label].concat();
    bytes.extend(encoded(&statement.parameters));
    bytes.extend(number(statement.tables.len()));
    for table in &statement.tables {
        bytes.extend(H::of(&[&table.description.canonical_bytes()]));
    }
    bytes.extend(number(size_of_val(cap)));
    bytes.extend(cap.as_flattened());
    Ok(H::of(&[&bytes]))
}

fn encoded(parameters: &Parameters) -> Vec<u8> {
    let Parameters {
        hash,
        log_blowup,
        num_queries,
        log_final_poly_len,
        max_log_arity,
        cap_height,
        lookup_pow_bits,
        ood_pow_bits,
        batch_pow_bits,
        commit_pow_bits,
        query_pow_bits,
    } = parameters;
    [
        &(*hash as u16),
        log_blowup,
        num_queries,
        log_final_poly_len,
        max_log_arity,
        cap_height,
        lookup_pow_bits,
        ood_pow_bits,
        batch_pow_bits,
        commit_pow_bits,
        query_pow_bits,
    ]
    .iter()
    .flat_map(|value| value.to_le_bytes())
    .collect()
}

/// A count in 32 bits.
pub fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("fewer than 2^32 of anything").to_le_bytes()
}
