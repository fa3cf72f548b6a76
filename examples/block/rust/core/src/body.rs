//! Transactions and withdrawals of a block.
use alloc::string::ToString;
use alloc::vec::Vec;

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{proofs, Block, TxEip4844Variant, TxEnvelope};
use alloy_primitives::Address;
use alloy_rlp::{Decodable, Encodable};

use crate::refusal::require;
use crate::rules::Fork;
use crate::Refusal;

/// Largest block of Osaka and later in RLP: 10 MiB, less 2 MiB for the beacon block (EIP-7934).
const MAXIMUM_SIZE: usize = 8 << 20;

/// Decode a block, whose encoding is the only one that it has.
pub(crate) fn decode(bytes: &[u8]) -> Result<Block<TxEnvelope>, Refusal> {
    let mut rest = bytes;
    let block = Block::<TxEnvelope>::decode(&mut rest)
        .map_err(|error| Refusal::invalid(alloc::format!("the block is malformed: {error}")))?;
    let mut again = Vec::with_capacity(bytes.len());
    block.encode(&mut again);
    require(again == bytes, "the block is malformed: its encoding is not the one of its contents")?;
    Ok(block)
}

/// Check what a block's body says without execution.
pub(crate) fn check(block: &Block<TxEnvelope>, encoded: &[u8], fork: &Fork) -> Result<(), Refusal> {
    let (header, body) = (&block.header, &block.body);
    require(!fork.osaka || encoded.len() <= MAXIMUM_SIZE, "the block is larger than 8 MiB")?;
    require(body.ommers.is_empty(), "the block has ommers")?;
    require(body.withdrawals.is_some() == fork.shanghai, "the fork and the list of withdrawals disagree")?;
    for transaction in &body.transactions {
        let TxEnvelope::Eip4844(signed) = transaction else { continue };
        require(matches!(signed.tx(), TxEip4844Variant::TxEip4844(_)), "a transaction brings its blobs along")?;
    }
    require(
        proofs::calculate_transaction_root(&body.transactions) == header.transactions_root,
        "the transactions' root is another",
    )?;
    require(body.calculate_withdrawals_root() == header.withdrawals_root, "the withdrawals' root is another")
}

/// Return the senders of the transactions.
pub(crate) fn senders(block: &Block<TxEnvelope>) -> Result<Vec<Address>, Refusal> {
    let recovered = block.body.transactions.iter().enumerate().map(|(index, transaction)| {
        transaction
            .recover_signer()
            .map_err(|error| Refusal::invalid(alloc::format!("transaction {index}: {}", error.to_string())))
    });
    recovered.collect()
}
