//! The protocol profile: Goldilocks, its cubic extension, two-adic FRI, not hiding, with either hash.

use std::sync::Arc;

use p3_batch_stark::BatchProof;
use p3_challenger::SerializingChallenger64;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::extension::CubicTrinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::Goldilocks;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CompressionFunctionFromHasher, SerializingHasher};
use p3_uni_stark::StarkConfig;

use crate::hash::Hash;
use crate::separation::{SeparatingPcs, Separation};
use crate::statement::Parameters;
use crate::transcript::ByteChallenger;

pub type Val = Goldilocks;
pub type Challenge = CubicTrinomialExtensionField<Val>;
type RowHash<H> = SerializingHasher<H>;
type NodeHash<H> = CompressionFunctionFromHasher<H, 2, 32>;
pub type ValMmcs<H> = MerkleTreeMmcs<Val, u8, RowHash<H>, NodeHash<H>, 2, 32>;
type ChallengeMmcs<H> = ExtensionMmcs<Val, Challenge, ValMmcs<H>>;
type FriPcs<H> = TwoAdicFriPcs<Val, Radix2DitParallel<Val>, ValMmcs<H>, ChallengeMmcs<H>>;
type Pcs<H> = SeparatingPcs<FriPcs<H>>;
pub type Challenger<H> = SerializingChallenger64<Val, ByteChallenger<H>>;
pub type Config<H> = StarkConfig<Pcs<H>, Challenge, Challenger<H>>;
pub type Proof<H> = BatchProof<Config<H>>;

/// What commits to matrices.
pub fn mmcs<H: Hash>(cap_height: usize) -> ValMmcs<H> {
    ValMmcs::new(RowHash::new(H::HASHER), NodeHash::new(H::HASHER), cap_height)
}

/// The configuration of one statement, its transcript starting from `challenger`; `separation`: of a shard.
pub fn config<H: Hash>(
    parameters: &Parameters,
    challenger: ByteChallenger<H>,
    separation: Option<Arc<Separation>>,
) -> Config<H> {
    let mmcs = mmcs(parameters.cap_height.into());
    let fri = FriParameters {
        log_blowup: parameters.log_blowup.into(),
        log_final_poly_len: parameters.log_final_poly_len.into(),
        max_log_arity: parameters.max_log_arity.into(),
        num_queries: parameters.num_queries.into(),
        batch_proof_of_work_bits: parameters.batch_pow_bits.into(),
        commit_proof_of_work_bits: parameters.commit_pow_bits.into(),
        query_proof_of_work_bits: parameters.query_pow_bits.into(),
        mmcs: ChallengeMmcs::new(mmcs.clone()),
    };
    let inner = FriPcs::new(Radix2DitParallel::default(), mmcs, fri);
    let pcs = SeparatingPcs { inner, separation };
    StarkConfig::new(pcs, SerializingChallenger64::new(challenger))
        .with_lookup_proof_of_work_bits(parameters.lookup_pow_bits.into())
        .with_ood_proof_of_work_bits(parameters.ood_pow_bits.into())
}
