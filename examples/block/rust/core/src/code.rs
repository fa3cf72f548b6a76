//! Bytecode with its jump destinations.
use alloc::vec;
use alloc::vec::Vec;

use revm::bytecode::{Bytecode, JumpTable};
use revm::primitives::Bytes;

const JUMPDEST: i8 = 0x5b;
/// One less than the opcode that pushes one byte.
const PUSH0: i8 = 0x5f;
/// Zeros behind a code, so that the EVM stops there and reads no further: a pushed number of 32 bytes, and a `STOP` with
/// an operand.
const PADDING: usize = 34;
/// Size of the code that delegates an account (EIP-7702), and its first bytes.
const DELEGATION: usize = 23;
const DELEGATION_START: [u8; 3] = [0xef, 0x01, 0x00];

/// Prepare a code for the EVM.
pub(crate) fn prepare(code: &[u8]) -> Bytecode {
    if code.len() == DELEGATION && code.starts_with(&DELEGATION_START) {
        if let Ok(delegation) = Bytecode::new_eip7702_raw(Bytes::copy_from_slice(code)) {
            return delegation;
        }
    }
    if code.is_empty() {
        return Bytecode::new();
    }
    let mut padded = Vec::with_capacity(code.len() + PADDING);
    padded.extend_from_slice(code);
    padded.resize(code.len() + PADDING, 0);
    let destinations = JumpTable::from_slice(&jump_destinations(code), code.len());
    // Safety: behind the code are as many zeros as any instruction at its end reads.
    #[allow(unsafe_code)]
    unsafe {
        Bytecode::new_analyzed(padded.into(), code.len(), destinations)
    }
}

/// Return a bit for each byte of a code: whether it is a `JUMPDEST` that is no part of a pushed number.
fn jump_destinations(code: &[u8]) -> Vec<u8> {
    let mut bits = vec![0; code.len().div_ceil(8)];
    let mut at = 0;
    while at < code.len() {
        let opcode = code[at] as i8;
        // One comparison skips most instructions: those from 0x80 on are negative.
        if opcode < JUMPDEST {
            at += 1;
        } else if opcode == JUMPDEST {
            bits[at / 8] |= 1 << (at % 8);
            at += 1;
        } else if opcode > PUSH0 {
            at += (opcode - PUSH0) as usize + 1;
        } else {
            at += 1;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_those_of_revm() {
        let mut seed = 1u64;
        for size in 1..600 {
            let code: Vec<u8> = (0..size)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let byte = (seed >> 33) as u8;
                    if byte.is_multiple_of(3) {
                        0x5b + byte / 3 % 40
                    } else {
                        byte
                    }
                })
                .collect();
            let theirs = Bytecode::new_legacy(code.clone().into());
            let own = prepare(&code);
            let (own_jumps, their_jumps) = (own.legacy_jump_table(), theirs.legacy_jump_table());
            assert_eq!(own_jumps, their_jumps);
            assert!(own.bytes_slice().len() >= theirs.bytes_slice().len());
            assert_eq!(own.original_byte_slice(), code);
        }
    }

    #[test]
    fn delegations_are_known_by_their_form() {
        let delegation = [&DELEGATION_START[..], &[7; 20]].concat();
        assert!(prepare(&delegation).is_eip7702());
        assert!(!prepare(&delegation[..22]).is_eip7702());
        assert!(!prepare(&[&delegation[..], &[0]].concat()).is_eip7702());
        assert!(prepare(&[]).is_empty());
    }
}
