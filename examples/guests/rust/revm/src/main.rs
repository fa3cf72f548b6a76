//! Executes a signed Ethereum transaction that calls a contract, and states its sender, its gas and the contract's answer.
//!
//! revm, alloy and serde come from the registry as they are. Their Keccak-256, their signatures and all precompiles go
//! through the accelerators, and the products and quotients of the EVM through the machine's arithmetic.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::string::String;

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use graphprover_guest::{entry, println, read, write};
use revm::bytecode::Bytecode;
use revm::context::{Context, TxEnv};
use revm::database::{CacheDB, EmptyDB};
use revm::primitives::{Bytes, U256};
use revm::state::AccountInfo;
use revm::{ExecuteEvm, MainBuilder, MainContext};
use serde::{Deserialize, Serialize};

entry!(main);

/// The input, encoded by postcard.
#[derive(Deserialize)]
struct Input<'a> {
    /// A signed transaction as in blocks (EIP-2718), of Ethereum's main chain.
    transaction: &'a [u8],
    /// The code of the contract that it calls.
    code: &'a [u8],
}

/// The output, encoded by postcard.
#[derive(Serialize)]
struct Outcome<'a> {
    sender: [u8; 20],
    success: bool,
    gas: u64,
    answer: &'a [u8],
}

fn main() -> Result<(), String> {
    graphprover_guest::alloy::install();
    graphprover_guest::revm::install();

    let Input { transaction, code } = read().map_err(|error| format!("the input: {error}"))?;
    let transaction =
        TxEnvelope::decode_2718_exact(transaction).map_err(|error| format!("the transaction: {error}"))?;
    let sender = transaction.recover_signer().map_err(|error| format!("the signature: {error}"))?;
    let contract = transaction.to().ok_or("the transaction calls no contract")?;
    println!("{sender} calls {contract}");

    let mut state = CacheDB::<EmptyDB>::default();
    let code = Bytecode::new_legacy(Bytes::copy_from_slice(code));
    let code_hash = code.hash_slow();
    state.insert_account_info(contract, AccountInfo { code_hash, code: Some(code), ..Default::default() });
    let balance = U256::from(10).pow(U256::from(18));
    state.insert_account_info(sender, AccountInfo { balance, nonce: transaction.nonce(), ..Default::default() });

    let call = TxEnv::builder()
        .caller(sender)
        .kind(transaction.kind())
        .nonce(transaction.nonce())
        .chain_id(transaction.chain_id())
        .gas_limit(transaction.gas_limit())
        .gas_price(transaction.max_fee_per_gas())
        .value(transaction.value())
        .data(transaction.input().clone())
        .build()
        .map_err(|error| format!("the transaction: {error:?}"))?;
    let mut machine = Context::mainnet().with_db(state).build_mainnet();
    graphprover_guest::revm::install_arithmetic(machine.instruction.instruction_table_mut());
    let result = machine.transact(call).map_err(|error| format!("the transaction: {error}"))?.result;

    let answer = result.output().map_or(&[][..], |output| output);
    write(&Outcome { sender: sender.into(), success: result.is_success(), gas: result.tx_gas_used(), answer })
        .map_err(|error| format!("the output: {error}"))
}
