//! Backends of getrandom that refuse. They return no value, so that one function fits every version's type.

fn refuse() -> ! {
    panic!(
        "a guest has no randomness: a crate asked getrandom for some; seed it from the input, or use \
         graphprover_guest::random_u64 if the prover may choose the numbers"
    )
}

/// The custom backend of getrandom 0.3 and 0.4 (`--cfg getrandom_backend="custom"`).
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(_to: *mut u8, _size: usize) -> u32 {
    refuse()
}

/// The custom backend of getrandom 0.2 (its feature `custom`).
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_custom(_to: *mut u8, _size: usize) -> u32 {
    refuse()
}
