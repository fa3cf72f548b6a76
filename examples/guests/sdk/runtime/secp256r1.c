/* ECDSA on secp256r1, which is P-256: y^2 = x^3 - 3 x + b. */
#include "ecdsa.h"

static const group GROUP = {
    .p = {{0xFFFFFFFFFFFFFFFF, 0x00000000FFFFFFFF, 0x0000000000000000, 0xFFFFFFFF00000001}},
    .n = {{0xF3B9CAC2FC632551, 0xBCE6FAADA7179E84, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF00000000}},
    .a = {{0xFFFFFFFFFFFFFFFC, 0x00000000FFFFFFFF, 0x0000000000000000, 0xFFFFFFFF00000001}},
    .b = {{0x3BCE3C3E27D2604B, 0x651D06B0CC53B0F6, 0xB3EBBD55769886BC, 0x5AC635D8AA3A93E7}},
    .inverse = {0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC,
        0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x4F},
};
static const point GENERATOR[4] = { /* infinity, G, 2 G, 3 G */
    {{{0}}, {{0}}},
    {{{0xF4A13945D898C296, 0x77037D812DEB33A0, 0xF8BCE6E563A440F2, 0x6B17D1F2E12C4247}},
     {{0xCBB6406837BF51F5, 0x2BCE33576B315ECE, 0x8EE7EB4A7C0F9E16, 0x4FE342E2FE1A7F9B}}},
    {{{0xA60B48FC47669978, 0xC08969E277F21B35, 0x8A52380304B51AC3, 0x7CF27B188D034F7E}},
     {{0x9E04B79D227873D1, 0xBA7DADE63CE98229, 0x293D9AC69F7430DB, 0x07775510DB8ED040}}},
    {{{0xFB41661BC6E7FD6C, 0xE6C6B721EFADA985, 0xC8F7EF951D4BF165, 0x5ECBE4D1A6330A44}},
     {{0x9A79B127A27D5032, 0xD82AB036384FB83D, 0x374B06CE1A64A2EC, 0x8734640C4998FF7E}}},
};

/* Return u G + v Q. */
static point combined(const number *u, const number *v, const point *q)
{
    point table[16]; /* places: i + 4 j for i G + j Q */
    uint64_t digits[8];

    for (int i = 0; i < 4; i++)
        table[i] = GENERATOR[i];
    table[4] = table[8] = *q;
    point_double(SECP256R1, &table[8]);
    table[12] = table[8];
    point_add(SECP256R1, &table[12], q);
    complete(SECP256R1, table);
    join_pairs(digits, u->words, v->words, 4);
    return sum_of_chosen(SECP256R1, table, digits, 8, 16, 2);
}

zkvm_status zkvm_secp256r1_verify(const zkvm_secp256r1_hash *msg, const zkvm_secp256r1_signature *sig,
                                  const zkvm_secp256r1_pubkey *pubkey, bool *verified)
{
    check_pointer(msg);
    check_pointer(sig);
    check_pointer(pubkey);
    check_pointer(verified);
    *verified = verify(&GROUP, combined, msg->data, sig->data, pubkey->data);
    return ZKVM_EOK;
}
