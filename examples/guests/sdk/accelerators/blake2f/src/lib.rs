//! `zkvm_blake2f` (EIP-152).
#![cfg_attr(target_os = "none", no_std)]

use zkvm_support::{read, write, Bytes, Status, EFAIL, EOK};

/// The initial values of BLAKE2b (RFC 7693, section 2.6).
const IV: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];

/// The order of the message's words in each of ten rounds (RFC 7693, section 2.7).
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

fn words<const BYTES: usize, const WORDS: usize>(bytes: &Bytes<BYTES>) -> [u64; WORDS] {
    core::array::from_fn(|i| {
        let word = bytes.0[8 * i..8 * i + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(word)
    })
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

#[inline(always)]
fn round(v: &mut [u64; 16], m: &[u64; 16], order: &[usize; 16]) {
    mix(v, [0, 4, 8, 12], m[order[0]], m[order[1]]);
    mix(v, [1, 5, 9, 13], m[order[2]], m[order[3]]);
    mix(v, [2, 6, 10, 14], m[order[4]], m[order[5]]);
    mix(v, [3, 7, 11, 15], m[order[6]], m[order[7]]);
    mix(v, [0, 5, 10, 15], m[order[8]], m[order[9]]);
    mix(v, [1, 6, 11, 12], m[order[10]], m[order[11]]);
    mix(v, [2, 7, 8, 13], m[order[12]], m[order[13]]);
    mix(v, [3, 4, 9, 14], m[order[14]], m[order[15]]);
}

fn compress(rounds: u32, h: &mut [u64; 8], m: &[u64; 16], t: [u64; 2], last: bool) {
    let mut v = [0; 16];
    v[..8].copy_from_slice(h);
    v[8..].copy_from_slice(&IV);
    v[12] ^= t[0];
    v[13] ^= t[1];
    if last {
        v[14] = !v[14];
    }
    // Ten rounds at a time, so that the order of each is a constant.
    for _ in 0..rounds / 10 {
        for order in &SIGMA {
            round(&mut v, m, order);
        }
    }
    for order in &SIGMA[..(rounds % 10) as usize] {
        round(&mut v, m, order);
    }
    for i in 0..8 {
        h[i] ^= v[i] ^ v[i + 8];
    }
}

/// Applies BLAKE2b's compression function F to `h` with any number of rounds. Fails if `f` is not 0 or 1.
///
/// Words are little-endian. `rounds` is a number as C passes it; EIP-152's big-endian order is that of its bytes in a
/// call of the precompile.
///
/// # Safety
/// As in C: the pointers point to values of their types, which may overlap.
#[no_mangle]
pub unsafe extern "C" fn zkvm_blake2f(
    rounds: u32,
    h: *mut Bytes<64>,
    m: *const Bytes<128>,
    t: *const Bytes<16>,
    f: u8,
) -> Status {
    if f > 1 {
        return EFAIL;
    }
    let mut state = words(&unsafe { read(h) });
    let (message, offset) = unsafe { (words(&read(m)), words(&read(t))) };
    compress(rounds, &mut state, &message, offset, f == 1);
    let mut bytes = [0; 64];
    for (to, word) in bytes.chunks_exact_mut(8).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    unsafe { write(h, Bytes(bytes)) };
    EOK
}
