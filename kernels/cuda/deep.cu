// DEEP on 7 H: sum over matrices, points z_j and columns of gamma^k (p(z_j) - p(x)) / (z_j - x). The columns of a matrix of w
// columns carry gamma^k at the first point and gamma^w times that at the second, so that one compressed sum a row
// serves both. Source: ``open`` in p3-fri/src/two_adic_pcs.rs.
#include "denominators.cuh"

// 1 / (z - x) for all points of each domain.
extern "C" __global__ void __launch_bounds__(denominators::THREADS, 2) inverse_denominators(
    const __grid_constant__ Domains domains, const __grid_constant__ Points points, u64 count, const u64* fine,
    const u64* coarse) {
    auto finish = [](const Domain& domain, const Point&, u64 i, u64, Ext inverse) {
        ext::store(domain.target, domain.count, i, inverse);
    };
    denominators::invert({fine, coarse}, domains, points, count, finish);
}

__device__ __forceinline__ Ext words(const u64* place) { return {place[0], place[1], place[2]}; }

__device__ __forceinline__ void put(u64* place, Ext x) { place[0] = x.a0, place[1] = x.a1, place[2] = x.a2; }

// One matrix, as `kernels/cuda/deep.py` describes it.
struct Part {
    const u64* columns;
    u64 stride;                 // words from a column to the next, even
    u64 width, offset, points;  // gamma^offset is the weight of its first column
    u64 first_claim;            // opened values of its first point; a second point's follow
};

constexpr int THREADS = 256;
constexpr int AHEAD = 4;  // columns that a thread loads before it uses them
constexpr int VECTORS = 64;  // vectors with their addresses in a parameter
constexpr int WORDS_OF_PART = sizeof(Part) / sizeof(u64);

// Matrices of one height: inputs and intermediate results.
struct Height {
    u64 first;                 // of its blocks
    const u64 *parts, *opened;  // `count` of them; their opened values
    u64 count;
    u64* weights;  // gamma^k of every column in order of the parts, (columns, 3)
    u64* powers;   // gamma^width for each part, (parts, 3)
    u64* claims;   // claims[j] = sum over all columns opened at point j of weight * value, (2, 3)
    const u64 *inverses0, *inverses1;  // of the two points, or twice of the only one, (3, rows)
    u64* target;                       // (3, rows)
    u64 rows, slices;                  // threads that share a pair of rows
};

struct Heights {
    Height of[batch::ITEMS];
};

// The weights, powers and claims of each height. A block a height.
extern "C" __global__ void __launch_bounds__(THREADS) weigh(
    const __grid_constant__ Heights heights, u64 gamma0, u64 gamma1, u64 gamma2) {
    const Height& height = heights.of[blockIdx.x];
    Ext gamma = {gamma0, gamma1, gamma2}, sums[2] = {ext::ZERO, ext::ZERO};
    u64 column = 0;
    for (u64 m = 0; m < height.count; m++) {
        Part part = *(const Part*)(height.parts + m * WORDS_OF_PART);
        Ext power = ext::power(gamma, part.width);
        if (threadIdx.x == 0) put(height.powers + 3 * m, power);
        for (u64 c = threadIdx.x; c < part.width; c += blockDim.x) {
            Ext weight = ext::power(gamma, part.offset + c);
            put(height.weights + 3 * (column + c), weight);
            for (u64 j = 0; j < part.points; j++) {
                Ext value = words(height.opened + 3 * (part.first_claim + j * part.width + c));
                Ext term = ext::mul(j ? ext::mul(weight, power) : weight, value);
                sums[j] = ext::add(sums[j], term);
            }
        }
        column += part.width;
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
        Ext all;
        block::running_sum(sums[j], all);
        if (threadIdx.x == 0) put(height.claims + 3 * j, all);
    }
}

__device__ __forceinline__ void accumulate(ExtSum& low, ExtSum& high, ulonglong2 cells, Ext weight) {
    sums::accumulate(low, cells.x, weight);
    sums::accumulate(high, cells.y, weight);
}

