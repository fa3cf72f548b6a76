//! Checks one block of Ethereum since the merge from a witness of the state before it.
//!
//! [`check`] takes a block, the headers before it, and the nodes and codes of the state that the block reads. It
//! applies the rules of the block's fork, executes the transactions by revm, and computes the state's root after them.
//! Everything that it takes is untrusted: a wrong block is refused with a reason, and an input that lacks something or
//! is malformed ends without a verdict. Neither panics.
//!
//! | module | subject |
//! |---|---|
//! | `input` | the form of the input |
//! | `rules` | forks, blob parameters and deposit contracts of the chains |
//! | `headers` | the chain of headers; the header's fields against its parent's |
//! | `body` | transactions, withdrawals and their roots; senders |
//! | `execution` | the EVM, system calls, withdrawals; receipts, gas and requests |
//! | `state` | the accounts that a block reads and writes |
//! | `seal` | blocks for tests |
//! | `trie` | Merkle Patricia tries of which only some nodes are known |
//! | `archive` | where the new parts of the state go |
//! | `code` | bytecode with its jump destinations |
#![no_std]

extern crate alloc;

mod archive;
mod body;
mod code;
mod execution;
mod headers;
mod input;
mod refusal;
mod rules;
mod seal;
mod state;
pub mod trie;

pub use archive::Archive;
pub use input::Input;
pub use refusal::Refusal;
pub use seal::seal;

use alloy_primitives::{keccak256, B256};

/// Largest gas limit of a block that the guest takes: with it no program of the EVM fills the guest's memory.
pub const GAS_LIMIT: u64 = 1 << 30;

/// What is known of a block that follows the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valid {
    /// The block's hash.
    pub hash: B256,
    /// The root of the state after the block.
    pub state_root: B256,
    /// The gas that the transactions used.
    pub gas_used: u64,
    /// The chain's number.
    pub chain: u64,
    /// The Keccak-256 of the rules that the input states, or zeros if the rules of the chain are built in.
    pub rules: B256,
}

impl Valid {
    /// Return the bytes that the guest puts out: hash, root, gas and chain as little-endian words, rules.
    pub fn to_bytes(&self) -> [u8; 112] {
        let mut bytes = [0; 112];
        bytes[..32].copy_from_slice(self.hash.as_slice());
        bytes[32..64].copy_from_slice(self.state_root.as_slice());
        bytes[64..72].copy_from_slice(&self.gas_used.to_le_bytes());
        bytes[72..80].copy_from_slice(&self.chain.to_le_bytes());
        bytes[80..].copy_from_slice(self.rules.as_slice());
        bytes
    }
}

/// Check a block.
///
/// # Arguments
///
/// * `input` - the bytes that [`Input`] describes.
/// * `gas_limit` - the largest gas limit of a block to check; blocks above get no verdict.
/// * `archive` - takes what the block adds to the state.
///
/// # Errors
///
/// [`Refusal::Invalid`] if the block breaks a rule, [`Refusal::Unusable`] if the input does not suffice to tell.
pub fn check(input: &[u8], gas_limit: u64, archive: &mut impl Archive) -> Result<Valid, Refusal> {
    let input = Input::parse(input)?;
    let rules = rules::Rules::of(input.chain, input.rules)?;
    let block = body::decode(input.block)?;
    let header = &block.header;
    let ancestors = headers::ancestors(&input.headers, header)?;
    let fork = rules.at(header)?;
    headers::check(header, &ancestors.parent, &fork)?;
    if header.gas_limit > gas_limit {
        return Err(Refusal::unusable("the gas limit is larger than this program supports"));
    }
    body::check(&block, input.block, &fork)?;
    let senders = body::senders(&block)?;
    let mut state = state::State::new(ancestors.parent.state_root, &input.nodes, &input.codes, ancestors.hashes);
    let outcome = execution::execute(&block, &senders, &rules, &fork, &mut state)?;
    execution::check(header, &outcome, &fork)?;
    let root = state.root(archive)?;
    if root != header.state_root {
        return Err(Refusal::invalid("the state root is another"));
    }
    Ok(Valid {
        hash: keccak256(alloy_rlp::encode(header)),
        state_root: root,
        gas_used: outcome.gas_used,
        chain: input.chain,
        rules: if input.rules.is_empty() { B256::ZERO } else { keccak256(input.rules) },
    })
}
