//! The accelerator functions of the zkVM standards.
//!
//! All numbers and coordinates are big-endian, as in the EIPs, unless a function says otherwise. A point is `x || y`,
//! and zeros are the point at infinity. A coordinate in the quadratic extension has the order of its EIP.
use core::ffi::c_int;
use core::fmt;

/// A function refused its input: a point that is not on its curve, a number out of range, a signature without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("the accelerator function refused its input")
    }
}

impl core::error::Error for Refused {}

/// Bytes where the standard wants them: at a multiple of 8.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Words<const N: usize>([u8; N]);

impl<const N: usize> Words<N> {
    const ZERO: Self = Self([0; N]);
}

/// A pair of points on bn254, for [`bn254_pairing`].
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bn254Pair {
    /// A point of the first group: two coordinates of 32 bytes.
    pub g1: [u8; 64],
    /// A point of the second group: four numbers of 32 bytes, in the order of EIP-197.
    pub g2: [u8; 128],
}

/// A pair of points on BLS12-381, for [`bls12_pairing`].
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bls12Pair {
    /// A point of the first group: two coordinates of 48 bytes.
    pub g1: [u8; 96],
    /// A point of the second group: four numbers of 48 bytes, in the order of EIP-2537.
    pub g2: [u8; 192],
}

/// A point of the first group of BLS12-381 and its factor, for [`bls12_g1_msm`].
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bls12G1Term {
    /// The point.
    pub point: [u8; 96],
    /// The factor.
    pub scalar: [u8; 32],
}

/// A point of the second group of BLS12-381 and its factor, for [`bls12_g2_msm`].
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bls12G2Term {
    /// The point.
    pub point: [u8; 192],
    /// The factor.
    pub scalar: [u8; 32],
}

unsafe extern "C" {
    fn zkvm_keccak256(data: *const u8, size: usize, hash: *mut Words<32>) -> c_int;
    fn zkvm_sha256(data: *const u8, size: usize, hash: *mut Words<32>) -> c_int;
    fn zkvm_ripemd160(data: *const u8, size: usize, hash: *mut Words<32>) -> c_int;
    fn zkvm_secp256k1_verify(
        hash: *const Words<32>,
        signature: *const Words<64>,
        key: *const Words<64>,
        verified: *mut bool,
    ) -> c_int;
    fn zkvm_secp256k1_ecrecover(
        hash: *const Words<32>,
        signature: *const Words<64>,
        recovery: u8,
        key: *mut Words<64>,
    ) -> c_int;
    fn zkvm_secp256r1_verify(
        hash: *const Words<32>,
        signature: *const Words<64>,
        key: *const Words<64>,
        verified: *mut bool,
    ) -> c_int;
    fn zkvm_modexp(
        base: *const u8,
        base_size: usize,
        exponent: *const u8,
        exponent_size: usize,
        modulus: *const u8,
        modulus_size: usize,
        output: *mut u8,
    ) -> c_int;
    fn zkvm_bn254_g1_add(left: *const Words<64>, right: *const Words<64>, sum: *mut Words<64>) -> c_int;
    fn zkvm_bn254_g1_mul(point: *const Words<64>, scalar: *const Words<32>, product: *mut Words<64>) -> c_int;
    fn zkvm_bn254_pairing(pairs: *const Bn254Pair, count: usize, verified: *mut bool) -> c_int;
    fn zkvm_blake2f(
        rounds: u32,
        state: *mut Words<64>,
        message: *const Words<128>,
        offset: *const Words<16>,
        last: u8,
    ) -> c_int;
    fn zkvm_kzg_point_eval(
        commitment: *const Words<48>,
        point: *const Words<32>,
        value: *const Words<32>,
        proof: *const Words<48>,
        verified: *mut bool,
    ) -> c_int;
    fn zkvm_bls12_g1_add(left: *const Words<96>, right: *const Words<96>, sum: *mut Words<96>) -> c_int;
    fn zkvm_bls12_g1_msm(terms: *const Bls12G1Term, count: usize, sum: *mut Words<96>) -> c_int;
    fn zkvm_bls12_g2_add(left: *const Words<192>, right: *const Words<192>, sum: *mut Words<192>) -> c_int;
    fn zkvm_bls12_g2_msm(terms: *const Bls12G2Term, count: usize, sum: *mut Words<192>) -> c_int;
    fn zkvm_bls12_pairing(pairs: *const Bls12Pair, count: usize, verified: *mut bool) -> c_int;
    fn zkvm_bls12_map_fp_to_g1(element: *const Words<48>, point: *mut Words<96>) -> c_int;
    fn zkvm_bls12_map_fp2_to_g2(element: *const Words<96>, point: *mut Words<192>) -> c_int;
}

