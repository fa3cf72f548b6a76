/* Puts out the Keccak-256 of its input. */
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;
    zkvm_keccak256_hash hash;

    read_input(&input, &size);
    zkvm_keccak256(input, size, &hash);
    write_output(hash.data, sizeof hash.data);
    return 0;
}
