//! Failure on the machine: a symbol of the C part of `libzkvm.a`.
use core::panic::PanicInfo;

extern "C" {
    fn __zkvm_fail(message: *const u8, size: usize) -> !;
}

pub fn fail(message: &str) -> ! {
    // SAFETY: pointer and size are those of one string.
    unsafe { __zkvm_fail(message.as_ptr(), message.len()) }
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    fail("an accelerator failed: report this as a bug")
}
