//! The chain of headers, and a header's fields against its parent's.
use alloc::vec::Vec;

use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
use alloy_consensus::Header;
use alloy_eips::eip1559::BaseFeeParams;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{keccak256, B256, B64};
use alloy_rlp::Decodable;

use crate::refusal::require;
use crate::rules::Fork;
use crate::Refusal;

const GAS_LIMIT_BOUND_DIVISOR: u64 = 1024;
const MINIMUM_GAS_LIMIT: u64 = 5000;
const MAXIMUM_GAS_LIMIT: u64 = i64::MAX as u64;
const MAXIMUM_EXTRA_DATA: usize = 32;
/// How many headers before a block the EVM can see.
const VISIBLE: usize = 256;

/// The headers before a block.
pub(crate) struct Ancestors {
    pub parent: Header,
    /// Numbers and hashes, the parent's first.
    pub hashes: Vec<(u64, B256)>,
}

/// Return the headers before a block, whose last one is its parent.
pub(crate) fn ancestors(encoded: &[&[u8]], block: &Header) -> Result<Ancestors, Refusal> {
    if encoded.len() > VISIBLE {
        return Err(Refusal::unusable("there are more than 256 headers"));
    }
    let mut hashes = Vec::with_capacity(encoded.len());
    let (mut hash, mut number) = (block.parent_hash, block.number);
    let mut parent = None;
    for bytes in encoded.iter().rev() {
        if keccak256(bytes) != hash {
            return Err(Refusal::unusable("the headers are no chain that ends at the block"));
        }
        let header =
            Header::decode(&mut &bytes[..]).map_err(|_| Refusal::unusable("a header before the block is malformed"))?;
        require(header.number.checked_add(1) == Some(number), "a number does not follow its parent's")?;
        number = header.number;
        hashes.push((number, hash));
        hash = header.parent_hash;
        parent.get_or_insert(header);
    }
    let parent = parent.ok_or_else(|| Refusal::unusable("the header of the parent is missing"))?;
    Ok(Ancestors { parent, hashes })
}

/// Check the fields of a header that do not depend on its transactions.
pub(crate) fn check(header: &Header, parent: &Header, fork: &Fork) -> Result<(), Refusal> {
    require(header.ommers_hash == EMPTY_OMMER_ROOT_HASH, "the ommers' hash is not that of none")?;
    require(header.difficulty.is_zero(), "the difficulty is not 0")?;
    require(header.nonce == B64::ZERO, "the nonce is not 0")?;
    require(header.extra_data.len() <= MAXIMUM_EXTRA_DATA, "the extra data are longer than 32 bytes")?;
    require(header.timestamp > parent.timestamp, "the time is not after the parent's")?;
    check_gas(header, parent)?;
    require(header.withdrawals_root.is_some() == fork.shanghai, "the fork and the field of withdrawals disagree")?;
    require(header.requests_hash.is_some() == fork.prague, "the fork and the field of requests disagree")?;
    require(header.block_access_list_hash.is_none(), "the fork has no block access list")?;
    require(header.slot_number.is_none(), "the fork has no slot number")?;
    require(
        header.blob_gas_used.is_some() == fork.cancun
            && header.excess_blob_gas.is_some() == fork.cancun
            && header.parent_beacon_block_root.is_some() == fork.cancun,
        "the fork and the fields of blobs disagree",
    )?;
    match (header.blob_gas_used, header.excess_blob_gas) {
        (Some(used), Some(excess)) => check_blob_gas(used, excess, parent, fork),
        _ => Ok(()),
    }
}

fn check_gas(header: &Header, parent: &Header) -> Result<(), Refusal> {
    require(header.gas_used <= header.gas_limit, "the gas used is more than the limit")?;
    require(header.gas_limit >= MINIMUM_GAS_LIMIT, "the gas limit is below 5000")?;
    require(header.gas_limit <= MAXIMUM_GAS_LIMIT, "the gas limit is above 2^63 - 1")?;
    require(
        header.gas_limit.abs_diff(parent.gas_limit) < parent.gas_limit / GAS_LIMIT_BOUND_DIVISOR,
        "the gas limit differs too much from the parent's",
    )?;
    let base_fee = parent.next_block_base_fee(BaseFeeParams::ethereum());
    require(base_fee.is_some() && header.base_fee_per_gas == base_fee, "the base fee does not follow from the parent's")
}

fn check_blob_gas(used: u64, excess: u64, parent: &Header, fork: &Fork) -> Result<(), Refusal> {
    require(used <= fork.blobs.max_blob_gas_per_block(), "the blob gas used is more than the limit")?;
    require(used % DATA_GAS_PER_BLOB == 0, "the blob gas used is not that of whole blobs")?;
    let (before, used_before) = (parent.excess_blob_gas.unwrap_or(0), parent.blob_gas_used.unwrap_or(0));
    // No header of a chain comes near this bound. Below it no sum in the next step wraps around.
    require(before.max(used_before) < 1 << 48, "the parent's blob gas is absurd")?;
    let base_fee = parent.base_fee_per_gas.unwrap_or(0);
    let expected = fork.blobs.next_block_excess_blob_gas_osaka(before, used_before, base_fee);
    require(excess == expected, "the excess blob gas does not follow from the parent's")
}
