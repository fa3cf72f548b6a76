// Values of columns at points of the extension by barycentric interpolation from the first rows of an extension: for p
// of degree < n on 7 H, p(z) = sum_x p(x) x (z^n - 7^n) / (n 7^n (z - x)).
#include "denominators.cuh"

// factor * x / (z - x) for all points of each domain.
extern "C" __global__ void __launch_bounds__(denominators::THREADS, 2) weights(
    const __grid_constant__ Domains domains, const __grid_constant__ Points points, u64 count, const u64* fine,
    const u64* coarse) {
    auto finish = [](const Domain& domain, const Point& point, u64 i, u64 x, Ext inverse) {
        Ext factor = {point.factor[0], point.factor[1], point.factor[2]};
        ext::store(domain.target, domain.count, i, ext::mul(ext::scale(inverse, x), factor));
    };
    denominators::invert({fine, coarse}, domains, points, count, finish);
}

constexpr int THREADS = 256, WARPS = THREADS / block::WARP;
constexpr int TILE = 2048;        // rows of a block, whose weights lie in shared memory
constexpr int COLUMNS = 4 * WARPS;  // columns of a block, a warp each at a time

// The sum of canonical words over the warp, in every lane: 22 bits at a time, whose sums fit a word of 32 bits.
__device__ __forceinline__ u64 warp_sum(u64 x) {
    constexpr u32 MASK = (1u << 22) - 1;
    u64 low = __reduce_add_sync(block::ALL, (u32)x & MASK);
    u64 middle = __reduce_add_sync(block::ALL, (u32)(x >> 22) & MASK);
    u64 top = __reduce_add_sync(block::ALL, (u32)(x >> 44));
    return field::add(field::canonical(field::reduce(top << 44, top >> 20)), low + (middle << 22));
}

// One matrix (width, height), its first n rows, and the weights (3, n) of one or two points.
struct Part {
    u64 first;  // of its blocks, or of its sums
    const u64 *matrix, *weights[2];
    u64 width, height, n;
    u64 slices;    // of a tile's rows, so that columns times slices keep all warps busy
    u64* partial;  // sums of each slice of rows: (width, 3 points, tiles slices)
    u64* target;   // sums of all rows: (3 points, width)
};

struct Parts {
    Part of[batch::ITEMS];
};

__device__ __forceinline__ u64 tiles_of(u64 rows) { return (rows + TILE - 1) / TILE; }

// partial[column][3 point + coordinate][slice] = sum over the slice's rows of weight * column, for all columns of each
// part. Blocks of a part: tiles x groups of COLUMNS.
template <int POINTS>
__device__ __forceinline__ void partial_sums(const Parts& parts, u64 count) {
    extern __shared__ u64 staged[];  // [point][coordinate][row]
    const Part& part = batch::item_at(parts.of, count, blockIdx.x);
    u64 tiles = tiles_of(part.n), tile = (blockIdx.x - part.first) % tiles, group = (blockIdx.x - part.first) / tiles;
    u64 first = tile * TILE, n = part.n, width = part.width, left = width - group * COLUMNS;
    u32 rows = (u32)(n - first < TILE ? n - first : TILE);
    for (u32 i = threadIdx.x; i < rows; i += THREADS)
#pragma unroll
        for (int k = 0; k < 3 * POINTS; k++) staged[k * TILE + i] = part.weights[k / 3][k % 3 * n + first + i];
    __syncthreads();

    u32 lane = threadIdx.x % block::WARP, warp = threadIdx.x / block::WARP;
    u32 slices = (u32)part.slices, units = (left < COLUMNS ? (u32)left : COLUMNS) * slices;
    u32 span = (TILE / slices + block::WARP - 1) / block::WARP * block::WARP;
    for (u32 unit = warp; unit < units; unit += WARPS) {
        u64 column = group * COLUMNS + unit / slices;
        u32 slice = unit % slices, end = (slice + 1) * span < rows ? (slice + 1) * span : rows;
        const u64* cells = part.matrix + column * part.height + first;
        Sum sum[3 * POINTS] = {};
#pragma unroll 8
        for (u32 i = slice * span + lane; i < end; i += block::WARP) {
            u64 x = cells[i];
#pragma unroll
            for (int k = 0; k < 3 * POINTS; k++) sums::accumulate(sum[k], x, staged[k * TILE + i]);
        }
#pragma unroll
        for (int k = 0; k < 3 * POINTS; k++) {
            u64 value = warp_sum(sums::total(sum[k]));
            if (lane == 0) part.partial[(column * (3 * POINTS) + k) * (tiles * slices) + tile * slices + slice] = value;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) partial_sums_1(
    const __grid_constant__ Parts parts, u64 count) {
    partial_sums<1>(parts, count);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) partial_sums_2(
    const __grid_constant__ Parts parts, u64 count) {
    partial_sums<2>(parts, count);
}

// Each part's target from its partial sums; a warp a sum. `first` counts sums, of which there are `all`.
extern "C" __global__ void __launch_bounds__(THREADS) add_tiles(
    const __grid_constant__ Parts parts, u64 count, u64 sums_of_column, u64 all) {
    u64 index = ((u64)blockIdx.x * THREADS + threadIdx.x) / block::WARP;
    if (index >= all) return;
    const Part& part = batch::item_at(parts.of, count, index);
    u64 tiles = tiles_of(part.n) * part.slices, total = 0;
    index -= part.first;
    for (u64 i = threadIdx.x % block::WARP; i < tiles; i += block::WARP)
        total = field::add(total, part.partial[index * tiles + i]);
    total = warp_sum(total);
    if (threadIdx.x % block::WARP == 0)
        part.target[index % sums_of_column * part.width + index / sums_of_column] = total;
}
