// The trace of calls that absorb a block of a sponge, a thread by call. absorb_cpu.py is the twin.
#include "../calls.cuh"
#include "keccak.cuh"

__device__ void put_bytes(const Cells& cells, int r, int column, u64 word) {
    for (int i = 0; i < 8; i++) cells(r, column + i) = word >> 8 * i & 0xff;
}

extern "C" __global__ void fill_keccak_absorb(const __grid_constant__ Calls calls, u64* main, u64 height) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= calls.count) return;
    Cycle cycle(calls, index);
    Cells cells = {main + KECCAK_ABSORB_ROWS * index, height};
    u64 block = cycle.fresh[0], state[WORDS];
    const u64 *added = cycle.old, *old = added + RATE_WORDS, *old_time = cycle.time + RATE_WORDS;
#pragma unroll
    for (int k = 0; k < WORDS; k++) state[k] = old[k] ^ (k < RATE_WORDS ? added[k] : 0);
    keccak::permute(state);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        int r = k / PLANE_WORDS, column = KECCAK_ABSORB_NEW + 2 * (k % PLANE_WORDS);
        cells(r, column) = state[k] & LIMB;
        cells(r, column + 1) = state[k] >> 32;
    }
    const u64 registers[KECCAK_ABSORB_ROWS] = {cycle.number, block, cycle.a0};
    const u64 t_pc[KECCAK_ABSORB_ROWS] = {cycle.t_a7, cycle.register_time(0), cycle.t_a0, cycle.pc};
#pragma unroll
    for (int r = 0; r < KECCAK_ABSORB_ROWS; r++) {
        cells(r, KECCAK_ABSORB_ON) = 1;
        for (int k = 0; k < KECCAK_ABSORB_ROWS - 1; k++) cells(r, KECCAK_ABSORB_WITHIN + k) = r <= k;
        cells(r, KECCAK_ABSORB_CLK) = cycle.clk;
        cells(r, KECCAK_ABSORB_STATE) = cycle.a0;
        cells(r, KECCAK_ABSORB_BLOCK) = block;
        cells(r, KECCAK_ABSORB_REGISTER) = registers[r];
        cells(r, KECCAK_ABSORB_T_PC) = t_pc[r];
    }
#pragma unroll 1
    for (int k = 0; k < WORDS; k++) {
        int r = k / PLANE_WORDS, i = k % PLANE_WORDS;
        u64 of_block = k < RATE_WORDS ? added[k] : 0;
        put_bytes(cells, r, KECCAK_ABSORB_OLD + 8 * i, old[k]);
        put_bytes(cells, r, KECCAK_ABSORB_ADDED + 8 * i, of_block);
        put_bytes(cells, r, KECCAK_ABSORB_BOTH + 8 * i, old[k] & of_block);
        cells(r, KECCAK_ABSORB_OLD_T + i) = Cycle::recent(old_time[k], cycle.now + SLOT_MEMORY);
        u64 added_time = k < RATE_WORDS ? Cycle::recent(cycle.time[k], cycle.now + SLOT_B) : 0;
        cells(r, KECCAK_ABSORB_ADDED_T + i) = added_time;
    }
}
