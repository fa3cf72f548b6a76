// Traces of host calls on integers, on elements of Fp2 and on points of curves, a thread by call. modular_cpu.py, fp2_cpu.py
// and point_cpu.py are the twins. Constants of points are defines, and so is the i-th limb of each identity (identities.py).
#include "../calls.cuh"

typedef unsigned short u16;

constexpr int HALVES = 2 * LIMBS;  // of a coordinate of a point

__constant__ u32 PRIMES[CURVES][LIMBS] = LIST_PRIMES;
__constant__ u32 INVERSES[CURVES] = LIST_INVERSES;  // of the primes, mod 2^32
__constant__ int COEFFICIENTS[CURVES] = LIST_COEFFICIENTS;

// Numbers of N limbs of 32 bits, the lowest first.

template <int N>
__device__ void load(const u64* words, u32* x) {
    for (int i = 0; i < N; i++) x[i] = (u32)(words[i / 2] >> 32 * (i % 2));
}

template <int N>
__device__ void put_halves(const Cells& cells, int r, int column, const u32* limbs) {
    for (int i = 0; i < N; i++) {
        cells(r, column + 2 * i) = limbs[i] & 0xffff;
        cells(r, column + 2 * i + 1) = limbs[i] >> 16;
    }
}

template <int N, class Half>
__device__ void halve(const u32* x, Half* halves) {
    for (int i = 0; i < 2 * N; i++) halves[i] = (Half)(x[i / 2] >> 16 * (i % 2) & 0xffff);
}

template <int N>
__device__ bool is_zero(const u32* x) {
    u32 any = 0;
    for (int i = 0; i < N; i++) any |= x[i];
    return any == 0;
}

template <int N>
__device__ bool less(const u32* x, const u32* y) {
    for (int i = N - 1; i >= 0; i--) {
        if (x[i] != y[i]) return x[i] < y[i];
    }
    return false;
}

// x - y mod 2^(32 N), and the borrow.
template <int N>
__device__ u32 subtract(const u32* x, const u32* y, u32* found) {
    u32 borrow = 0;
    for (int i = 0; i < N; i++) {
        u64 taken = (u64)x[i] - y[i] - borrow;
        found[i] = (u32)taken;
        borrow = taken >> 32 & 1;
    }
    return borrow;
}

// x + y mod 2^(32 N), and the carry.
template <int N>
__device__ u32 sum(const u32* x, const u32* y, u32* found) {
    u64 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += (u64)x[i] + y[i];
        found[i] = (u32)carry;
        carry >>= 32;
    }
    return (u32)carry;
}

template <int N>
__device__ void difference(const u32* x, const u32* y, const u32* p, u32* found) {
    if (subtract<N>(x, y, found)) sum<N>(found, p, found);
}

// a b + c, with twice as many limbs.
template <int N>
__device__ void multiply(const u32* a, const u32* b, const u32* c, u32* product) {
    for (int i = 0; i < N; i++) {
        product[i] = c ? c[i] : 0;
        product[i + N] = 0;
    }
    for (int i = 0; i < N; i++) {
        u64 carry = 0;
        for (int j = 0; j < N; j++) {
            carry += product[i + j] + (u64)a[i] * b[j];
            product[i + j] = (u32)carry;
            carry >>= 32;
        }
        for (int j = i + N; j < 2 * N; j++) {
            carry += product[j];
            product[j] = (u32)carry;
            carry >>= 32;
        }
    }
}

