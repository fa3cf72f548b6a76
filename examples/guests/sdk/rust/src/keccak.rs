//! Keccak-256 for alloy-primitives with its feature `native-keccak`.
use crate::accelerators::keccak256;

/// Write the Keccak-256 of `size` bytes to 32 bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn native_keccak256(bytes: *const u8, size: usize, output: *mut u8) {
    // Safety: alloy-primitives passes a slice and an array of 32 bytes.
    unsafe {
        let digest = keccak256(core::slice::from_raw_parts(bytes, size));
        output.cast::<[u8; 32]>().write_unaligned(digest);
    }
}
