//! Products, quotients and remainders of the EVM by the machine's arithmetic.
use revm_interpreter::instructions::InstructionTable;
use revm_interpreter::interpreter_types::StackTr;
use revm_interpreter::primitives::U256;
use revm_interpreter::{gas, popn_top, Host, Instruction, InstructionContext, InstructionExecResult, InterpreterTypes};

use crate::numbers::{multiply_add, multiply_divide, Number};

static ZERO: Number = [0; 4];
static ONE: Number = [1, 0, 0, 0];
/// As a modulus it stands for 2^256.
static WHOLE: Number = [0; 4];

/// Let an EVM compute MUL, DIV, SDIV, MOD, SMOD, ADDMOD, MULMOD and EXP by the machine.
///
/// `table` is the EVM's, for example `evm.instruction.instruction_table_mut()` of one that `build_mainnet` returns. Costs
/// in gas stay the same.
pub fn install_arithmetic<W: InterpreterTypes, H: Host>(table: &mut InstructionTable<W, H>) {
    table[0x02] = Instruction::new(mul);
    table[0x04] = Instruction::new(div);
    table[0x05] = Instruction::new(sdiv);
    table[0x06] = Instruction::new(rem);
    table[0x07] = Instruction::new(smod);
    table[0x08] = Instruction::new(addmod);
    table[0x09] = Instruction::new(mulmod);
    table[0x0a] = Instruction::new(exp);
}

fn product(a: &Number, b: &Number) -> Number {
    multiply_add(a, b, &ZERO, &WHOLE)
}

fn quotient(a: U256, b: U256) -> U256 {
    if b.is_zero() {
        return U256::ZERO;
    }
    U256::from_limbs(multiply_divide(a.as_limbs(), &ONE, &ZERO, b.as_limbs()).0)
}

fn remainder(a: U256, b: U256) -> U256 {
    if b.is_zero() {
        return U256::ZERO;
    }
    U256::from_limbs(multiply_add(a.as_limbs(), &ONE, &ZERO, b.as_limbs()))
}

fn is_negative(a: U256) -> bool {
    a.bit(255)
}

fn absolute(a: U256) -> U256 {
    if is_negative(a) {
        a.wrapping_neg()
    } else {
        a
    }
}

fn signed(a: U256, negative: bool) -> U256 {
    if negative {
        a.wrapping_neg()
    } else {
        a
    }
}

fn mul<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a], b, context.interpreter);
    *b = U256::from_limbs(product(a.as_limbs(), b.as_limbs()));
    Ok(())
}

fn div<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a], b, context.interpreter);
    *b = quotient(a, *b);
    Ok(())
}

fn sdiv<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a], b, context.interpreter);
    *b = signed(quotient(absolute(a), absolute(*b)), is_negative(a) != is_negative(*b));
    Ok(())
}

fn rem<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a], b, context.interpreter);
    *b = remainder(a, *b);
    Ok(())
}

fn smod<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a], b, context.interpreter);
    *b = signed(remainder(absolute(a), absolute(*b)), is_negative(a));
    Ok(())
}

fn addmod<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a, b], m, context.interpreter);
    if *m <= U256::ONE {
        *m = U256::ZERO; // the quotient by 1 can have more than 256 bits
    } else {
        *m = U256::from_limbs(multiply_add(a.as_limbs(), &ONE, b.as_limbs(), m.as_limbs()));
    }
    Ok(())
}

fn mulmod<W: InterpreterTypes, H: ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([a, b], m, context.interpreter);
    if m.is_zero() {
        return Ok(());
    }
    let a = if a < *m { a } else { remainder(a, *m) };
    *m = U256::from_limbs(multiply_add(a.as_limbs(), b.as_limbs(), &ZERO, m.as_limbs()));
    Ok(())
}

fn exp<W: InterpreterTypes, H: Host + ?Sized>(context: InstructionContext<'_, H, W>) -> InstructionExecResult {
    popn_top!([base], exponent, context.interpreter);
    gas!(context.interpreter, context.host.gas_params().exp_cost(*exponent));
    let mut power = ONE;
    for bit in (0..exponent.bit_len()).rev() {
        power = product(&power, &power);
        if exponent.bit(bit) {
            power = product(&power, base.as_limbs());
        }
    }
    *exponent = U256::from_limbs(power);
    Ok(())
}