// The quotient of x, of twice as many limbs, by m, which fits, and the remainder: Algorithm D, as in integers.py.
template <int N>
__device__ void divide(const u32* x, const u32* m, u32* q, u32* r) {
    int size = N;
    while (size > 0 && m[size - 1] == 0) size--;
    if (size == 0) {
        for (int i = 0; i < N; i++) {
            q[i] = x[N + i];
            r[i] = x[i];
        }
        return;
    }
    int shift = __clz(m[size - 1]);
    u32 divisor[N], rest[2 * N + 1];
    for (int i = 0; i < size; i++) divisor[i] = (u32)((((u64)m[i] << 32 | (i ? m[i - 1] : 0)) << shift) >> 32);
    for (int i = 0; i < 2 * N; i++) rest[i] = (u32)((((u64)x[i] << 32 | (i ? x[i - 1] : 0)) << shift) >> 32);
    rest[2 * N] = (u32)((u64)x[2 * N - 1] << shift >> 32);
    for (int place = 2 * N - size; place >= 0; place--) {
        u64 top = (u64)rest[place + size] << 32 | rest[place + size - 1];
        u64 digit = top / divisor[size - 1], left = top - digit * divisor[size - 1];
        while (digit > LIMB ||
               (size > 1 && left <= LIMB && digit * divisor[size - 2] > (left << 32 | rest[place + size - 2]))) {
            digit--;
            left += divisor[size - 1];
            if (left > LIMB) break;
        }
        u64 borrow = 0, carry = 0;
        for (int i = 0; i < size; i++) {
            carry += digit * divisor[i];
            u64 taken = (u64)rest[place + i] - (u32)carry - borrow;
            rest[place + i] = (u32)taken;
            borrow = taken >> 32 & 1;
            carry >>= 32;
        }
        u64 taken = (u64)rest[place + size] - carry - borrow;
        rest[place + size] = (u32)taken;
        if (taken >> 32 & 1) {  // the digit was 1 too large
            digit--;
            carry = 0;
            for (int i = 0; i < size; i++) {
                carry += (u64)rest[place + i] + divisor[i];
                rest[place + i] = (u32)carry;
                carry >>= 32;
            }
            rest[place + size] += (u32)carry;
        }
        if (place < N) q[place] = (u32)digit;
    }
    for (int i = 2 * N - size + 1; i < N; i++) q[i] = 0;
    for (int i = 0; i < N; i++) r[i] = i < size ? (u32)(((u64)rest[i + 1] << 32 | rest[i]) >> shift) : 0;
}

template <int N>
__device__ void multiply_mod(const u32* a, const u32* b, const u32* p, u32* found) {
    u32 product[2 * N], q[N];
    multiply<N>(a, b, nullptr, product);
    divide<N>(product, p, q, found);
}

template <int N>
__device__ void shift_down(u32* x, u32 top) {
    for (int i = 0; i < N; i++) x[i] = __funnelshift_r(x[i], i + 1 < N ? x[i + 1] : top, 1);
}

// 1 / x mod p, for 0 < x < p: binary extended Euclid (Hankerson, Menezes, Vanstone: Guide to Elliptic Curve
// Cryptography, Algorithm 2.22).
template <int N>
__device__ void invert(const u32* x, const u32* p, u32* of_v) {
    u32 u[N], v[N], of_u[N];
    for (int i = 0; i < N; i++) {
        u[i] = x[i];
        v[i] = p[i];
        of_u[i] = i == 0;
        of_v[i] = 0;
    }
    while (!is_zero<N>(u)) {
        while (!(u[0] & 1)) {
            shift_down<N>(u, 0);
            shift_down<N>(of_u, of_u[0] & 1 ? sum<N>(of_u, p, of_u) : 0);
        }
        while (!(v[0] & 1)) {
            shift_down<N>(v, 0);
            shift_down<N>(of_v, of_v[0] & 1 ? sum<N>(of_v, p, of_v) : 0);
        }
        if (less<N>(u, v)) {
            subtract<N>(v, u, v);
            difference<N>(of_v, of_u, p, of_v);
        } else {
            subtract<N>(u, v, u);
            difference<N>(of_u, of_v, p, of_u);
        }
    }
}

// What the product of two numbers of halves adds to a limb, before carries.
template <int N, class Half>
__device__ i64 product(const Half* u, const Half* v, int limb) {
    i64 low = 0, high = 0;
    for (int i = 0; i < 2 * N; i++) {
        int j = 2 * limb - i;
        if (j >= 0 && j < 2 * N) low += (i64)u[i] * v[j];
        if (j + 1 >= 0 && j + 1 < 2 * N) high += (i64)u[i] * v[j + 1];
    }
    return low + high * 65536;
}

// A carry is two cells, of 16 bits and of 8.
__device__ void put_carry(const Cells& cells, int r, int low, int high, i64 carry) {
    carry += OFFSET;
    cells(r, low) = carry & 0xffff;
    cells(r, high) = carry >> 16;
}

template <int N>
__device__ int highest_difference(const u32* x, const u32* y) {
    int top = N - 1;
    while (top > 0 && x[top] == y[top]) top--;
    return top;
}

