//! A shard's transcript, whose lookup challenges are drawn from the commitments of all shards of the proof.
//!
//! This is graphprover/protocol/joint.py. Plonky3 draws lookup challenges right after it has absorbed the commitments
//! to main and preprocessed columns: its first draw of a transcript. Here the shard first draws its separating point,
//! and absorbs the values there. Its lookup challenges come from another challenger, that of all shards; then the shard
//! goes on from its digest.

use std::sync::Arc;

use p3_challenger::{ByteGrindingChallenger, CanFinalizeDigest, CanObserve, CanSample, HashChallenger};

use crate::binding::number;
use crate::hash::{Digest, Hash};
use crate::separation::Separation;

type Plain<H> = HashChallenger<u8, H, 32>;

const SHARD_MAGIC: &[u8] = b"graphprover piece 2";
const JOINT_MAGIC: &[u8] = b"graphprover joint 1";
const NONCE_BYTES: usize = 8;

/// A shard of a proof: the digests of all shards, and its index.
pub struct Shard {
    pub index: usize,
    /// Of each shard, in order of index: what it absorbs before the lookup challenges.
    pub digests: Vec<Digest>,
}

impl Shard {
    /// Initial state of the shard's challenger; `tables` is that of its tables in a proof by themselves.
    fn binding<H: Hash>(&self, tables: &Digest) -> Digest {
        H::of(&[
            SHARD_MAGIC,
            &number(self.digests.len()),
            &number(self.index),
            tables.as_slice(),
        ])
    }

    /// What the lookup challenges of all shards are drawn from.
    fn seed<H: Hash>(&self) -> Digest {
        H::of(&[JOINT_MAGIC, &number(self.digests.len()), self.digests.as_flattened()])
    }
}

/// `HashChallenger<u8, H, 32>`, that of a shard with a detour.
#[derive(Clone)]
pub struct Sponge<H: Hash> {
    /// The bytes that it starts from.
    pub start: Digest,
    own: Plain<H>,
    stage: Stage<H>,
}

#[derive(Clone)]
enum Stage<H: Hash> {
    /// Nothing but `own`: a proof by itself, or a shard whose lookup challenges are drawn.
    Own,
    /// A shard before its separating point. `work`: whether a proof of work comes before the lookup challenges.
    Committing {
        shard: Arc<Shard>,
        separation: Arc<Separation>,
        work: bool,
    },
    /// A shard at its lookup challenges, which come from `joint`; `nonce` is that of the proof of work before them.
    Drawing {
        joint: Plain<H>,
        seed: Digest,
        nonce: Vec<u8>,
    },
}

impl<H: Hash> Sponge<H> {
    /// Of the tables with this binding, in a proof by themselves or in a shard of one.
    pub fn new(tables: &Digest, shard: Option<(&Arc<Shard>, &Arc<Separation>)>, work: bool) -> Self {
        let (start, stage) = match shard {
            None => (*tables, Stage::Own),
            Some((shard, separation)) => (
                shard.binding::<H>(tables),
                Stage::Committing {
                    shard: shard.clone(),
                    separation: separation.clone(),
                    work,
                },
            ),
        };
        Self {
            start,
            own: Plain::new(start.to_vec(), H::HASHER),
            stage,
        }
    }

    /// The challenger that draws.
    fn drawing(&self) -> &Plain<H> {
        match &self.stage {
            Stage::Drawing { joint, .. } => joint,
            _ => &self.own,
        }
    }
}

impl<H: Hash> CanObserve<u8> for Sponge<H> {
    fn observe(&mut self, value: u8) {
        self.observe_slice(&[value]);
    }

    fn observe_slice(&mut self, values: &[u8]) {
        if values.is_empty() {
            return;
        }
        if let Stage::Drawing { joint, seed, nonce } = &mut self.stage {
            if nonce.len() < NONCE_BYTES {
                nonce.extend_from_slice(values);
                assert!(nonce.len() <= NONCE_BYTES, "something else than a nonce is absorbed");
                joint.observe_slice(values);
                return;
            }
            // The commitment to permutation columns: the lookup challenges are drawn.
            self.own = Plain::new(self.own.clone().finalize().to_vec(), H::HASHER);
            self.own.observe_slice(seed);
            self.own.observe_slice(nonce);
            self.stage = Stage::Own;
        }
        self.own.observe_slice(values);
    }
}

impl<H: Hash> CanSample<u8> for Sponge<H> {
    fn sample(&mut self) -> u8 {
        if let Stage::Committing {
            shard,
            separation,
            work,
        } = &self.stage
        {
            separation.draw(&mut self.own);
            // A shard that commits to something else is refused here, as by a panic all that Plonky3 asserts.
            assert!(
                self.own.clone().finalize() == shard.digests[shard.index],
                "not what the lookup challenges were drawn from"
            );
            let seed = shard.seed::<H>();
            self.stage = Stage::Drawing {
                joint: Plain::new(seed.to_vec(), H::HASHER),
                seed,
                // Without work Plonky3 absorbs no nonce and wants it to be 0.
                nonce: if *work { Vec::new() } else { vec![0; NONCE_BYTES] },
            };
        }
        match &mut self.stage {
            Stage::Drawing { joint, .. } => joint.sample(),
            _ => self.own.sample(),
        }
    }
}

impl<H: Hash> ByteGrindingChallenger for Sponge<H> {
    fn find_witness<const W: usize, const S: usize>(
        &self,
        num_candidates: u64,
        encode: impl Fn(u64) -> [u8; W] + Sync,
        accepts: impl Fn([u8; S]) -> bool + Sync,
    ) -> Option<u64> {
        self.drawing().find_witness(num_candidates, encode, accepts)
    }
}
