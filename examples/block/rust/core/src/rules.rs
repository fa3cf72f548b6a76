//! Forks, blob parameters and deposit contracts of the chains.
use alloc::vec::Vec;

use alloy_consensus::Header;
use alloy_eips::eip7594::MAX_BLOBS_PER_TX_FUSAKA;
use alloy_eips::eip7840::{BlobParams, BLOB_BASE_COST};
use alloy_evm::eth::spec::EthExecutorSpec;
use alloy_hardforks::{EthereumChainHardforks, EthereumHardfork, EthereumHardforks, ForkCondition};
use alloy_primitives::{address, Address};

use crate::Refusal;

const MAINNET: u64 = 1;
const HOLESKY: u64 = 17_000;
const HOODI: u64 = 560_048;
const SEPOLIA: u64 = 11_155_111;

/// The forks that rules of the input date, in their order.
const DATED: [EthereumHardfork; 4] =
    [EthereumHardfork::Shanghai, EthereumHardfork::Cancun, EthereumHardfork::Prague, EthereumHardfork::Osaka];
/// A date that never comes.
const NEVER: u64 = u64::MAX;
/// Largest number of blobs that rules of the input may allow a block.
const MOST_BLOBS: u64 = 1 << 16;

/// The rules of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The chain's number.
    pub chain: u64,
    forks: EthereumChainHardforks,
    /// Blob parameters with the time that they begin at, in order.
    blobs: Vec<(u64, BlobParams)>,
    deposit_contract: Address,
}

/// The rules of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    pub shanghai: bool,
    pub cancun: bool,
    pub prague: bool,
    pub osaka: bool,
    /// The blob parameters; those of no fork before Cancun.
    pub blobs: BlobParams,
}

impl EthereumHardforks for Rules {
    fn ethereum_fork_activation(&self, fork: EthereumHardfork) -> ForkCondition {
        self.forks.ethereum_fork_activation(fork)
    }
}

impl EthExecutorSpec for Rules {
    fn deposit_contract_address(&self) -> Option<Address> {
        Some(self.deposit_contract)
    }
}

impl Rules {
    /// Return the rules of a chain: those that the input states, or those that are built in.
    pub fn of(chain: u64, stated: &[u8]) -> Result<Self, Refusal> {
        if stated.is_empty() {
            Self::built_in(chain)
                .ok_or_else(|| Refusal::unusable("the chain is unknown, and the input states no rules"))
        } else {
            Self::decode(chain, stated).ok_or_else(|| Refusal::unusable("the rules have another form"))
        }
    }

    fn built_in(chain: u64) -> Option<Self> {
        let (forks, deposit_contract) = match chain {
            MAINNET => (EthereumChainHardforks::mainnet(), address!("0x00000000219ab540356cbb839cbe05303d7705fa")),
            HOLESKY => (EthereumChainHardforks::holesky(), address!("0x4242424242424242424242424242424242424242")),
            HOODI => (EthereumChainHardforks::hoodi(), address!("0x00000000219ab540356cbb839cbe05303d7705fa")),
            SEPOLIA => (EthereumChainHardforks::sepolia(), address!("0x7f02c3e3c98b133055b8b348b2ac625669ed295d")),
            _ => return None,
        };
        let schedule = [
            (EthereumHardfork::Cancun, BlobParams::cancun()),
            (EthereumHardfork::Prague, BlobParams::prague()),
            (EthereumHardfork::Osaka, BlobParams::osaka()),
            (EthereumHardfork::Bpo1, BlobParams::bpo1()),
            (EthereumHardfork::Bpo2, BlobParams::bpo2()),
        ];
        let blobs = schedule
            .into_iter()
            .filter_map(|(fork, blobs)| forks.ethereum_fork_activation(fork).as_timestamp().map(|time| (time, blobs)))
            .collect();
        Some(Self { chain, forks, blobs, deposit_contract })
    }

    /// Read rules of the input, which are little-endian words: the times of Shanghai, Cancun, Prague and Osaka, all ones
    /// for never; then sets of blob parameters, each its time, target, maximum and update fraction; at last the 20 bytes
    /// of the deposit contract and 4 zeros.
    fn decode(chain: u64, stated: &[u8]) -> Option<Self> {
        let (stated, contract) = stated.split_last_chunk::<24>()?;
        let (deposit_contract, [0, 0, 0, 0]) = contract.split_first_chunk::<20>()? else { return None };
        let (words, []) = stated.as_chunks::<8>() else { return None };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (times, blobs) = words.split_first_chunk::<4>()?;
        let (sets, []) = blobs.as_chunks::<4>() else { return None };
        if !times.is_sorted() || !sets.is_sorted_by_key(|[time, ..]| *time) {
            return None;
        }
        let before = EthereumHardfork::mainnet().into_iter().map(|(fork, _)| fork);
        let merged = before.filter(|fork| *fork <= EthereumHardfork::Paris).map(|fork| match fork {
            EthereumHardfork::Dao => (fork, ForkCondition::Never),
            _ => (fork, ForkCondition::Block(0)),
        });
        let dated = DATED.into_iter().zip(times).filter(|(_, time)| **time != NEVER);
        let forks = merged.chain(dated.map(|(fork, time)| (fork, ForkCondition::Timestamp(*time))));
        let osaka = times[3];
        let mut blobs = Vec::with_capacity(sets.len());
        for &[time, target_blob_count, max_blob_count, update_fraction] in sets {
            if target_blob_count > max_blob_count
                || max_blob_count > MOST_BLOBS
                || max_blob_count == 0
                || update_fraction == 0
            {
                return None;
            }
            let with_limits = time >= osaka && osaka != NEVER;
            blobs.push((
                time,
                BlobParams {
                    target_blob_count,
                    max_blob_count,
                    update_fraction: update_fraction.into(),
                    max_blobs_per_tx: if with_limits { MAX_BLOBS_PER_TX_FUSAKA } else { max_blob_count },
                    blob_base_cost: if with_limits { BLOB_BASE_COST } else { 0 },
                    ..BlobParams::cancun()
                },
            ));
        }
        let forks = EthereumChainHardforks::new(forks);
        Some(Self { chain, forks, blobs, deposit_contract: deposit_contract.into() })
    }