// Two neighbouring rows a thread; `slices` threads share a pair of rows and take every slices-th column. Blocks have
// THREADS / slices pairs.
extern "C" __global__ void __launch_bounds__(THREADS, 2) reduced_openings(
    const __grid_constant__ Heights heights, u64 height_count) {
    __shared__ Ext partial[4][THREADS];
    const Height& height = batch::item_at(heights.of, height_count, blockIdx.x);
    u64 rows = height.rows, slices = height.slices;
    const u64* weights = height.weights;
    u32 pairs = THREADS / (u32)slices, slice = threadIdx.x / pairs;
    u64 pair = (blockIdx.x - height.first) * pairs + threadIdx.x % pairs;
    bool inside = 2 * pair < rows;
    u64 last = (rows - 1) / 2;
    Ext at_first[2] = {ext::ZERO, ext::ZERO}, at_second[2] = {ext::ZERO, ext::ZERO};
    for (u64 m = 0; m < height.count; m++) {
        Part part = *(const Part*)(height.parts + m * WORDS_OF_PART);
        const ulonglong2* cells = (const ulonglong2*)part.columns + (inside ? pair : last) + slice * (part.stride / 2);
        const u64* weight = weights + 3 * slice;
        u64 step = slices * (part.stride / 2), c = slice;
        ExtSum low = {}, high = {};
        for (; c + (AHEAD - 1) * slices < part.width; c += AHEAD * slices) {
            ulonglong2 x[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++, cells += step) x[k] = __ldg(cells);
#pragma unroll
            for (int k = 0; k < AHEAD; k++, weight += 3 * slices) accumulate(low, high, x[k], words(weight));
        }
        for (; c < part.width; c += slices, cells += step, weight += 3 * slices)
            accumulate(low, high, __ldg(cells), words(weight));
        weights += 3 * part.width;
        Ext compressed[2] = {sums::total(low), sums::total(high)}, power = words(height.powers + 3 * m);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            at_first[i] = ext::add(at_first[i], compressed[i]);
            if (part.points > 1) at_second[i] = ext::add(at_second[i], ext::mul(compressed[i], power));
        }
    }
    if (slices > 1) {
#pragma unroll
        for (int i = 0; i < 2; i++) partial[i][threadIdx.x] = at_first[i], partial[2 + i][threadIdx.x] = at_second[i];
        __syncthreads();
        if (slice > 0) return;
        for (u32 other = threadIdx.x + pairs; other < THREADS; other += pairs) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                at_first[i] = ext::add(at_first[i], partial[i][other]);
                at_second[i] = ext::add(at_second[i], partial[2 + i][other]);
            }
        }
    }
    if (!inside) return;
    Ext first = words(height.claims), second = words(height.claims + 3);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u64 row = 2 * pair + i;
        if (row == rows) return;  // of one row
        Ext value = ext::mul(ext::sub(first, at_first[i]), ext::load(height.inverses0, rows, row));
        if (height.inverses1 != height.inverses0) {
            Ext more = ext::mul(ext::sub(second, at_second[i]), ext::load(height.inverses1, rows, row));
            value = ext::add(value, more);
        }
        ext::store(height.target, rows, row, value);
    }
}

struct Vectors {
    const u64* of[VECTORS];
};

// target = sum of the first `count` vectors, of `words` words each.
extern "C" __global__ void __launch_bounds__(THREADS) sum_vectors(
    const __grid_constant__ Vectors vectors, u64 count, u64* target, u64 words) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= words) return;
    u64 total = 0;
    for (u64 k = 0; k < count; k++) total = field::add(total, vectors.of[k][i]);
    target[i] = total;
}

// target = x0 y0, for two products + x1 y1, of extension vectors (3, rows).
extern "C" __global__ void __launch_bounds__(THREADS) sum_products(
    const u64* x0, const u64* y0, const u64* x1, const u64* y1, u64 products, u64* target, u64 rows) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows) return;
    Ext value = ext::mul(ext::load(x0, rows, i), ext::load(y0, rows, i));
    if (products > 1) value = ext::add(value, ext::mul(ext::load(x1, rows, i), ext::load(y1, rows, i)));
    ext::store(target, rows, i, value);
}
