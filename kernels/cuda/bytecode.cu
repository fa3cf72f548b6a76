// Interprets a table's bytecode if its generated code is not compiled yet, or would be too large to compile: every
// thread a row, all of them the same instruction. Outputs and registers lie in shared memory, [plane][thread].
#include "bytecode.cuh"

constexpr int THREADS = 128;  // rows of a block of `interpret_lookups`, as in the generated kernels
constexpr int COLUMNS = 4;    // most fraction columns of a part

// As in graphprover/air/bytecode.py.
enum { ADD, SUB, MUL, SCALE, SUB_BASE, EXT_MUL, LINEAR };

struct Instruction {
    int op, width, d, a, b, count;
};

struct Term {
    int plane, weight;
};

// The address of an input plane; a plane that is no array is a selector, by its number.
struct Input {
    const u64* plane;
    u64 next, selector;
};

struct Machine {
    const u64* constants;
    const Input* inputs;
    u64* file;
    int first_input, first_register;
    u64 row, next;
    u64 selectors[4];

    __device__ __forceinline__ u64 get(int plane) const {
        if (plane < first_input) return constants[plane];
        if (plane >= first_register) return file[(plane - first_register) * blockDim.x + threadIdx.x];
        Input input = inputs[plane - first_input];
        if (input.plane) return input.plane[input.next ? next : row];
        u64 s = input.selector;  // compared, so that the selectors stay in registers
        return s == 0 ? selectors[0] : s == 1 ? selectors[1] : s == 2 ? selectors[2] : selectors[3];
    }

    __device__ __forceinline__ Ext get_ext(int plane) const { return {get(plane), get(plane + 1), get(plane + 2)}; }

    __device__ __forceinline__ void put(int plane, u64 x) {
        file[(plane - first_register) * blockDim.x + threadIdx.x] = x;
    }

    __device__ __forceinline__ void put_ext(int plane, Ext x) {
        put(plane, x.a0);
        put(plane + 1, x.a1);
        put(plane + 2, x.a2);
    }

    __device__ __forceinline__ void run(Instruction i, const Term* terms) {
        bool wide = i.width == 3;
        switch (i.op) {
            case ADD:
                if (wide) put_ext(i.d, ext::add(get_ext(i.a), get_ext(i.b)));
                else put(i.d, field::add(get(i.a), get(i.b)));
                break;
            case SUB:
                if (wide) put_ext(i.d, ext::sub(get_ext(i.a), get_ext(i.b)));
                else put(i.d, field::sub(get(i.a), get(i.b)));
                break;
            case MUL: put(i.d, field::mul(get(i.a), get(i.b))); break;
            case SCALE: put_ext(i.d, ext::scale(get_ext(i.a), get(i.b))); break;
            case SUB_BASE: {
                Ext x = get_ext(i.a);
                put_ext(i.d, {field::sub(x.a0, get(i.b)), x.a1, x.a2});
                break;
            }
            case EXT_MUL: put_ext(i.d, ext::mul(get_ext(i.a), get_ext(i.b))); break;
            default:
                if (wide) {
                    ExtSum sum = sums::start(get_ext(i.a));
                    for (int t = i.b; t < i.b + i.count; t++)
                        sums::accumulate(sum, get(terms[t].plane), get_ext(terms[t].weight));
                    put_ext(i.d, sums::total(sum));
                } else {
                    Sum sum = sums::start(get(i.a));
                    for (int t = i.b; t < i.b + i.count; t++)
                        sums::accumulate(sum, get(terms[t].plane), get(terms[t].weight));
                    put(i.d, sums::total(sum));
                }
        }
    }
};

// The quotient, target (3, size): `constants` are the bytecode's, then Z on each of the chunks, 1 / Z on each, and the
// trace's last point, as for the generated kernel.
extern "C" __global__ void interpret(
    const Instruction* instructions, u64 count, const Term* terms, const u64* constants, u64 constant_planes,
    const Input* inputs, u64 input_planes, u64 chunks, u64* target, const u64* fine, const u64* coarse, u64 log_rows,
    u64 size) {
    extern __shared__ u64 file[];
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    Machine machine;
    machine.constants = constants;
    machine.inputs = inputs;
    machine.file = file;
    machine.first_input = (int)constant_planes;
    machine.first_register = (int)(constant_planes + input_planes);
    machine.row = index < size ? index : size - 1;
    machine.next = bytecode::next_row(machine.row, (int)log_rows);
    const u64* of_chunk = constants + constant_planes + (machine.row >> log_rows);
    u64 last_point = constants[constant_planes + 2 * chunks];
    bytecode::Selectors selectors =
        bytecode::selectors(domain::at({fine, coarse}, machine.row), of_chunk[0], last_point);
    machine.selectors[0] = selectors.first;
    machine.selectors[1] = selectors.last;
    machine.selectors[2] = selectors.transition;
    machine.selectors[3] = of_chunk[chunks];
    for (u64 i = 0; i < count; i++) machine.run(instructions[i], terms);
    if (index < size) ext::store(target, size, index, machine.get_ext(machine.first_register));
}

