use ere_prover_core::{PublicValues, zkVMVerifier};

use crate::Error;
use crate::command::{bytes, graphprover, success, write};

/// Verifies proofs of one program, with its key.
#[derive(Clone, Debug)]
pub struct GraphproverVerifier {
    key: Vec<u8>,
    version: &'static str,
}

impl GraphproverVerifier {
    /// Creates a verifier with a key of `graphprover setup` and the version of the command line.
    pub(crate) fn new(key: Vec<u8>, version: &'static str) -> Self {
        Self { key, version }
    }
}

impl zkVMVerifier for GraphproverVerifier {
    type ProgramVk = Vec<u8>;
    type Proof = Vec<u8>;
    type Error = Error;

    /// Verifies a proof of a run with exit code 0, and returns the guest's output.
    fn verify(&self, proof: &Vec<u8>) -> Result<PublicValues, Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::Io("a temporary folder".into(), error))?;
        let (file, key) = (folder.path().join("proof.bin"), folder.path().join("guest.vk"));
        write(&file, proof)?;
        write(&key, &self.key)?;
        let found = success(graphprover(["verify"]).arg(file).arg(key))?;
        if found["valid"] != true || found["says"]["exit_code"] != 0 {
            return Err(Error::Answer(found.to_string()));
        }
        Ok(bytes(&found["says"]["output"])?.into())
    }

    fn program_vk(&self) -> &Vec<u8> {
        &self.key
    }

    fn name(&self) -> &'static str {
        "graphprover"
    }

    fn sdk_version(&self) -> &'static str {
        self.version
    }
}
