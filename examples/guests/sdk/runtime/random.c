/* Random numbers: SplitMix64 from a seed that the host puts into the last word of the input's region. */
#include "zkvm.h"

#define SEED 0xBFFFFFF8ul

uint64_t zkvm_random_u64(void)
{
    static uint64_t distance;

    distance += 0x9E3779B97F4A7C15u;
    uint64_t word = *(const uint64_t *)SEED + distance;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}