// The quotient of a multiple of a prime, and the carries; `limb`: maps i to the multiple's i-th limb, before carries.
// Hensel's division, by the prime's inverse mod 2^32.
template <int N, class Limb>
__device__ void put_multiple(const Cells& cells, int r, const Limb& limb, const u32* p, u32 inverse, int to_q, int to_sign,
                             int low, int high) {
    u16 prime[2 * N], q[2 * N];
    halve<N>(p, prime);
    for (int i = 0; i < 2 * N; i++) q[i] = 0;
    i64 carry = 0, sign = 0;
    for (int i = 0; i < 2 * N; i++) {
        i64 total = limb(i) + carry - product<N>(q, prime, i);
        u32 digit = (u32)total * inverse;
        if (i < N) {
            i64 lower = digit & 0xffff, upper = digit >> 16;
            q[2 * i] = (u16)lower;
            q[2 * i + 1] = (u16)upper;
            total -= lower * prime[0] + (lower * prime[1] + upper * prime[0]) * 65536;
        } else {
            if (i == N) sign = (int)digit;
            total -= sign * (i64)p[i - N];
        }
        carry = total >> 32;
        if (i < 2 * N - 1) put_carry(cells, r, low + i, high + i, carry);
    }
    for (int i = 0; i < 2 * N; i++) cells(r, to_q + i) = q[i];
    cells(r, to_sign) = sign + SIGN;
}

// The check of x < p: flags in a row, the parts of the difference in the same row or another one.
template <int N>
__device__ void put_below(const Cells& cells, int r, int flags, int parts_row, int parts, const u32* x, const u32* p) {
    int top = highest_difference<N>(x, p);
    u32 missing = p[top] - x[top] - 1;
    cells(r, flags + top) = 1;
    cells(parts_row, parts) = missing & 0xffff;
    cells(parts_row, parts + 1) = missing >> 16;
}

template <int N>
__device__ void put_limbs(const Cells& cells, int r, int column, const u32* x) {
    for (int i = 0; i < N; i++) cells(r, column + i) = x[i];
}

// The modular operation on numbers of N limbs.

struct ModularColumns {
    u64 on, first, clk, third, full, pointer, register_t, a7_pc, u, v, s, word_t, old_v, old_s, low, high;
};

// The i-th cell of the second row that holds no carry, of which `used` pairs do.
__device__ void put_unused(const Cells& cells, const ModularColumns& at, int used, int i, u64 value) {
    int lows = (int)(at.high - at.low) - used;
    cells(1, i < lows ? at.low + used + i : at.high + used + i - lows) = value;
}

template <int N>
__device__ void put_modular(const Calls& calls, const ModularColumns& at, u64 quotient, u64* main, u64 height) {
    const int words = N / 2;
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= calls.count) return;
    Cycle cycle(calls, index);
    Cells cells = {main + 2 * index, height};
    bool with_quotient = cycle.number == quotient;
    u32 a[N], b[N], m[N], c[N], q[N], r[N], all[2 * N];
    load<N>(cycle.old, a);
    load<N>(cycle.old + words, b);
    load<N>(cycle.old + 2 * words, m);
    load<N>(cycle.old + 3 * words, c);
    multiply<N>(a, b, c, all);
    divide<N>(all, m, q, r);
    bool full = is_zero<N>(m);
    for (int k = 0; k < 2; k++) {
        put_halves<N>(cells, k, at.u, k ? m : a);
        put_halves<N>(cells, k, at.v, k ? r : b);
        put_halves<N>(cells, k, at.s, k ? q : c);
        cells(k, at.on) = 1;
        cells(k, at.clk) = cycle.clk;
    }
    cells(0, at.first) = 1;
    cells(0, at.third) = 1;
    cells(1, at.third) = with_quotient;
    cells(0, at.full) = full;
    u16 of_a[2 * N], of_b[2 * N], of_m[2 * N], of_q[2 * N];
    halve<N>(a, of_a);
    halve<N>(b, of_b);
    halve<N>(m, of_m);
    halve<N>(q, of_q);
    i64 carry = 0;
    int in_row = (int)(at.high - at.low);
    for (int i = 0; i < 2 * N - 1; i++) {
        carry = (MODULAR_0 + carry) >> 32;
        int k = i >= in_row, place = i - k * in_row;
        put_carry(cells, k, at.low + place, at.high + place, carry);
    }
    if (!full) {
        int top = highest_difference<N>(m, r), used = 2 * N - 1 - in_row;
        u32 missing = m[top] - r[top] - 1;
        put_unused(cells, at, used, 0, missing & 0xffff);
        put_unused(cells, at, used, 1, missing >> 16);
        put_unused(cells, at, used, 2 + top, 1);
    }
    put_limbs<N>(cells, 0, at.old_v, b);
    put_limbs<N>(cells, 0, at.old_s, c);
    load<N>(cycle.old + 4 * words, all);
    put_limbs<N>(cells, 1, at.old_v, all);
    if (with_quotient) {
        load<N>(cycle.old + 5 * words, all);
        put_limbs<N>(cells, 1, at.old_s, all);
    }
    // Further registers a1 to a4 have the addresses of a, b, m and c.
    const int row_of[4] = {0, 0, 1, 0}, column_of[4] = {0, 1, 0, 2};
    for (int i = 0; i < 4; i++) {
        cells(row_of[i], at.pointer + column_of[i]) = cycle.fresh[i];
        cells(row_of[i], at.register_t + column_of[i]) = cycle.register_time(i);
    }
    cells(1, at.pointer + 1) = cycle.a0;
    cells(1, at.pointer + 2) = cycle.a0 + 8 * words;
    cells(1, at.register_t + 1) = cycle.t_a0;
    cells(0, at.a7_pc) = cycle.t_a7;
    cells(1, at.a7_pc) = cycle.pc;
    const int rows[6] = {0, 0, 1, 0, 1, 1}, operands[6] = {0, 1, 0, 2, 1, 2};
    const int slots[6] = {SLOT_A, SLOT_B, SLOT_MEMORY, SLOT_MEMORY, SLOT_D, SLOT_D};
    for (int k = 0; k < (with_quotient ? 6 : 5); k++) {
        for (int i = 0; i < words; i++) {
            u64 before = cycle.time[words * k + i];
            cells(rows[k], at.word_t + words * operands[k] + i) = Cycle::recent(before, cycle.now + slots[k]);
        }
    }
}

