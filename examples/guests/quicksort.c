/* Sorts the input's signed 64-bit words; the output is the Keccak-256 of them in rising order. */
#include "zkvm.h"

static void sort(int64_t *first, int64_t *last)
{
    while (last - first > 16) {
        int64_t a = *first, b = first[(last - first) / 2], c = last[-1];
        int64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int64_t *i = first, *j = last - 1;
        for (;;) {
            while (*i < pivot)
                i++;
            while (pivot < *j)
                j--;
            if (i >= j)
                break;
            int64_t other = *i;
            *i++ = *j;
            *j-- = other;
        }
        if (i - first < last - i) { /* the smaller part by a call: the stack stays logarithmic */
            sort(first, i);
            first = i;
        } else {
            sort(i, last);
            last = i;
        }
    }
    for (int64_t *i = first + 1; i < last; i++) {
        int64_t value = *i, *j = i;
        for (; j > first && value < j[-1]; j--)
            *j = j[-1];
        *j = value;
    }
}

int main(void)
{
    const uint8_t *input;
    size_t size;
    zkvm_keccak256_hash digest;

    read_input(&input, &size);
    if (size % 8)
        return 1;
    int64_t *words = allocate(size);
    memcpy(words, input, size);
    if (size)
        sort(words, words + size / 8);
    zkvm_keccak256((const uint8_t *)words, size, &digest);
    write_output(digest.data, sizeof digest.data);
    return 0;
}
