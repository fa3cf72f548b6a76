//! Bytecode with its jump destinations.
use alloc::vec;
use alloc::vec::Vec;

use revm::bytecode::{Bytecode, JumpTable};
use revm::primitives::Bytes;

const JUMPDEST: isize = 0x5b;
/// One less than the opcode that pushes one byte.
const PUSH0: isize = 0x5f;
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
    let destinations = JumpTable::from_slice(&jump_destinations(&mut padded), code.len());
    // Safety: behind the code are as many zeros as any instruction at its end reads.
    #[allow(unsafe_code)]
    unsafe {
        Bytecode::new_analyzed(padded.into(), code.len(), destinations)
    }
}

/// Return a bit for each byte of a code: whether it is a `JUMPDEST` that is no part of a pushed number.
///
/// `padded` is the code with `PADDING` zeros behind it.
fn jump_destinations(padded: &mut [u8]) -> Vec<u8> {
    let size = padded.len() - PADDING;
    let mut bits = vec![0; size.div_ceil(8)];
    // A destination as the last byte ends the loop, so that most instructions need only one comparison: all below
    // `JUMPDEST`, and those from 0x80 on, which are negative.
    let last = padded.len() - 1;
    padded[last] = JUMPDEST as u8;
    let start = padded.as_ptr();
    let mut at = start.wrapping_sub(1);
    loop {
        at = at.wrapping_add(1);
        // Safety: a code's last instruction pushes at most 32 bytes, and behind the code each instruction is one byte,
        // so `at` comes to `last` before the end.
        #[allow(unsafe_code)]
        let opcode = unsafe { *at } as i8 as isize;
        if opcode < JUMPDEST {
            continue;
        }
        if opcode > PUSH0 {
            at = at.wrapping_offset(opcode - PUSH0);
        } else if opcode == JUMPDEST {
            let destination = at as usize - start as usize;
            if destination == last {
                break;
            }
            bits[destination / 8] |= 1 << (destination % 8);
        }
    }
    padded[last] = 0;
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
