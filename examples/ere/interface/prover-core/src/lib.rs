//! The names and signatures of ere 0.16.2 that the adapter uses.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::ops::Deref;
use std::time::Duration;

pub mod codec {
    //! Values as bytes.

    use std::convert::Infallible;
    use std::error::Error;

    /// A value that can be written as bytes.
    pub trait Encode {
        type Error: 'static + Send + Sync + Error;

        fn encode_to_vec(&self) -> Result<Vec<u8>, Self::Error>;
    }

    /// A value that can be read from bytes.
    pub trait Decode: Sized {
        type Error: 'static + Send + Sync + Error;

        fn decode_from_slice(slice: &[u8]) -> Result<Self, Self::Error>;
    }

    impl Encode for Vec<u8> {
        type Error = Infallible;

        fn encode_to_vec(&self) -> Result<Vec<u8>, Infallible> {
            Ok(self.clone())
        }
    }

    impl Decode for Vec<u8> {
        type Error = Infallible;

        fn decode_from_slice(slice: &[u8]) -> Result<Self, Infallible> {
            Ok(slice.to_vec())
        }
    }
}

use codec::{Decode, Encode};

/// The output of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicValues(pub Vec<u8>);

impl Deref for PublicValues {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for PublicValues {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// The input of a guest.
#[derive(Clone, Debug, Default)]
pub struct Input {
    pub stdin: Vec<u8>,
    /// Proofs for a guest that verifies them.
    pub proofs: Option<Vec<u8>>,
}

impl Input {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_stdin(mut self, stdin: Vec<u8>) -> Self {
        self.stdin = stdin;
        self
    }

    pub fn with_serialized_proofs(mut self, proofs: Vec<u8>) -> Self {
        self.proofs = Some(proofs);
        self
    }

    pub fn stdin(&self) -> &[u8] {
        &self.stdin
    }
}

/// The figures of a run.
#[derive(Clone, Debug, Default)]
pub struct ProgramExecutionReport {
    pub total_num_cycles: u64,
    pub region_cycles: BTreeMap<String, u64>,
    pub execution_duration: Duration,
}

/// The figures of a proof.
#[derive(Clone, Debug, Default)]
pub struct ProgramProvingReport {
    pub proving_time: Duration,
    pub total_num_cycles: Option<u64>,
}

/// A prover on another host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteProverConfig {
    pub endpoint: String,
    pub api_key: Option<String>,
}

/// The hardware that proves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProverResource {
    #[default]
    Cpu,
    Gpu,
    /// The zkVM's own network.
    Network(RemoteProverConfig),
    /// The user's cluster.
    Cluster(RemoteProverConfig),
}

/// The verifier of one program.
#[allow(non_camel_case_types)]
pub trait zkVMVerifier: 'static + Send + Sync + Clone + Debug {
    type ProgramVk: 'static + Send + Sync + Encode + Decode;
    type Proof: 'static + Send + Sync + Encode + Decode;
    type Error: 'static + Send + Sync + Error;

    /// Returns the public values of a valid proof.
    fn verify(&self, proof: &Self::Proof) -> Result<PublicValues, Self::Error>;

    fn program_vk(&self) -> &Self::ProgramVk;

    fn name(&self) -> &'static str;

    fn sdk_version(&self) -> &'static str;
}

/// The prover of one program.
#[allow(non_camel_case_types)]
pub trait zkVMProver: Sync {
    type Verifier: zkVMVerifier;
    type Error: 'static + Send + Sync + Error + From<<Self::Verifier as zkVMVerifier>::Error>;

    fn verifier(&self) -> &Self::Verifier;

    fn execute(&self, input: &Input) -> Result<(PublicValues, ProgramExecutionReport), Self::Error>;

    fn prove(&self, input: &Input) -> Result<(PublicValues, Proof<Self>, ProgramProvingReport), Self::Error>;

    fn verify(&self, proof: &Proof<Self>) -> Result<PublicValues, Self::Error> {
        Ok(self.verifier().verify(proof)?)
    }

    fn program_vk(&self) -> &ProgramVk<Self> {
        self.verifier().program_vk()
    }

    fn name(&self) -> &'static str {
        self.verifier().name()
    }

    fn sdk_version(&self) -> &'static str {
        self.verifier().sdk_version()
    }
}

pub type Proof<T> = <<T as zkVMProver>::Verifier as zkVMVerifier>::Proof;
pub type ProgramVk<T> = <<T as zkVMProver>::Verifier as zkVMVerifier>::ProgramVk;
