// Replays a cycle range, a thread for each interval: counts its cycles, or writes them.
// cpu/tape.py is its twin and tape.py has the formats; operations, slots, columns and ways are defines.
//
// Registers lie in shared memory, [register][thread], so that threads with different registers have no bank conflicts.
// Threads of a warp run different code. Similar operations are one path without branches: comparisons, loads and
// stores, divisions.
// An operation of registers has rs2 or an immediate, and takes the sum of both.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

const u64 LIMB = 0xFFFFFFFFull, SIGN = 1ull << 63;
const u64 NEVER = 1ull << 62;  // the time of a missing access: no access comes late after it

struct Tape {
    const u64* code;
    u64 code_base;
    const u64* old;
    const u64* time;
    const u32 *index, *at;
    const u64 *values, *times;
    u64 start, first, last, intervals;
};

struct Cycles {
    u32* order;
    ulonglong2* rows;  // of ROW_WORDS each
    u64* fresh;
};

__device__ __forceinline__ u64 word(u64 x) { return (u64)(i64)(int)x; }

// Whether a branch is taken.
__device__ __forceinline__ bool taken(u32 op, u64 a, u64 b) {
    u64 flip = op < OP_BLTU ? SIGN : 0;
    bool holds = op < OP_BLT ? a == b : (a ^ flip) < (b ^ flip);
    return holds != (op == OP_BNE || op == OP_BGE || op == OP_BGEU);
}

// Quotients and remainders, of a division by zero 2^64 - 1 and a.
__device__ __forceinline__ u64 divided(u32 op, u64 a, u64 b) {
    bool narrow = op >= OP_DIVW;
    u32 kind = op - (narrow ? OP_DIVW : OP_DIV);
    bool is_signed = kind == 0 || kind == 2, remainder = kind >= 2;
    if (narrow) {
        a = is_signed ? word(a) : a & LIMB;
        b = is_signed ? word(b) : b & LIMB;
    }
    u64 result = remainder ? a : ~0ull;
    if (b != 0) {
        bool minus_a = is_signed && (i64)a < 0, minus_b = is_signed && (i64)b < 0;
        u64 x = minus_a ? -a : a, y = minus_b ? -b : b;
        u64 q = x / y;
        result = remainder ? x - q * y : q;
        if (remainder ? minus_a : minus_a != minus_b) result = -result;
    }
    return narrow ? word(result) : result;
}

// The result of an operation of registers, or of one and an immediate; 0 of any other.
__device__ __forceinline__ u64 computed(u32 op, u64 a, u64 y) {
    switch (op) {
        case OP_ADDI: case OP_ADD: return a + y;
        case OP_SLTI: case OP_SLT: return (i64)a < (i64)y;
        case OP_SLTIU: case OP_SLTU: return a < y;
        case OP_XORI: case OP_XOR: return a ^ y;
        case OP_ORI: case OP_OR: return a | y;
        case OP_ANDI: case OP_AND: return a & y;
        case OP_SLLI: case OP_SLL: return a << (y & 63);
        case OP_SRLI: case OP_SRL: return a >> (y & 63);
        case OP_SRAI: case OP_SRA: return (u64)((i64)a >> (y & 63));
        case OP_SUB: return a - y;
        case OP_ADDIW: case OP_ADDW: return word(a + y);
        case OP_SLLIW: case OP_SLLW: return word(a << (y & 31));
        case OP_SRLIW: case OP_SRLW: return word((a & LIMB) >> (y & 31));
        case OP_SRAIW: case OP_SRAW: return (u64)((i64)word(a) >> (y & 31));
        case OP_SUBW: return word(a - y);
        case OP_MUL: return a * y;
        case OP_MULW: return word(a * y);
        case OP_MULH: return (u64)__mul64hi((i64)a, (i64)y);
        case OP_MULHSU: return __umul64hi(a, y) - ((i64)a < 0 ? y : 0);
        case OP_MULHU: return __umul64hi(a, y);
        case OP_DIV: case OP_DIVU: case OP_REM: case OP_REMU:
        case OP_DIVW: case OP_DIVUW: case OP_REMW: case OP_REMUW: return divided(op, a, y);
    }
    return 0;
}

// Counts of late accesses, by column: threads that count the same add once.
struct Late {
    u64 *late, *refused;
    u64 cycle;

    __device__ __forceinline__ void count(u32 column) const {
        u64* counter = late + column;
        u32 peers = __match_any_sync(__activemask(), (u64)counter);
        if (threadIdx.x == __ffs(peers) - 1) atomicAdd(counter, (u64)__popc(peers));
    }