    /// Return the rules of one block.
    pub fn at(&self, header: &Header) -> Result<Fork, Refusal> {
        let time = header.timestamp;
        if !self.is_paris_active_at_block(header.number) {
            return Err(Refusal::unusable("the block is older than the merge"));
        }
        if self.is_amsterdam_active_at_timestamp(time) || self.is_bogota_active_at_timestamp(time) {
            return Err(Refusal::unusable("the block's fork is later than those that this program knows"));
        }
        let cancun = self.is_cancun_active_at_timestamp(time);
        let blobs = self.blobs.iter().rev().find(|(begin, _)| *begin <= time).map(|(_, blobs)| *blobs);
        if cancun && blobs.is_none() {
            return Err(Refusal::unusable("the rules state no blob parameters for the time of the block"));
        }
        Ok(Fork {
            shanghai: self.is_shanghai_active_at_timestamp(time),
            cancun,
            prague: self.is_prague_active_at_timestamp(time),
            osaka: self.is_osaka_active_at_timestamp(time),
            blobs: blobs.unwrap_or(BlobParams::cancun()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(chain: u64, number: u64, timestamp: u64) -> Fork {
        let header = Header { number, timestamp, ..Default::default() };
        Rules::of(chain, &[]).unwrap().at(&header).unwrap()
    }

    #[test]
    fn mainnet_changes_at_its_forks() {
        let times = [
            (1_681_338_455, [false, false, false, false], 6),
            (1_710_338_135, [true, false, false, false], 6),
            (1_746_612_311, [true, true, false, false], 6),
            (1_764_798_551, [true, true, true, false], 9),
            (1_765_290_071, [true, true, true, true], 9),
            (1_767_747_671, [true, true, true, true], 15),
        ];
        for (end, forks, most) in times {
            let fork = at(MAINNET, 16_000_000, end - 1);
            assert_eq!(
                ([fork.shanghai, fork.cancun, fork.prague, fork.osaka], fork.blobs.max_blob_count),
                (forks, most)
            );
        }
        let fork = at(MAINNET, 24_000_000, 1_767_747_671);
        assert_eq!((fork.blobs.max_blob_count, fork.blobs.max_blobs_per_tx, fork.blobs.target_blob_count), (21, 6, 14));
    }

    #[test]
    fn blocks_of_other_forks_get_no_verdict() {
        let header = Header { number: 15_537_393, timestamp: 1_663_224_161, ..Default::default() };
        assert!(matches!(Rules::of(MAINNET, &[]).unwrap().at(&header), Err(Refusal::Unusable(_))));
        assert!(matches!(Rules::of(5, &[]), Err(Refusal::Unusable(_))));
    }

    fn stated(words: &[u64], contract: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend_from_slice(contract);
        bytes
    }

    #[test]
    fn stated_rules_are_read() {
        let bytes =
            stated(&[0, 5, 10, 20, 5, 3, 6, 3_338_477, 20, 6, 9, 5_007_716], &[&[0x42; 20][..], &[0; 4]].concat());
        let rules = Rules::of(1337, &bytes).unwrap();
        let at = |timestamp| rules.at(&Header { timestamp, ..Default::default() }).unwrap();
        assert!(at(4).shanghai && !at(4).cancun && at(5).cancun && at(10).prague && !at(19).osaka && at(20).osaka);
        assert_eq!((at(19).blobs.max_blob_count, at(20).blobs.max_blob_count), (6, 9));
        assert_eq!((at(19).blobs.max_blobs_per_tx, at(20).blobs.max_blobs_per_tx), (6, 6));
        assert_eq!(rules.deposit_contract, Address::repeat_byte(0x42));
    }

    #[test]
    fn malformed_rules_are_refused() {
        let contract = [&[0x42; 20][..], &[0; 4]].concat();
        let good: [u64; 8] = [0, 5, 10, 20, 5, 3, 6, 3_338_477];
        assert!(Rules::of(7, &stated(&good, &contract)).is_ok());
        for (at, value) in [(0, 6), (5, 7), (6, 0), (6, 1 << 40), (7, 0)] {
            let mut words = good;
            words[at] = value;
            assert!(Rules::of(7, &stated(&words, &contract)).is_err());
        }
        assert!(Rules::of(7, &stated(&good[..5], &contract)).is_err());
        assert!(Rules::of(7, &stated(&good, &contract[..20])).is_err());
        assert!(Rules::of(7, &[0; 3]).is_err());
    }

    #[test]
    fn cancun_without_blob_parameters_gets_no_verdict() {
        let rules = Rules::of(7, &stated(&[0, 0, NEVER, NEVER], &[0; 24])).unwrap();
        assert!(matches!(rules.at(&Header::default()), Err(Refusal::Unusable(_))));
    }
}
