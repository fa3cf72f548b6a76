//! Blocks for tests: a draft gets the fields of its header that depend on its contents.
use alloc::vec::Vec;

use alloy_consensus::{proofs, TxReceipt};
use alloy_primitives::Bloom;

use crate::rules::Rules;
use crate::state::State;
use crate::{body, execution, headers, Archive, Input, Refusal};

/// Fill in a block's gas, roots, bloom filter and hash of requests, and return the block in RLP.
///
/// # Arguments
///
/// * `input` - the draft with its witness, in the form of [`Input`]; the header has its fields already, of any value.
/// * `archive` - takes what the block adds to the state.
///
/// # Errors
///
/// [`Refusal`] if a transaction is invalid or the witness lacks something.
pub fn seal(input: &[u8], archive: &mut impl Archive) -> Result<Vec<u8>, Refusal> {
    let input = Input::parse(input)?;
    let rules = Rules::of(input.chain, input.rules)?;
    let mut block = body::decode(input.block)?;
    let ancestors = headers::ancestors(&input.headers, &block.header)?;
    let fork = rules.at(&block.header)?;
    let senders = body::senders(&block)?;
    let mut state = State::new(ancestors.parent.state_root, &input.nodes, &input.codes, ancestors.hashes);
    let outcome = execution::execute(&block, &senders, &rules, &fork, &mut state)?;
    let header = &mut block.header;
    header.gas_used = outcome.gas_used;
    header.blob_gas_used = fork.cancun.then_some(outcome.blob_gas_used);
    header.logs_bloom = outcome.receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom());
    header.receipts_root = proofs::calculate_receipt_root(&outcome.receipts);
    header.requests_hash = fork.prague.then(|| outcome.requests.requests_hash());
    header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    header.withdrawals_root = block.body.calculate_withdrawals_root();
    header.state_root = state.root(archive)?;
    Ok(alloy_rlp::encode(&block))
}