/// Return the result that a function writes as bytes, given the call.
fn bytes<const N: usize>(call: impl FnOnce(*mut Words<N>) -> c_int) -> Result<[u8; N], Refused> {
    let mut result = Words::ZERO;
    match call(&mut result) {
        0 => Ok(result.0),
        _ => Err(Refused),
    }
}

/// Return the result that a function writes as a bool, given the call.
fn verdict(call: impl FnOnce(*mut bool) -> c_int) -> Result<bool, Refused> {
    let mut verified = false;
    match call(&mut verified) {
        0 => Ok(verified),
        _ => Err(Refused),
    }
}

// Safety of all calls below: the pointers are to as many bytes as the function reads or writes.

/// Return the Keccak-256 of the data, as Ethereum has it: on the machine's own permutation.
pub fn keccak256(data: &[u8]) -> [u8; 32] {
    bytes(|hash| unsafe { zkvm_keccak256(data.as_ptr(), data.len(), hash) }).expect("any data has a hash")
}

/// Return the SHA-256 of the data.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    bytes(|hash| unsafe { zkvm_sha256(data.as_ptr(), data.len(), hash) }).expect("any data has a hash")
}

/// Return the RIPEMD-160 of the data: 12 zeros, then its 20 bytes.
pub fn ripemd160(data: &[u8]) -> [u8; 32] {
    bytes(|hash| unsafe { zkvm_ripemd160(data.as_ptr(), data.len(), hash) }).expect("any data has a hash")
}

