//! Memory and failure on the machine: symbols of the C part of `libzkvm.a`.
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

extern "C" {
    fn __zkvm_scratch(size: usize, align: usize) -> *mut u8;
    fn __zkvm_scratch_mark() -> usize;
    fn __zkvm_scratch_release(mark: usize);
    fn __zkvm_fail(message: *const u8, size: usize) -> !;
}

pub fn fail(message: &str) -> ! {
    // SAFETY: pointer and size are those of one string.
    unsafe { __zkvm_fail(message.as_ptr(), message.len()) }
}

pub fn mark() -> usize {
    // SAFETY: the function has no precondition.
    unsafe { __zkvm_scratch_mark() }
}

pub fn release(mark: usize) {
    // SAFETY: `with_memory` passes the mark of its own call, in reverse order of marks.
    unsafe { __zkvm_scratch_release(mark) }
}

struct Scratch;

// SAFETY: `__zkvm_scratch` returns unused memory of this size and alignment or ends the execution.
unsafe impl GlobalAlloc for Scratch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { __zkvm_scratch(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static SCRATCH: Scratch = Scratch;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    fail("an accelerator failed: report this as a bug")
}
