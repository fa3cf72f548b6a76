use std::process::Command;
use std::time::Duration;

use ere_compiler_core::Elf;
use ere_prover_core::{Input, ProgramExecutionReport, ProgramProvingReport, ProverResource, PublicValues, zkVMProver};
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{answer, bytes, graphprover, number, read, run, seconds, success, words, write};
use crate::{Error, GraphproverVerifier};

/// graphprover's cost number of a run: one number for its proving time, comparable within a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    pub name: String,
    pub version: u64,
    pub value: u64,
}

/// Proves runs of one program.
pub struct GraphproverProver {
    verifier: GraphproverVerifier,
    resource: ProverResource,
    folder: TempDir,
}

impl GraphproverProver {
    /// Creates a prover and the verifying key of its program.
    ///
    /// A cluster is the URL of a `graphprover serve` with its token as key, or the address of a Dask scheduler.
    pub fn new(elf: Elf, resource: ProverResource) -> Result<Self, Error> {
        if let ProverResource::Network(_) = resource {
            return Err(Error::Unsupported(
                "proving network: use ProverResource::Cluster".into(),
            ));
        }
        let folder = temporary()?;
        let (guest, key) = (folder.path().join(GUEST), folder.path().join("guest.vk"));
        write(&guest, &elf)?;
        success(graphprover(["setup"]).arg(&guest).arg("-o").arg(&key))?;
        let verifier = GraphproverVerifier::new(read(&key)?, version()?);
        Ok(Self {
            verifier,
            resource,
            folder,
        })
    }

    /// Executes the program, and returns the cost number of a proof of the run, too.
    pub fn execute_with_cost(&self, input: &Input) -> Result<(PublicValues, ProgramExecutionReport, Cost), Error> {
        let (values, report, found) = self.executed(input, &["--cost"])?;
        let cost = &found["cost"];
        let name = cost["name"]
            .as_str()
            .ok_or_else(|| Error::Answer(cost.to_string()))?
            .to_owned();
        Ok((
            values,
            report,
            Cost {
                name,
                version: number(&cost["version"])?,
                value: number(&cost["value"])?,
            },
        ))
    }

    fn executed(
        &self,
        input: &Input,
        options: &[&str],
    ) -> Result<(PublicValues, ProgramExecutionReport, Value), Error> {
        let folder = given(input)?;
        let mut command = graphprover(["execute"]);
        let (ended, found) = answer(self.on(&mut command, &folder).args(options))?;
        if let Some(code) = found["exit_code"].as_i64().filter(|code| *code != 0) {
            return Err(Error::ExitCode(code));
        }
        if !ended {
            return Err(Error::Graphprover(
                found["error"].as_str().unwrap_or("no reason").to_owned(),
            ));
        }
        let report = ProgramExecutionReport {
            total_num_cycles: number(&found["cycles"])?,
            execution_duration: Duration::from_secs_f64(seconds(&found["seconds"])?),
            ..Default::default()
        };
        Ok((bytes(&found["output"])?.into(), report, found))
    }

    /// Adds the program and an input to a command.
    fn on<'a>(&self, command: &'a mut Command, input: &TempDir) -> &'a mut Command {
        command
            .arg(self.folder.path().join(GUEST))
            .arg("--input")
            .arg(input.path().join(INPUT))
    }
}

impl zkVMProver for GraphproverProver {
    type Verifier = GraphproverVerifier;
    type Error = Error;

    fn verifier(&self) -> &GraphproverVerifier {
        &self.verifier
    }

    /// Executes the program. A run with another exit code than 0 is an error.
    fn execute(&self, input: &Input) -> Result<(PublicValues, ProgramExecutionReport), Error> {
        let (values, report, _) = self.executed(input, &[])?;
        Ok((values, report))
    }

    /// Proves a run. The command line has verified the proof.
    ///
    /// The time is the time of the run and the proof, without the start of the command. If a service had the proof in its
    /// store, it is the time of that proof.
    fn prove(&self, input: &Input) -> Result<(PublicValues, Vec<u8>, ProgramProvingReport), Error> {
        let folder = given(input)?;
        let proof = folder.path().join("proof.bin");
        let mut command = graphprover::<&str>([]);
        let is_service = matches!(&self.resource, ProverResource::Cluster(to) if to.endpoint.starts_with("http"));
        command.arg(if is_service { "submit" } else { "prove" });
        self.on(&mut command, &folder).arg("-o").arg(&proof);
        match &self.resource {
            ProverResource::Cluster(to) if is_service => {
                command.arg("--url").arg(&to.endpoint);
                if let Some(token) = &to.api_key {
                    command.env("GRAPHPROVER_TOKEN", token);
                }
            }
            ProverResource::Cluster(to) => {
                command.arg("--executor").arg(&to.endpoint);
            }
            ProverResource::Gpu => {
                command.args(["--device", "cuda"]);
            }
            _ => {
                command.args(["--device", "cpu"]);
            }
        }
        let found = success(&mut command)?;
        let report = ProgramProvingReport {
            proving_time: Duration::from_secs_f64(if is_service {
                seconds_of_service(&found["report"]["seconds"])?
            } else {
                seconds(&found["seconds"])?
            }),
            total_num_cycles: Some(number(&found["says"]["cycles"])?),
        };
        Ok((bytes(&found["says"]["output"])?.into(), read(&proof)?, report))
    }
}

const GUEST: &str = "guest.elf";
const INPUT: &str = "input";

fn temporary() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(|error| Error::Io("a temporary folder".into(), error))
}

/// Returns a folder with the file of an input.
fn given(input: &Input) -> Result<TempDir, Error> {
    if input.proofs.is_some() {
        return Err(Error::Unsupported("guests that verify proofs".into()));
    }
    let folder = temporary()?;
    write(&folder.path().join(INPUT), input.stdin())?;
    Ok(folder)
}

/// Returns the seconds of the run and the proof in the report of a service.
fn seconds_of_service(stages: &Value) -> Result<f64, Error> {
    Ok(seconds(&stages["prepare"])? + seconds(&stages["prove"])?)
}

/// Returns the version of the command line, for the rest of the process, as ere's interface requires.
fn version() -> Result<&'static str, Error> {
    let output = run(&mut graphprover(["--version"]))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().strip_prefix("graphprover ") {
        Some(version) if output.status.success() => Ok(version.to_owned().leak()),
        _ => Err(Error::Graphprover(words(&output))),
    }
}
