// Traces of host calls: the cycle of a call, and the cells of its rows. Times and registers are defines (sources.py).
#pragma once
#include "field.cuh"

typedef long long i64;

const u64 LIMB = 0xffffffffull;
struct Calls {
    const u32* order;
    const u64 *rows, *old, *time, *fresh, *pc;  // rows of ROW_WORDS each
    u64 first_clock, count;
};

// The cycle of a call.
struct Cycle {
    u64 clk, now, number, a0, t_a7, t_a0, pc;
    const u64 *old, *time, *fresh;

    __device__ Cycle(const Calls& calls, u64 i) {
        u64 cycle = calls.order[i];
        const u64* row = calls.rows + ROW_WORDS * cycle;
        u64 last = row[ROW_WORDS - 1], at = last >> 32;
        clk = cycle + calls.first_clock;
        now = SLOTS * clk;
        number = row[ROW_A];
        a0 = row[ROW_B];
        t_a7 = recent(row[ROW_T_A], now + SLOT_A);
        t_a0 = recent(row[ROW_T_B], now + SLOT_B);
        pc = calls.pc[last & LIMB];
        old = calls.old + at;
        time = calls.time + at;
        fresh = calls.fresh + at;
    }

    // The time of the access before, or if it is too long ago, of a bump right before `then`.
    static __device__ u64 recent(u64 before, u64 then) { return then - before > FAR ? then - 1 : before; }

    __device__ u64 register_time(int further) const { return recent(fresh[MOST_FURTHER + further], now + SLOT_A); }
};

// The cells of a call's rows.
struct Cells {
    u64* main;  // in the first row
    u64 height;

    __device__ u64& operator()(int r, int column) const { return main[column * height + r]; }
};
