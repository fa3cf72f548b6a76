//! The adapter as ere uses it: each step of a proof through its traits. `GRAPHPROVER` names the command line, or it is
//! in the PATH.

use std::fs;
use std::path::PathBuf;

use ere_compiler_core::{Compiler, Elf};
use ere_prover_core::{
    Input, ProgramVk, Proof, ProverResource, PublicValues, RemoteProverConfig,
    codec::{Decode, Encode},
    zkVMProver, zkVMVerifier,
};
use ere_prover_graphprover::{Error, GraphproverCompiler, GraphproverProver};

fn guests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../guests")
}

/// Compiles a folder whose Makefile copies a compiled guest: the tests need no compiler for RISC-V.
fn compiled(name: &str) -> Elf {
    let folder = tempfile::tempdir().unwrap();
    let source = guests().canonicalize().unwrap().join(name);
    fs::write(
        folder.path().join("Makefile"),
        format!("guest.elf:\n\tcp {} $@\n", source.display()),
    )
    .unwrap();
    GraphproverCompiler
        .compile(folder.path(), &["--silent".into()])
        .unwrap()
}

fn fibonacci(turns: u64) -> Input {
    Input::new().with_stdin(turns.to_le_bytes().to_vec())
}

/// Runs the steps by the trait alone, and returns the proof.
fn proved<P: zkVMProver>(prover: &P, input: &Input, output: u64) -> Proof<P>
where
    Proof<P>: Clone,
{
    let expected = PublicValues(output.to_le_bytes().to_vec());
    let (values, report) = prover.execute(input).unwrap();
    assert_eq!(values, expected);
    let (values, proof, proving) = prover.prove(input).unwrap();
    assert_eq!(values, expected);
    assert_eq!(proving.total_num_cycles, Some(report.total_num_cycles));
    assert!(report.total_num_cycles > 80 && !proving.proving_time.is_zero());
    assert_eq!(prover.verify(&proof).unwrap(), expected);
    let bytes = proof.encode_to_vec().unwrap();
    let again = <Proof<P> as Decode>::decode_from_slice(&bytes).unwrap();
    assert_eq!(prover.verifier().verify(&again).unwrap(), expected);
    let key = prover.program_vk().encode_to_vec().unwrap();
    assert_eq!(
        <ProgramVk<P> as Decode>::decode_from_slice(&key)
            .unwrap()
            .encode_to_vec()
            .unwrap(),
        key
    );
    proof
}

#[test]
fn a_proof_is_made_and_a_changed_one_is_refused() {
    let elf = compiled("fib_iterative.elf");
    assert_eq!(*elf, fs::read(guests().join("fib_iterative.elf")).unwrap());
    let prover = GraphproverProver::new(elf, ProverResource::Cpu).unwrap();
    let proof = proved(&prover, &fibonacci(9), 34);
    assert_eq!(prover.name(), "graphprover");
    assert!(prover.sdk_version().starts_with("0."));

    let (values, report, cost) = prover.execute_with_cost(&fibonacci(9)).unwrap();
    assert_eq!(*values, 34u64.to_le_bytes());
    assert_eq!(cost.name, "graphprover cost");
    assert!(cost.version > 0 && cost.value > report.total_num_cycles);

    for place in [proof.len() / 2, proof.len() - 1] {
        let mut changed = proof.clone();
        changed[place] ^= 1;
        assert!(matches!(prover.verify(&changed), Err(Error::Graphprover(words)) if words.contains("not valid")));
    }
    assert!(matches!(
        prover.verify(&proof[..1000].to_vec()),
        Err(Error::Graphprover(_))
    ));
}

#[test]
fn a_proof_of_another_program_is_refused() {
    let [first, second] = ["fib_iterative.elf", "sha256.elf"]
        .map(|name| GraphproverProver::new(compiled(name), ProverResource::Cpu).unwrap());
    let (_, proof, _) = first.prove(&fibonacci(1)).unwrap();
    assert!(matches!(second.verify(&proof), Err(Error::Graphprover(_))));
}

/// The exit code of `json.elf` is 1 if its input is no JSON.
#[test]
fn a_guest_that_fails_is_an_error() {
    let prover = GraphproverProver::new(compiled("json.elf"), ProverResource::Cpu).unwrap();
    let input = Input::new().with_stdin(b"{]".to_vec());
    assert!(matches!(prover.execute(&input), Err(Error::ExitCode(code)) if code != 0));
    assert!(matches!(prover.prove(&input), Err(Error::Graphprover(words)) if words.contains("exit code")));
}

#[test]
fn what_is_not_there_is_an_error() {
    let network = ProverResource::Network(RemoteProverConfig::default());
    let elf = compiled("fib_iterative.elf");
    assert!(matches!(
        GraphproverProver::new(elf.clone(), network),
        Err(Error::Unsupported(_))
    ));
    assert!(matches!(
        GraphproverProver::new(Elf(b"no ELF".to_vec()), ProverResource::Cpu),
        Err(Error::Graphprover(_))
    ));
    let prover = GraphproverProver::new(elf, ProverResource::Cpu).unwrap();
    let composed = fibonacci(9).with_serialized_proofs(vec![0]);
    assert!(matches!(prover.prove(&composed), Err(Error::Unsupported(_))));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        GraphproverCompiler.compile(empty.path(), &[]),
        Err(Error::Graphprover(_))
    ));
}

/// With `ERE_SERVICE` and `ERE_TOKEN` of a running `graphprover serve`.
#[test]
#[ignore = "needs a service"]
fn a_service_proves() {
    let endpoint = std::env::var("ERE_SERVICE").unwrap();
    let elf = compiled("fib_iterative.elf");
    let prover_by = |api_key| {
        let config = RemoteProverConfig {
            endpoint: endpoint.clone(),
            api_key,
        };
        GraphproverProver::new(elf.clone(), ProverResource::Cluster(config)).unwrap()
    };
    proved(
        &prover_by(Some(std::env::var("ERE_TOKEN").unwrap())),
        &fibonacci(10),
        55,
    );
    let refused = prover_by(Some("wrong".into())).prove(&fibonacci(10));
    assert!(matches!(refused, Err(Error::Graphprover(words)) if words.contains("token")));
}
