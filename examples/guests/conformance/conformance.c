/* Calls the accelerator functions with the cases of the input, and writes the number of cases of each function, the first
   cases with another outcome than expected, and a digest of all outcomes. docs/conformance.md has the formats.
   Exit code 1: a case failed. An input that is no batch of cases is a fault. Only the standards' headers are used. */
#include "zkvm_accelerators.h"
#include "zkvm_io.h"

enum { FUNCTIONS = 19, LISTED = 16, LARGEST = 4096 };

void *memcpy(void *restrict to, const void *restrict from, size_t size);
int memcmp(const void *left, const void *right, size_t size);

typedef struct {
    uint32_t function, status, input_size, expected_size;
} header;

static const char *const NAMES[FUNCTIONS] = {
    "keccak256",          "secp256k1_verify",   "secp256k1_ecrecover", "sha256",        "ripemd160",
    "modexp",             "bn254_g1_add",       "bn254_g1_mul",        "bn254_pairing", "blake2f",
    "kzg_point_eval",     "bls12_g1_add",       "bls12_g1_msm",        "bls12_g2_add",  "bls12_g2_msm",
    "bls12_pairing",      "bls12_map_fp_to_g1", "bls12_map_fp2_to_g2", "secp256r1_verify",
};

static uint32_t word32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void require(bool held)
{
    if (!held)
        __builtin_trap();
}

/* Structures in the input are aligned to 8 bytes, and so is `out`. */
#define IN(type, offset) ((const type *)(const void *)(in + (offset)))
#define OUT(type) ((type *)(void *)(*made = sizeof(type), out))

static zkvm_status modexp(const uint8_t *in, size_t size, uint8_t *out, size_t *made)
{
    require(size >= 12);
    size_t base = word32(in), exponent = word32(in + 4), modulus = word32(in + 8);
    require(size == 12 + base + exponent + modulus && modulus <= LARGEST);
    *made = modulus;
    in += 12;
    return zkvm_modexp(in, base, in + base, exponent, in + base + exponent, modulus, out);
}

static zkvm_status blake2f(const uint8_t *in, size_t size, uint8_t *out, size_t *made)
{
    require(size == 213);
    memcpy(out, in, sizeof(zkvm_blake2f_state));
    return zkvm_blake2f(word32(in + 208), OUT(zkvm_blake2f_state), IN(zkvm_blake2f_message, 64), IN(zkvm_blake2f_offset, 192),
                        in[212]);
}

static zkvm_status call(uint32_t function, const uint8_t *in, size_t size, uint8_t *out, size_t *made)
{
    bool *verdict = (bool *)out;

    *made = 1;
    *verdict = false;
    switch (function) {
    case 0:
        return zkvm_keccak256(in, size, OUT(zkvm_keccak256_hash));
    case 1:
        require(size == 160);
        return zkvm_secp256k1_verify(IN(zkvm_secp256k1_hash, 0), IN(zkvm_secp256k1_signature, 32), IN(zkvm_secp256k1_pubkey, 96),
                                     verdict);
    case 2:
        require(size == 97);
        return zkvm_secp256k1_ecrecover(IN(zkvm_secp256k1_hash, 0), IN(zkvm_secp256k1_signature, 32), in[96],
                                        OUT(zkvm_secp256k1_pubkey));
    case 3:
        return zkvm_sha256(in, size, OUT(zkvm_sha256_hash));
    case 4:
        return zkvm_ripemd160(in, size, OUT(zkvm_ripemd160_hash));
    case 5:
        return modexp(in, size, out, made);
    case 6:
        require(size == 128);
        return zkvm_bn254_g1_add(IN(zkvm_bn254_g1_point, 0), IN(zkvm_bn254_g1_point, 64), OUT(zkvm_bn254_g1_point));
    case 7:
        require(size == 96);
        return zkvm_bn254_g1_mul(IN(zkvm_bn254_g1_point, 0), IN(zkvm_bn254_scalar, 64), OUT(zkvm_bn254_g1_point));
    case 8:
        require(size % sizeof(zkvm_bn254_pairing_pair) == 0);
        return zkvm_bn254_pairing(IN(zkvm_bn254_pairing_pair, 0), size / sizeof(zkvm_bn254_pairing_pair), verdict);
    case 9:
        return blake2f(in, size, out, made);
    case 10:
        require(size == 160);
        return zkvm_kzg_point_eval(IN(zkvm_kzg_commitment, 0), IN(zkvm_kzg_field_element, 48), IN(zkvm_kzg_field_element, 80),
                                   IN(zkvm_kzg_proof, 112), verdict);
    case 11:
        require(size == 192);
        return zkvm_bls12_g1_add(IN(zkvm_bls12_381_g1_point, 0), IN(zkvm_bls12_381_g1_point, 96), OUT(zkvm_bls12_381_g1_point));
    case 12:
        require(size % sizeof(zkvm_bls12_381_g1_msm_pair) == 0);
        return zkvm_bls12_g1_msm(IN(zkvm_bls12_381_g1_msm_pair, 0), size / sizeof(zkvm_bls12_381_g1_msm_pair),
                                 OUT(zkvm_bls12_381_g1_point));
    case 13:
        require(size == 384);
        return zkvm_bls12_g2_add(IN(zkvm_bls12_381_g2_point, 0), IN(zkvm_bls12_381_g2_point, 192), OUT(zkvm_bls12_381_g2_point));
    case 14:
        require(size % sizeof(zkvm_bls12_381_g2_msm_pair) == 0);
        return zkvm_bls12_g2_msm(IN(zkvm_bls12_381_g2_msm_pair, 0), size / sizeof(zkvm_bls12_381_g2_msm_pair),
                                 OUT(zkvm_bls12_381_g2_point));
    case 15:
        require(size % sizeof(zkvm_bls12_381_pairing_pair) == 0);
        return zkvm_bls12_pairing(IN(zkvm_bls12_381_pairing_pair, 0), size / sizeof(zkvm_bls12_381_pairing_pair), verdict);
    case 16:
        require(size == 48);
        return zkvm_bls12_map_fp_to_g1(IN(zkvm_bls12_381_fp, 0), OUT(zkvm_bls12_381_g1_point));
    case 17:
        require(size == 96);
        return zkvm_bls12_map_fp2_to_g2(IN(zkvm_bls12_381_fp2, 0), OUT(zkvm_bls12_381_g2_point));
    default:
        require(function == 18 && size == 160);
        return zkvm_secp256r1_verify(IN(zkvm_secp256r1_hash, 0), IN(zkvm_secp256r1_signature, 32), IN(zkvm_secp256r1_pubkey, 96),
                                     verdict);
    }
}

