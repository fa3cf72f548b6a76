//! The one protocol profile: Goldilocks, its cubic extension, Keccak-256, two-adic FRI, not hiding.

use p3_batch_stark::BatchProof;
use p3_challenger::SerializingChallenger64;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::extension::CubicTrinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::Goldilocks;
use p3_keccak::Keccak256Hash;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CompressionFunctionFromHasher, SerializingHasher};
use p3_uni_stark::StarkConfig;

use crate::statement::Parameters;
use crate::transcript::ByteChallenger;

pub type Val = Goldilocks;
pub type Challenge = CubicTrinomialExtensionField<Val>;
type RowHash = SerializingHasher<Keccak256Hash>;
type NodeHash = CompressionFunctionFromHasher<Keccak256Hash, 2, 32>;
type ValMmcs = MerkleTreeMmcs<Val, u8, RowHash, NodeHash, 2, 32>;
type ChallengeMmcs = ExtensionMmcs<Val, Challenge, ValMmcs>;
type Pcs = TwoAdicFriPcs<Val, Radix2DitParallel<Val>, ValMmcs, ChallengeMmcs>;
pub type Config = StarkConfig<Pcs, Challenge, SerializingChallenger64<Val, ByteChallenger>>;
pub type Proof = BatchProof<Config>;

/// The configuration of one statement, its transcript starting from `challenger`.
pub fn config(parameters: &Parameters, challenger: ByteChallenger) -> Config {
    let mmcs = ValMmcs::new(
        RowHash::new(Keccak256Hash),
        NodeHash::new(Keccak256Hash),
        parameters.cap_height.into(),
    );
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
    let pcs = Pcs::new(Radix2DitParallel::default(), mmcs, fri);
    StarkConfig::new(pcs, SerializingChallenger64::new(challenger))
        .with_lookup_proof_of_work_bits(parameters.lookup_pow_bits.into())
        .with_ood_proof_of_work_bits(parameters.ood_pow_bits.into())
}
