/* Membership in a Merkle tree of Keccak-256 that says only where: input and output
 *
 *   input   index as a 64-bit word | leaf, 32 bytes | its siblings from the bottom up, 32 bytes each
 *   output  root, 32 bytes | index as a 64-bit word
 */
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;
    uint64_t index;
    uint8_t pair[64];
    zkvm_keccak256_hash node;

    read_input(&input, &size);
    if (size < 40 || (size - 8) % 32)
        return 1;
    memcpy(&index, input, 8);
    size_t depth = (size - 40) / 32;
    if (depth > 64 || (depth < 64 && index >> depth))
        return 1;
    memcpy(&node, input + 8, 32);
    for (size_t level = 0; level < depth; level++) {
        int right = index >> level & 1;
        memcpy(pair + (right ? 32 : 0), &node, 32);
        memcpy(pair + (right ? 0 : 32), input + 40 + 32 * level, 32);
        zkvm_keccak256(pair, sizeof pair, &node);
    }
    write_output(node.data, sizeof node.data);
    write_output((const uint8_t *)&index, sizeof index);
    return 0;
}