static void print(const char *text)
{
    size_t size = 0;

    while (text[size])
        size++;
    write_output((const uint8_t *)text, size);
}

static void print_number(const char *name, uint32_t number)
{
    char digits[12], *first = digits + sizeof digits - 1;

    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    print(name);
    print(" ");
    print(first);
    print("\n");
}

static void print_digest(const uint8_t digest[32])
{
    char text[65];

    for (size_t i = 0; i < 64; i++)
        text[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    text[64] = 0;
    print("digest ");
    print(text);
    print("\n");
}

/* Digest of the digest so far and an outcome: function, status (1 for a failure), size of the result, result. */
static void update(zkvm_keccak256_hash *digest, uint32_t function, uint32_t status, const uint8_t *result, uint32_t size)
{
    static uint8_t outcome[32 + 12 + LARGEST];
    const uint32_t words[3] = {function, status, size};

    memcpy(outcome, digest, 32);
    memcpy(outcome + 32, words, 12);
    memcpy(outcome + 44, result, size);
    zkvm_keccak256(outcome, 44 + size, digest);
}

int main(void)
{
    static _Alignas(8) uint8_t result[LARGEST];
    static uint32_t counts[FUNCTIONS], failed[LISTED];
    zkvm_keccak256_hash digest = {{0}};
    uint32_t cases = 0, failures = 0;
    const uint8_t *place;
    size_t left;

    for (read_input(&place, &left); left; cases++) {
        header head;
        require(left >= sizeof head);
        memcpy(&head, place, sizeof head);
        size_t padded = ((size_t)head.input_size + 7) & ~7ul, whole = sizeof head + padded + (((size_t)head.expected_size + 7) & ~7ul);
        require(head.function < FUNCTIONS && whole <= left);

        size_t made;
        uint32_t status = call(head.function, place + sizeof head, head.input_size, result, &made) != ZKVM_EOK;
        if (status)
            made = 0;
        const uint8_t *expected = place + sizeof head + padded;
        if (status != head.status || made != head.expected_size || memcmp(result, expected, made)) {
            if (failures < LISTED)
                failed[failures] = cases;
            failures++;
        }
        update(&digest, head.function, status, result, (uint32_t)made);
        counts[head.function]++;
        place += whole;
        left -= whole;
    }
    for (size_t i = 0; i < FUNCTIONS; i++)
        print_number(NAMES[i], counts[i]);
    print_number("cases", cases);
    print_number("failures", failures);
    for (size_t i = 0; i < failures && i < LISTED; i++)
        print_number("failed", failed[i]);
    print_digest(digest.data);
    return failures != 0;
}
