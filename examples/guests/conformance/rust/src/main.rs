//! The guest of conformance.c in Rust, by the crate graphprover-guest.
//!
//! Exit code 1: a case failed. An input that is no batch of cases is a fault.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::fmt::{Result as Written, Write};
use core::{mem, slice};

use graphprover_guest::accelerators::{self as zkvm, Bls12G1Term, Bls12G2Term, Bls12Pair, Bn254Pair, Refused};
use graphprover_guest::{entry, read_input, Output};

entry!(main);

const LISTED: usize = 16;
const NAMES: [&str; 19] = [
    "keccak256",
    "secp256k1_verify",
    "secp256k1_ecrecover",
    "sha256",
    "ripemd160",
    "modexp",
    "bn254_g1_add",
    "bn254_g1_mul",
    "bn254_pairing",
    "blake2f",
    "kzg_point_eval",
    "bls12_g1_add",
    "bls12_g1_msm",
    "bls12_g2_add",
    "bls12_g2_msm",
    "bls12_pairing",
    "bls12_map_fp_to_g1",
    "bls12_map_fp2_to_g2",
    "secp256r1_verify",
];

/// Structures of bytes that the header aligns to 8.
trait Structure: 'static {}
impl Structure for Bn254Pair {}
impl Structure for Bls12Pair {}
impl Structure for Bls12G1Term {}
impl Structure for Bls12G2Term {}

/// The bytes of a batch or of a case's arguments, taken from the front.
struct Bytes(&'static [u8]);

impl Bytes {
    fn take(&mut self, size: usize) -> &'static [u8] {
        let (first, rest) = self.0.split_at_checked(size).expect("the input is no batch of cases");
        self.0 = rest;
        first
    }

    fn array<const N: usize>(&mut self) -> &'static [u8; N] {
        self.take(N).try_into().expect("take returns N bytes")
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(*self.array())
    }

    fn padded(&mut self, size: usize) -> Bytes {
        Bytes(&self.take(size.next_multiple_of(8))[..size])
    }

    fn all(&mut self) -> &'static [u8] {
        self.take(self.0.len())
    }

    fn structures<T: Structure>(&mut self) -> &'static [T] {
        let count = self.0.len() / mem::size_of::<T>();
        let bytes = self.take(count * mem::size_of::<T>());
        assert!(bytes.as_ptr().cast::<T>().is_aligned());
        // Safety: the bytes are there and aligned, and any bytes are a value of a structure of bytes.
        unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), count) }
    }
}

/// Calls BLAKE2's compression with any flag; the crate's function has a bool.
fn blake2f(case: &mut Bytes) -> Result<[u8; 64], Refused> {
    #[repr(C, align(8))]
    struct Words<const N: usize>([u8; N]);
    unsafe extern "C" {
        fn zkvm_blake2f(rounds: u32, state: *mut Words<64>, message: *const Words<128>, offset: *const Words<16>, last: u8)
            -> i32;
    }
    let (mut state, message, offset) = (Words(*case.array()), Words(*case.array()), Words(*case.array()));
    let (rounds, [last]) = (case.word(), case.array());
    // Safety: the pointers are to structures of these types.
    match unsafe { zkvm_blake2f(rounds, &mut state, &message, &offset, *last) } {
        0 => Ok(state.0),
        _ => Err(Refused),
    }
}

fn modexp(case: &mut Bytes) -> Result<Vec<u8>, Refused> {
    let sizes = [case.word(), case.word(), case.word()];
    let [base, exponent, modulus] = sizes.map(|size| case.take(size as usize));
    let mut result = alloc::vec![0; modulus.len()];
    zkvm::modexp(base, exponent, modulus, &mut result)?;
    Ok(result)
}

/// Returns the result of a case, a verdict as one byte.
fn call(function: u32, case: &mut Bytes) -> Result<Vec<u8>, Refused> {
    let verdict = |verified| [u8::from(verified)].to_vec();
    Ok(match function {
        0 => zkvm::keccak256(case.all()).to_vec(),
        1 => verdict(zkvm::secp256k1_verify(case.array(), case.array(), case.array())?),
        2 => zkvm::secp256k1_ecrecover(case.array(), case.array(), case.array::<1>()[0])?.to_vec(),
        3 => zkvm::sha256(case.all()).to_vec(),
        4 => zkvm::ripemd160(case.all()).to_vec(),
        5 => modexp(case)?,
        6 => zkvm::bn254_g1_add(case.array(), case.array())?.to_vec(),
        7 => zkvm::bn254_g1_mul(case.array(), case.array())?.to_vec(),
        8 => verdict(zkvm::bn254_pairing(case.structures::<Bn254Pair>())?),
        9 => blake2f(case)?.to_vec(),
        10 => verdict(zkvm::kzg_point_eval(case.array(), case.array(), case.array(), case.array())?),
        11 => zkvm::bls12_g1_add(case.array(), case.array())?.to_vec(),
        12 => zkvm::bls12_g1_msm(case.structures::<Bls12G1Term>())?.to_vec(),
        13 => zkvm::bls12_g2_add(case.array(), case.array())?.to_vec(),
        14 => zkvm::bls12_g2_msm(case.structures::<Bls12G2Term>())?.to_vec(),
        15 => verdict(zkvm::bls12_pairing(case.structures::<Bls12Pair>())?),
        16 => zkvm::bls12_map_fp_to_g1(case.array())?.to_vec(),
        17 => zkvm::bls12_map_fp2_to_g2(case.array())?.to_vec(),
        18 => verdict(zkvm::secp256r1_verify(case.array(), case.array(), case.array())?),
        _ => panic!("the input is no batch of cases"),
    })
}

#[derive(Default)]
struct Report {
    counts: [u32; NAMES.len()],
    cases: u32,
    failures: u32,
    failed: Vec<u32>,
    digest: [u8; 32],
}

impl Report {
    fn add(&mut self, function: u32, outcome: &Result<Vec<u8>, Refused>, held: bool) {
        let result = outcome.as_deref().unwrap_or_default();
        let words = [function, u32::from(outcome.is_err()), result.len() as u32];
        let mut bytes = self.digest.to_vec();
        bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(result);
        self.digest = zkvm::keccak256(&bytes);
        self.counts[function as usize] += 1;
        if !held {
            self.failures += 1;
            if self.failed.len() < LISTED {
                self.failed.push(self.cases);
            }
        }
        self.cases += 1;
    }

    fn write(&self) -> Written {
        for (name, count) in NAMES.iter().zip(self.counts) {
            writeln!(Output, "{name} {count}")?;
        }
        writeln!(Output, "cases {}\nfailures {}", self.cases, self.failures)?;
        for place in &self.failed {
            writeln!(Output, "failed {place}")?;
        }
        write!(Output, "digest ")?;
        for byte in self.digest {
            write!(Output, "{byte:02x}")?;
        }
        writeln!(Output)
    }
}

fn main() -> i32 {
    let mut batch = Bytes(read_input());
    let mut report = Report::default();
    while !batch.0.is_empty() {
        let [function, refused, input_size, expected_size] = [(); 4].map(|()| batch.word());
        let mut case = batch.padded(input_size as usize);
        let expected = batch.padded(expected_size as usize).0;
        let outcome = call(function, &mut case);
        assert!(case.0.is_empty(), "the input is no batch of cases");
        let held = match &outcome {
            Ok(result) => refused == 0 && result == expected,
            Err(Refused) => refused != 0 && expected.is_empty(),
        };
        report.add(function, &outcome, held);
    }
    report.write().expect("the output has room");
    i32::from(report.failures != 0)
}
