//! Arithmetic of 256-bit numbers by the machine. A number is four words, the lowest one first.

/// The words of a number.
pub type Number = [u64; 4];

unsafe extern "C" {
    // In zkvm.h: the remainder of a b + c by m, and the quotient behind it.
    fn multiply_add_256(r: *mut Number, a: *const Number, b: *const Number, m: *const Number, c: *const Number);
    fn multiply_divide_256(
        rq: *mut [Number; 2],
        a: *const Number,
        b: *const Number,
        m: *const Number,
        c: *const Number,
    );
}

/// Give `call` an addend that shares no word with m, as the machine wants it.
#[inline(always)]
fn apart(c: &Number, m: &Number, call: impl FnOnce(*const Number)) {
    let distance = (c.as_ptr() as usize).wrapping_sub(m.as_ptr() as usize);
    if distance.wrapping_add(31) > 62 {
        call(c);
    } else {
        let copy = *c;
        call(core::hint::black_box(&copy));
    }
}

/// Return (a b + c) mod m. An m of 0 stands for 2^256.
///
/// A quotient of more than 256 bits is a fault of the guest. There is none if a or b is below m, or if a or b is 1 and m
/// is above 1.
#[inline]
pub fn multiply_add(a: &Number, b: &Number, c: &Number, m: &Number) -> Number {
    let mut r = [0; 4];
    // SAFETY: the function reads and writes whole numbers.
    apart(c, m, |c| unsafe { multiply_add_256(&mut r, a, b, m, c) });
    r
}

/// Return quotient and remainder of a b + c by m. See [`multiply_add`].
#[inline]
pub fn multiply_divide(a: &Number, b: &Number, c: &Number, m: &Number) -> (Number, Number) {
    let mut rq = [[0; 4]; 2];
    // SAFETY: as above.
    apart(c, m, |c| unsafe { multiply_divide_256(&mut rq, a, b, m, c) });
    (rq[1], rq[0])
}