/// Return whether `r || s` is an ECDSA signature of a hash by the key `x || y` on secp256k1.
///
/// # Errors
///
/// The input encodes no signature or no key.
pub fn secp256k1_verify(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> Result<bool, Refused> {
    let (hash, signature, key) = (Words(*hash), Words(*signature), Words(*key));
    verdict(|verified| unsafe { zkvm_secp256k1_verify(&hash, &signature, &key, verified) })
}

/// Return the key `x || y` on secp256k1 whose signature of a hash is `r || s`.
///
/// # Arguments
///
/// - `recovery`: bit 0 is the parity of y of the signature's point, bit 1 tells whether its x is above the group's order.
///
/// # Errors
///
/// There is no such key.
pub fn secp256k1_ecrecover(hash: &[u8; 32], signature: &[u8; 64], recovery: u8) -> Result<[u8; 64], Refused> {
    let (hash, signature) = (Words(*hash), Words(*signature));
    bytes(|key| unsafe { zkvm_secp256k1_ecrecover(&hash, &signature, recovery, key) })
}

/// Return whether `r || s` is an ECDSA signature of a hash by the key `x || y` on secp256r1 (P-256).
///
/// # Errors
///
/// The input encodes no signature or no key.
pub fn secp256r1_verify(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> Result<bool, Refused> {
    let (hash, signature, key) = (Words(*hash), Words(*signature), Words(*key));
    verdict(|verified| unsafe { zkvm_secp256r1_verify(&hash, &signature, &key, verified) })
}

/// Write `base^exponent` modulo the modulus to the output, which has the modulus' size.
///
/// # Errors
///
/// The function refused its input.
///
/// # Panics
///
/// The output has another size than the modulus.
pub fn modexp(base: &[u8], exponent: &[u8], modulus: &[u8], output: &mut [u8]) -> Result<(), Refused> {
    assert_eq!(output.len(), modulus.len(), "the output of modexp has the modulus' size");
    let status = unsafe {
        zkvm_modexp(
            base.as_ptr(),
            base.len(),
            exponent.as_ptr(),
            exponent.len(),
            modulus.as_ptr(),
            modulus.len(),
            output.as_mut_ptr(),
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(Refused),
    }
}

/// Return the sum of two points on bn254 (EIP-196).
///
/// # Errors
///
/// A point is not on the curve, or a coordinate is not reduced.
pub fn bn254_g1_add(left: &[u8; 64], right: &[u8; 64]) -> Result<[u8; 64], Refused> {
    let (left, right) = (Words(*left), Words(*right));
    bytes(|sum| unsafe { zkvm_bn254_g1_add(&left, &right, sum) })
}

/// Return a multiple of a point on bn254 (EIP-196).
///
/// # Errors
///
/// The point is not on the curve, or a coordinate is not reduced.
pub fn bn254_g1_mul(point: &[u8; 64], scalar: &[u8; 32]) -> Result<[u8; 64], Refused> {
    let (point, scalar) = (Words(*point), Words(*scalar));
    bytes(|product| unsafe { zkvm_bn254_g1_mul(&point, &scalar, product) })
}

/// Return whether the product of the pairings on bn254 is one (EIP-197); of no pairs it is.
///
/// # Errors
///
/// A point is not in its group, or a coordinate is not reduced.
pub fn bn254_pairing(pairs: &[Bn254Pair]) -> Result<bool, Refused> {
    verdict(|verified| unsafe { zkvm_bn254_pairing(pairs.as_ptr(), pairs.len(), verified) })
}

/// Apply BLAKE2b's compression to a state in place (EIP-152).
///
/// # Arguments
///
/// - `state`: 8 words, little-endian.
/// - `message`: 16 words, little-endian.
/// - `offset`: the counter of bytes, 2 words, little-endian.
/// - `last`: whether this is the last block.
///
/// # Errors
///
/// The function refused its input.
pub fn blake2f(
    rounds: u32,
    state: &mut [u8; 64],
    message: &[u8; 128],
    offset: &[u8; 16],
    last: bool,
) -> Result<(), Refused> {
    let (mut words, message, offset) = (Words(*state), Words(*message), Words(*offset));
    match unsafe { zkvm_blake2f(rounds, &mut words, &message, &offset, last.into()) } {
        0 => {
            *state = words.0;
            Ok(())
        }
        _ => Err(Refused),
    }
}

/// Return whether a KZG proof shows that the committed polynomial has a value at a point (EIP-4844).
///
/// # Errors
///
/// The commitment or the proof is no point of the group, or a number is not reduced.
pub fn kzg_point_eval(
    commitment: &[u8; 48],
    point: &[u8; 32],
    value: &[u8; 32],
    proof: &[u8; 48],
) -> Result<bool, Refused> {
    let (commitment, point, value, proof) = (Words(*commitment), Words(*point), Words(*value), Words(*proof));
    verdict(|verified| unsafe { zkvm_kzg_point_eval(&commitment, &point, &value, &proof, verified) })
}

/// Return the sum of two points in the first group of BLS12-381 (EIP-2537).
///
/// # Errors
///
/// A point is not on the curve, or a coordinate is not reduced.
pub fn bls12_g1_add(left: &[u8; 96], right: &[u8; 96]) -> Result<[u8; 96], Refused> {
    let (left, right) = (Words(*left), Words(*right));
    bytes(|sum| unsafe { zkvm_bls12_g1_add(&left, &right, sum) })
}

/// Return the sum of multiples of points in the first group of BLS12-381 (EIP-2537).
///
/// # Errors
///
/// A point is not in the group, or a coordinate is not reduced.
pub fn bls12_g1_msm(terms: &[Bls12G1Term]) -> Result<[u8; 96], Refused> {
    bytes(|sum| unsafe { zkvm_bls12_g1_msm(terms.as_ptr(), terms.len(), sum) })
}

/// Return the sum of two points in the second group of BLS12-381 (EIP-2537).
///
/// # Errors
///
/// A point is not on the curve, or a coordinate is not reduced.
pub fn bls12_g2_add(left: &[u8; 192], right: &[u8; 192]) -> Result<[u8; 192], Refused> {
    let (left, right) = (Words(*left), Words(*right));
    bytes(|sum| unsafe { zkvm_bls12_g2_add(&left, &right, sum) })
}

/// Return the sum of multiples of points in the second group of BLS12-381 (EIP-2537).
///
/// # Errors
///
/// A point is not in the group, or a coordinate is not reduced.
pub fn bls12_g2_msm(terms: &[Bls12G2Term]) -> Result<[u8; 192], Refused> {
    bytes(|sum| unsafe { zkvm_bls12_g2_msm(terms.as_ptr(), terms.len(), sum) })
}

/// Return whether the product of the pairings on BLS12-381 is one (EIP-2537).
///
/// # Errors
///
/// A point is not in its group, or a coordinate is not reduced.
pub fn bls12_pairing(pairs: &[Bls12Pair]) -> Result<bool, Refused> {
    verdict(|verified| unsafe { zkvm_bls12_pairing(pairs.as_ptr(), pairs.len(), verified) })
}

/// Return the point in the first group of BLS12-381 that a field element maps to (EIP-2537).
///
/// # Errors
///
/// The element is not reduced.
pub fn bls12_map_fp_to_g1(element: &[u8; 48]) -> Result<[u8; 96], Refused> {
    let element = Words(*element);
    bytes(|point| unsafe { zkvm_bls12_map_fp_to_g1(&element, point) })
}

/// Return the point in the second group of BLS12-381 that an element of the quadratic extension maps to (EIP-2537).
///
/// # Errors
///
/// A coefficient is not reduced.
pub fn bls12_map_fp2_to_g2(element: &[u8; 96]) -> Result<[u8; 192], Refused> {
    let element = Words(*element);
    bytes(|point| unsafe { zkvm_bls12_map_fp2_to_g2(&element, point) })
}