extern "C" __global__ void fill_modular(
    const __grid_constant__ Calls calls, const __grid_constant__ ModularColumns at, u64 quotient, u64* main, u64 height) {
    put_modular<8>(calls, at, quotient, main, height);
}

extern "C" __global__ void fill_modular_384(
    const __grid_constant__ Calls calls, const __grid_constant__ ModularColumns at, u64 quotient, u64* main, u64 height) {
    put_modular<12>(calls, at, quotient, main, height);
}

// a b + c in Fp2, with coordinates of N limbs.

struct Fp2Columns {
    u64 on, first, clk, pointer, register_t, a7_pc, sign, x, y, r, q, low, high, flag, part, word_t, c, old;
};

template <int N>
struct Prime {
    u64 words[N / 2], inverse;  // of the prime, mod 2^32
};

// x mod p, by few subtractions: p is no small part of 2^(32 N).
template <int N>
__device__ void reduce(u32* x, const u32* p) {
    while (!less<N>(x, p)) subtract<N>(x, p, x);
}

// a b + c d + e mod p, of a, b, c, d up to p and any e, for p below a fourth of 2^(32 N).
template <int N>
__device__ void sum_mod(const u32* a, const u32* b, const u32* c, const u32* d, const u32* e, const u32* p, u32* found) {
    u32 all[2 * N], other[2 * N], q[N];
    multiply<N>(a, b, e, all);
    multiply<N>(c, d, nullptr, other);
    sum<2 * N>(all, other, all);
    divide<N>(all, p, q, found);
}

