//! The panic handler.
use core::panic::PanicInfo;

/// Write the message to the debug channel, and fault: nothing can be proved about this run.
#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    crate::eprintln!("{info}");
    // Safety: the instruction ends the run.
    unsafe { core::arch::asm!("ebreak", options(noreturn)) }
}