// A few fraction columns of a table, of which `kernels/cuda/lookup_parts.py` makes the instructions. Outputs are the
// denominators of all their tuples, then the multiplicities.
struct Part {
    u64 first, end;       // instructions
    u64 column, columns;  // the first, and how many
    u64 tuples;           // of all columns
};

// One plane of a thread's outputs in `interpret_lookups`.
__device__ __forceinline__ u64 output(const u64* outputs, int plane) { return outputs[plane * THREADS]; }

__device__ __forceinline__ Ext ext_output(const u64* outputs, int plane) {
    return {output(outputs, plane), output(outputs, plane + 1), output(outputs, plane + 2)};
}

// The sum of the fractions of `count` tuples from tuple `t` of a part on, as a numerator over a norm.
__device__ __noinline__ Adjugate fraction(const u64* outputs, int tuples, int t, int count) {
    Ext product = ext_output(outputs, 3 * t), sum = {output(outputs, 3 * tuples + t), 0, 0};
#pragma unroll 1
    for (int i = t + 1; i < t + count; i++) {
        // V / U + m / d = (V d + m U) / (U d)
        Ext d = ext_output(outputs, 3 * i);
        Ext over = bytecode::scale(product, output(outputs, 3 * tuples + i));
        sum = ext::add(bytecode::mul(sum, d), over);
        product = bytecode::mul(product, d);
    }
    Adjugate inverse = bytecode::adjugate(product);
    return {bytecode::mul(inverse.c, sum), inverse.norm};
}

// The fraction columns, each row's sum and each block's, as by the generated kernels. `groups`: tuples of each column.
extern "C" __global__ void __launch_bounds__(THREADS) interpret_lookups(
    const Instruction* instructions, const Term* terms, const Part* parts, u64 count, const u64* groups,
    const u64* constants, u64 constant_planes, const Input* inputs, u64 input_planes, u64* columns, u64* totals,
    u64* first_zero, u64 rows) {
    extern __shared__ u64 file[];
    u64 index = (u64)blockIdx.x * THREADS + threadIdx.x;
    Machine machine;
    machine.constants = constants;
    machine.inputs = inputs;
    machine.file = file;
    machine.first_input = (int)constant_planes;
    machine.first_register = (int)(constant_planes + input_planes);
    machine.row = index < rows ? index : rows - 1;
    machine.next = machine.row + 1 < rows ? machine.row + 1 : 0;
    machine.selectors[0] = machine.row == 0;
    machine.selectors[1] = machine.row == rows - 1;
    machine.selectors[2] = machine.row < rows - 1;
    machine.selectors[3] = 0;
    Ext total = ext::ZERO;
    for (u64 p = 0; p < count; p++) {
        Part part = parts[p];
        for (u64 i = part.first; i < part.end; i++) machine.run(instructions[i], terms);
        Ext fractions[COLUMNS];
        u64 norms[COLUMNS];
        int tuple = 0;
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            norms[i] = 1;
            if (i < part.columns) {
                int own = (int)groups[part.column + i];
                Adjugate found = fraction(file + threadIdx.x, (int)part.tuples, tuple, own);
                if (found.norm == 0) report_zero(first_zero, machine.row);
                fractions[i] = found.c;
                norms[i] = found.norm;
                tuple += own;
            }
        }
        block::invert(norms);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            if (i < part.columns) {
                Ext value = bytecode::scale(fractions[i], norms[i]);
                total = ext::add(total, value);
                if (index < rows) ext::store(columns + 3 * (part.column + i + 1) * rows, rows, index, value);
            }
        }
    }
    if (index < rows) ext::store(columns, rows, index, total);
    Ext all;
    block::running_sum(index < rows ? total : ext::ZERO, all);
    if (threadIdx.x == 0) ext::store(totals + 3 * blockIdx.x, 1, 0, all);
}