template <int N>
__device__ void put_fp2(const Calls& calls, const Fp2Columns& at, const Prime<N>& prime, u64* main, u64 height) {
    const int words = N / 2;
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= calls.count) return;
    Cycle cycle(calls, index);
    Cells cells = {main + 2 * index, height};
    u32 p[N], x[4][N], added[N], result[N];  // x: a0, a1, b0, b1 mod p
    load<N>(prime.words, p);
    u16 halves[4][2 * N];
    for (int i = 0; i < 4; i++) {
        load<N>(cycle.old + words * i, x[i]);
        put_halves<N>(cells, i / 2, i % 2 ? at.y : at.x, x[i]);
        halve<N>(x[i], halves[i]);
        reduce<N>(x[i], p);
    }
    const u16 *of_a0 = halves[0], *of_a1 = halves[1], *of_b0 = halves[2], *of_b1 = halves[3];
    const u32 *c0 = added, *c1 = added, *r0 = result, *r1 = result;
    cells(0, at.first) = 1;
    for (int r = 0; r < 2; r++) {
        load<N>(cycle.old + words * (4 + r), added);
        put_limbs<N>(cells, r, at.c, added);
        u32 other[N];
        subtract<N>(p, x[3], other);  // -b1
        sum_mod<N>(x[0], r ? x[3] : x[2], x[1], r ? x[2] : other, added, p, result);
        put_halves<N>(cells, r, at.r, result);
        auto limb = [&](int i) { return r ? FP2_1 : FP2_0; };
        put_multiple<N>(cells, r, limb, p, (u32)prime.inverse, at.q, at.sign, at.low, at.high);
        put_below<N>(cells, r, at.flag, r, at.part, result, p);
        load<N>(cycle.old + words * (6 + r), other);
        put_limbs<N>(cells, r, at.old, other);
        cells(r, at.on) = 1;
        cells(r, at.clk) = cycle.clk;
        // Further registers a1 to a3 have the addresses of a, b and c.
        cells(r, at.pointer) = cycle.fresh[r];
        cells(r, at.pointer + 1) = cycle.fresh[2] + 8 * words * r;
        cells(r, at.pointer + 2) = cycle.a0 + 8 * words * r;
        cells(r, at.register_t) = cycle.register_time(r);
        cells(r, at.register_t + 1) = r ? cycle.t_a0 : cycle.register_time(2);
        cells(r, at.a7_pc) = r ? cycle.pc : cycle.t_a7;
        const int operands[4] = {2 * r, 2 * r + 1, 4 + r, 6 + r};
        const int slot = r ? SLOT_B : SLOT_A, slots[4] = {slot, slot, SLOT_MEMORY, SLOT_D};
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < words; i++) {
                u64 before = cycle.time[words * operands[k] + i];
                cells(r, at.word_t + words * k + i) = Cycle::recent(before, cycle.now + slots[k]);
            }
        }
    }
}

extern "C" __global__ void fill_fp2_bn254(
    const __grid_constant__ Calls calls, const __grid_constant__ Fp2Columns at, const __grid_constant__ Prime<8> prime,
    u64* main, u64 height) {
    put_fp2<8>(calls, at, prime, main, height);
}

extern "C" __global__ void fill_fp2_bls12_381(
    const __grid_constant__ Calls calls, const __grid_constant__ Fp2Columns at, const __grid_constant__ Prime<12> prime,
    u64* main, u64 height) {
    put_fp2<12>(calls, at, prime, main, height);
}

// Sums and doubles of points.

// The slope of the line through two points, or of the tangent at the first.
__device__ void slope(int curve, bool twice, const u32* first, const u32* second, u32* found) {
    const u32* p = PRIMES[curve];
    u32 above[LIMBS], below[LIMBS], inverse[LIMBS];
    if (twice) {
        u32 square[LIMBS], small[LIMBS] = {}, product[2 * LIMBS], q[LIMBS];
        int a = COEFFICIENTS[curve];
        multiply_mod<LIMBS>(first, first, p, square);
        small[0] = a < 0 ? -a : a;
        if (a < 0) subtract<LIMBS>(p, small, small);
        u32 three[LIMBS] = {3};
        multiply<LIMBS>(square, three, small, product);
        divide<LIMBS>(product, p, q, above);
        u32 two[LIMBS] = {2};
        multiply_mod<LIMBS>(first + LIMBS, two, p, below);
    } else {
        difference<LIMBS>(second + LIMBS, first + LIMBS, p, above);
        difference<LIMBS>(second, first, p, below);
    }
    invert<LIMBS>(below, p, inverse);
    multiply_mod<LIMBS>(above, inverse, p, found);
}