    // An access ``by`` after the one before.
    __device__ __forceinline__ void access(u32 column, u64 by) const {
        if ((i64)by <= (i64)FAR) return;
        count(column);
        if (by - 1 > REACH) atomicMin(refused + UNREACHED, cycle);
    }
};

// The registers of a thread's machine.
struct Registers {
    u64* own;

    __device__ __forceinline__ u64& operator[](u32 i) const { return own[i * blockDim.x]; }
};

// The effects of one cycle, without the times of its registers.
struct Step {
    u64 cycle, now, step, a, b, c, d, at;
    u32 rd, rs1, rs2, accesses;
    i64 call;  // the row of a host call in the lists of host calls; -1 for other cycles
};

// The host calls, by number: accesses, further registers, way; and the slot of each access.
__constant__ unsigned char WORDS_OF[LISTED] = LIST_WORDS_OF, FURTHER_OF[LISTED] = LIST_FURTHER_OF;
__constant__ unsigned char WAY_OF[LISTED] = LIST_WAY_OF, SLOT_OF[LISTED][MOST_WORDS] = LIST_SLOT_OF;

// Calls ``each`` for every cycle of a thread's interval in the cycle range; it updates the times of registers.
// ``write`` takes words after stores, or is null.
template <class Each>
__device__ __forceinline__ void replayed(
    const Tape& tape, const u64* steps, const u64* redirects, u64 interval, u64 never, u64* write, const Each& each) {
    extern __shared__ u64 shared[];
    Registers x = {shared + threadIdx.x}, t = {shared + (NO_REGISTER + 1) * blockDim.x + threadIdx.x};
    for (u32 i = 0; i < REGISTERS; i++) {
        x[i] = __ldg(tape.values + REGISTERS * interval + i);
        t[i] = __ldg(tape.times + REGISTERS * interval + i);
    }
    x[NO_REGISTER] = 0;
    t[NO_REGISTER] = never;
    u64 index = __ldg(tape.index + interval), at = __ldg(tape.at + interval);
    u64 cycle = tape.start + INTERVAL * interval;
    u64 stop = cycle + INTERVAL < tape.last ? cycle + INTERVAL : tape.last;
    for (; cycle < stop; cycle++) {
        u64 fields = __ldg(tape.code + index);
        u32 op = fields & 255, rd = fields >> 8 & 255, rs1 = fields >> 16 & 255, rs2 = fields >> 24 & 255;
        u64 imm = (u64)((i64)fields >> 32), a = x[rs1], b = x[rs2], c = 0, following = index + 1;
        u32 way = 0, accesses = 0;
        i64 call = -1;
        if (op <= OP_BGEU) {
            u64 pc = tape.code_base + 4 * index;
            if (op <= OP_AUIPC) {
                c = imm + (op == OP_AUIPC ? pc : 0);
            } else if (op == OP_JAL || op == OP_JALR) {
                if (rd != NO_REGISTER) c = pc + 4;
                following = op == OP_JAL ? index + imm : (((a + imm) & ~1ull) - tape.code_base) >> 2;
                way = op == OP_JALR && a >> 32 != 0;
            } else {
                way = !taken(op, a, b);
                if (!way) following = index + imm;
            }
        } else if (op <= OP_SD) {
            u64 address = a + imm;
            u32 size = 1u << (op < OP_LBU ? op - OP_LB : op < OP_SB ? op - OP_LBU : op - OP_SB);
            u32 place = address & 7, shift = 8 * place, spare = 64 - 8 * size;
            bool crosses = place + size > 8;
            accesses = 1 + crosses;
            way = a >> 32 != 0 ? FAR_BASE : ((address & (size - 1)) != 0) + crosses;
            if (op < OP_SB) {
                u64 value = __ldg(tape.old + at) >> shift;
                if (crosses) value |= __ldg(tape.old + at + 1) << (64 - shift);
                value <<= spare;
                c = op < OP_LBU ? (u64)((i64)value >> spare) : value >> spare;
            } else if (write && cycle >= tape.first) {
                u64 mask = ~0ull >> spare, value = b & mask;
                write[at] = __ldg(tape.old + at) & ~(mask << shift) | value << shift;
                if (crosses) {
                    u32 back = 64 - shift;
                    write[at + 1] = __ldg(tape.old + at + 1) & ~(mask >> back) | value >> back;
                }
            }
        } else if (op == OP_ECALL) {
            if (a != EXIT) {
                call = a - FIRST_NUMBER;
                way = WAY_OF[call];
                accesses = WORDS_OF[call];
                if (write && cycle >= tape.first) {
                    for (u32 i = 0; i < FURTHER_OF[call]; i++) {
                        write[at + i] = x[A1 + i];
                        write[at + MOST_FURTHER + i] = t[A1 + i];
                    }
                }
            }
        } else {
            c = computed(op, a, b + imm);
            way = op == OP_ADDI || op == OP_ADD ? ((a ^ c) >> 32 | b >> 32) != 0 : b >> 4 & 3;
        }
        u64 place = WAYS * index;
        if (op == OP_ECALL) place = __ldg(steps + place);
        u64 step = __ldg(steps + place + way), d = x[rd];
        if (step != NO_STEP) step += __ldg(redirects + (step >> 32));
        x[rd] = c;
        each(Step{cycle, SLOTS * (cycle + 1), step, a, b, c, d, at, rd, rs1, rs2, accesses, call}, t);
        t[NO_REGISTER] = never;
        if (call >= 0) {
            for (u32 i = 0; i < FURTHER_OF[call]; i++) t[A1 + i] = SLOTS * (cycle + 1) + SLOT_FURTHER;
        }
        at += accesses;
        index = following;
    }
}

