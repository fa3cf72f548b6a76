//! The EVM, system calls and withdrawals; receipts, gas and requests.
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::ToString;

use alloy_consensus::transaction::Recovered;
use alloy_consensus::{proofs, Block, Header, ReceiptEnvelope, TxEnvelope, TxReceipt};
use alloy_eips::eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS;
use alloy_eips::eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS;
use alloy_evm::block::{BlockExecutionResult, BlockExecutor};
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::spec::EthExecutorSpec;
use alloy_evm::eth::{EthBlockExecutionCtx, EthBlockExecutor, EthEvmFactory};
use alloy_evm::{Evm, EvmEnv, EvmFactory};
use alloy_primitives::{b256, Address, Bloom, Log, B256};
use revm::Database;

use crate::refusal::require;
use crate::rules::{Fork, Rules};
use crate::state::State;
use crate::Refusal;

/// Receipts, requests and gas of a block.
pub(crate) type Outcome = BlockExecutionResult<ReceiptEnvelope>;

/// First topic of the deposit contract's logs.
const DEPOSIT: B256 = b256!("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// Size of a deposit in a log, and words of it that are the same in each: offsets and sizes of the fields (EIP-6110).
const DEPOSIT_SIZE: usize = 576;
const DEPOSIT_WORDS: [(usize, usize); 10] =
    [(0, 160), (32, 256), (64, 320), (96, 384), (128, 512), (160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];

/// Execute a block.
pub(crate) fn execute(
    block: &Block<TxEnvelope>,
    senders: &[Address],
    rules: &Rules,
    fork: &Fork,
    state: &mut State<'_>,
) -> Result<Outcome, Refusal> {
    let outcome = run(block, senders, rules, fork, state);
    // What the witness lacks comes first: an error may be its consequence.
    match state.unknown() {
        Some(refusal) => Err(refusal),
        None => outcome,
    }
}

fn run(
    block: &Block<TxEnvelope>,
    senders: &[Address],
    rules: &Rules,
    fork: &Fork,
    state: &mut State<'_>,
) -> Result<Outcome, Refusal> {
    let header = &block.header;
    let environment = EvmEnv::for_eth_block(header, rules, rules.chain, fork.cancun.then_some(fork.blobs));
    let evm = EthEvmFactory::default().create_evm(state, environment);
    let context = EthBlockExecutionCtx {
        parent_hash: header.parent_hash,
        parent_beacon_block_root: header.parent_beacon_block_root,
        ommers: &[],
        withdrawals: block.body.withdrawals.as_ref().map(|withdrawals| Cow::Borrowed(&withdrawals[..])),
        extra_data: header.extra_data.clone(),
        tx_count_hint: Some(senders.len()),
        slot_number: None,
    };
    let mut executor = EthBlockExecutor::new(evm, context, rules, AlloyReceiptBuilder::default());
    executor.apply_pre_execution_changes().map_err(|error| Refusal::invalid(error.to_string()))?;
    for (index, (transaction, sender)) in block.body.transactions.iter().zip(senders).enumerate() {
        let result = executor
            .execute_transaction_without_commit(&Recovered::new_unchecked(transaction, *sender))
            .map_err(|error| Refusal::invalid(format!("transaction {index}: {error}")))?;
        executor.commit_transaction(result);
    }
    if fork.prague {
        for contract in [WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS] {
            let account = executor.evm_mut().db_mut().basic(contract);
            let account = account.map_err(|unknown| Refusal::unusable(unknown.to_string()))?;
            require(account.is_some_and(|account| !account.is_empty_code_hash()), "a system contract has no code")?;
        }
        for log in executor.receipts().iter().flat_map(|receipt| receipt.logs()) {
            require(!is_deposit(log, rules) || is_whole_deposit(log), "a deposit has another form")?;
        }
    }
    let (_, outcome) = executor.finish().map_err(|error| Refusal::invalid(error.to_string()))?;
    Ok(outcome)
}

fn is_deposit(log: &Log, rules: &Rules) -> bool {
    Some(log.address) == rules.deposit_contract_address() && log.topics().first() == Some(&DEPOSIT)
}

fn is_whole_deposit(log: &Log) -> bool {
    let data = &log.data.data;
    let word = |at: usize| {
        let (zeros, number) = data[at..at + 32].split_at(24);
        (zeros == [0; 24]).then(|| number.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    data.len() == DEPOSIT_SIZE && DEPOSIT_WORDS.iter().all(|(at, number)| word(*at) == Some(*number as u64))
}

/// Check the fields of a header that depend on the execution, except the state's root.
pub(crate) fn check(header: &Header, outcome: &Outcome, fork: &Fork) -> Result<(), Refusal> {
    if outcome.gas_used != header.gas_used {
        return Err(Refusal::invalid(format!("the gas used is {}, not {}", outcome.gas_used, header.gas_used)));
    }
    require(outcome.blob_gas_used == header.blob_gas_used.unwrap_or(0), "the blob gas used is another")?;
    let bloom = outcome.receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom());
    require(bloom == header.logs_bloom, "the logs' bloom filter is another")?;
    require(
        proofs::calculate_receipt_root(&outcome.receipts) == header.receipts_root,
        "the receipts' root is another",
    )?;
    let requests = fork.prague.then(|| outcome.requests.requests_hash());
    require(requests == header.requests_hash, "the requests' hash is another")
}