extern "C" __global__ void fill_point(const __grid_constant__ Calls calls, u64* main, u64 height) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= calls.count) return;
    Cycle cycle(calls, index);
    Cells cells = {main + 3 * index, height};
    int curve = (int)(cycle.number - POINT) / 2;
    bool twice = (cycle.number - POINT) % 2;
    u32 first[2 * LIMBS], second[2 * LIMBS] = {}, result[2 * LIMBS], line[LIMBS], part[LIMBS];
    load<LIMBS>(cycle.old, first);
    load<LIMBS>(cycle.old + NUMBER_WORDS, first + LIMBS);
    if (!twice) {
        load<LIMBS>(cycle.old + POINT_WORDS, second);
        load<LIMBS>(cycle.old + POINT_WORDS + NUMBER_WORDS, second + LIMBS);
    }
    const u32 *p = PRIMES[curve], *x1 = first, *y1 = first + LIMBS, *x2 = twice ? first : second;
    u32 *x3 = result, *y3 = result + LIMBS;
    slope(curve, twice, first, second, line);
    multiply_mod<LIMBS>(line, line, p, x3);
    difference<LIMBS>(x3, x1, p, x3);
    difference<LIMBS>(x3, x2, p, x3);
    difference<LIMBS>(x1, x3, p, part);
    multiply_mod<LIMBS>(line, part, p, y3);
    difference<LIMBS>(y3, y1, p, y3);

    int of_x0[HALVES], of_x1[HALVES], of_slope[HALVES], of_x0_x1[HALVES], of_x1_x3[HALVES];
    const u32 *x0 = twice ? y1 : x2, *y2 = second + LIMBS;
    halve<LIMBS>(x0, of_x0);
    halve<LIMBS>(x1, of_x1);
    halve<LIMBS>(line, of_slope);
    halve<LIMBS>(x3, of_x1_x3);
    for (int i = 0; i < HALVES; i++) {
        of_x0_x1[i] = of_x0[i] - of_x1[i];
        of_x1_x3[i] = of_x1[i] - of_x1_x3[i];
    }
    i64 a = COEFFICIENTS[curve];
    constexpr int N = LIMBS;
    for (int r = 0; r < 3; r++) {
        i64 sums[HALVES];
        for (int i = 0; i < HALVES; i++) sums[i] = r == 0 ? POINT_0 : r == 1 ? POINT_1 : POINT_2;
        auto limb = [&](int i) { return sums[i]; };
        put_multiple<LIMBS>(cells, r, limb, p, INVERSES[curve], POINT_Q, POINT_SIGN, POINT_LOW, POINT_HIGH);
        const u32* x = r == 0 ? x0 : r == 1 ? x1 : x3;
        put_halves<LIMBS>(cells, r, POINT_X, x);
        put_below<LIMBS>(cells, r, POINT_FLAG, r, POINT_PART, x, p);
        cells(r, POINT_ON) = 1;
        cells(r, POINT_ROW + r) = 1;
        cells(r, POINT_CURVE + curve) = 1;
        cells(r, POINT_CLK) = cycle.clk;
        cells(r, POINT_DOUBLE) = twice;
    }
    put_halves<LIMBS>(cells, 1, POINT_Y, line);
    put_halves<LIMBS>(cells, 2, POINT_Y, y3);
    put_below<LIMBS>(cells, 2, POINT_Z, 2, POINT_PART + 2, y3, p);
    if (!twice) {
        put_below<LIMBS>(cells, 0, POINT_Y, 0, POINT_PART + 2, second + LIMBS, p);
        put_below<LIMBS>(cells, 0, POINT_Y + LIMBS, 1, POINT_PART + 2, y1, p);
    }
    bool differing = false;
    for (int i = 0; i < LIMBS; i++) {
        cells(0, POINT_Z + i) = second[LIMBS + i];
        cells(1, POINT_Z + i) = y1[i];
        cells(1, POINT_W + i) = x2[i];
        u64 by = twice ? y1[i] : field::sub(x2[i], x1[i]);
        if (!differing && by) {
            cells(0, POINT_W + i) = field::inverse(by);
            differing = true;
        }
    }
    cells(0, POINT_ACCESSED) = !twice;
    cells(1, POINT_ACCESSED) = 1;
    cells(1, POINT_POINTER) = cycle.a0;
    cells(1, POINT_REGISTER_T) = cycle.t_a0;
    cells(1, POINT_A7_PC) = cycle.t_a7;
    cells(2, POINT_A7_PC) = cycle.pc;
    u64 then = cycle.now + SLOT_MEMORY;
    for (int i = 0; i < POINT_WORDS; i++) cells(1, POINT_WORD_T + i) = Cycle::recent(cycle.time[i], then);
    if (!twice) {
        cells(0, POINT_POINTER) = cycle.fresh[0];
        cells(0, POINT_REGISTER_T) = cycle.register_time(0);
        for (int i = 0; i < POINT_WORDS; i++) {
            cells(0, POINT_WORD_T + i) = Cycle::recent(cycle.time[POINT_WORDS + i], then);
        }
    }
}