extern "C" __global__ void census(
    Tape tape, const u64* steps, const u64* redirects, u32* counts, u64* late, u64* refused) {
    u64 interval = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (interval >= tape.intervals) return;
    replayed(tape, steps, redirects, interval, NEVER, nullptr, [&](const Step& s, const Registers& t) {
        u64 t_a = t[s.rs1], t_b = t[s.rs2], t_d = t[s.rd];
        t[s.rs1] = s.now + SLOT_A;
        t[s.rs2] = s.now + SLOT_B;
        t[s.rd] = s.now + SLOT_D;
        if (s.cycle < tape.first) return;
        if (s.step == NO_STEP) {
            atomicMin(refused + UNPROVED, s.cycle);
            return;
        }
        u64 group = s.step >> 32;
        atomicAdd(counts + group * tape.intervals + interval, 1u);  // no other thread's: atomic only to avoid a wait
        Late found = {late + ACCESSES * group, refused, s.cycle};
        u64 oldest = min(t_a, min(t_b, t_d)), in_place = s.now + SLOT_D - t_a;
        if ((i64)(s.now + SLOT_D - oldest) > (i64)FAR) {
            found.access(LATE_A, s.now + SLOT_A - t_a);
            if ((i64)in_place > (i64)FAR) {
                found.count(LATE_A_IN_PLACE);
                if (s.rd == s.rs1 && in_place - 1 > REACH) atomicMin(refused + UNREACHED, s.cycle);
            }
            if (s.rs2 != s.rs1) found.access(LATE_B, s.now + SLOT_B - t_b);
            if (s.rd != s.rs1 && s.rd != s.rs2) found.access(LATE_D, s.now + SLOT_D - t_d);
        }
        bool call = s.call >= 0;
        for (u32 i = 0; i < s.accesses; i++) {
            u64 now = s.now + (call ? SLOT_OF[s.call][i] : SLOT_MEMORY);
            found.access((call ? LATE_WORD : LATE_M) + i, now - __ldg(tape.time + s.at + i));
        }
        if (call) {
            for (u32 i = 0; i < FURTHER_OF[s.call]; i++) {
                found.access(LATE_FURTHER + i, s.now + SLOT_FURTHER - t[A1 + i]);
            }
        }
    });
}

extern "C" __global__ void replay(
    Tape tape, const u64* steps, const u64* redirects, u32* places, Cycles cycles) {
    u64 interval = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (interval >= tape.intervals) return;
    replayed(tape, steps, redirects, interval, 0, cycles.fresh, [&](const Step& s, const Registers& t) {
        u64 t_a = t[s.rs1], t_b = t[s.rs2], t_d = t[s.rd];
        t[s.rs1] = s.now + SLOT_A;
        t[s.rs2] = s.now + SLOT_B;
        t[s.rd] = s.now + SLOT_D;
        if (s.cycle < tape.first || s.step == NO_STEP) return;
        if (s.rs2 == s.rs1 && s.rs2 != NO_REGISTER) t_b = s.now + SLOT_A;
        if (s.rd != NO_REGISTER) t_d = s.rd == s.rs2 ? s.now + SLOT_B : s.rd == s.rs1 ? s.now + SLOT_A : t_d;
        u32 place = places[(s.step >> 32) * tape.intervals + interval]++;
        u64 cycle = s.cycle - tape.first;
        cycles.order[place] = cycle;
        ulonglong2* row = cycles.rows + ROW_WORDS / 2 * cycle;
        row[0] = {s.a, s.b};
        row[1] = {s.c, s.d};
        row[2] = {t_a, t_b};
        row[3] = {t_d, (u32)s.step | (s.accesses ? s.at << 32 : 0)};
    });
}
