/* ECDSA on secp256k1: y^2 = x^3 + 7. */
#include "ecdsa.h"

static const group GROUP = {
    .p = {{0xFFFFFFFEFFFFFC2F, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF}},
    .n = {{0xBFD25E8CD0364141, 0xBAAEDCE6AF48A03B, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF}},
    .a = {{0}},
    .b = {{7}},
    .inverse = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0xBA,
        0xAE, 0xDC, 0xE6, 0xAF, 0x48, 0xA0, 0x3B, 0xBF, 0xD2, 0x5E, 0x8C, 0xD0, 0x36, 0x41, 0x3F},
};
static const uint8_t ROOT[32] = /* (p + 1) / 4: this power of a square is its square root */
    {0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
     0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBF, 0xFF, 0xFF, 0x0C};
static const number BETA = {{0xC1396C28719501EE, 0x9CF0497512F58995, 0x6E64479EAC3434E9, 0x7AE96A2B657C0710}};
static const endomorphism MAP = {
    .n = {{0xBFD25E8CD0364141, 0xBAAEDCE6AF48A03B, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF}},
    .g1 = {{0x3DAA8A1471E8CA80, 0xE86C90E49284EB15, 0x3086D221A7D46BCD, 0x0000000000000000}},
    .g2 = {{0x221208AC9DF506C6, 0x6F547FA90ABFE4C4, 0xE4437ED6010E8828, 0x0000000000000000}},
    .b1 = {{0x6F547FA90ABFE4C3, 0xE4437ED6010E8828, 0x0000000000000000, 0x0000000000000000}},
    .b2 = {{0xD765CDA83DB1562C, 0x8A280AC50774346D, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF}},
    .o2 = {{0x57C1108D9D44CFD8, 0x14CA50F7A8E2F3F6, 0x0000000000000001, 0x0000000000000000}},
    .minus_lambda = {{0xE0CFC810B51283CF, 0xA880B9FC8EC739C2, 0x5AD9E3FD77ED9BA4, 0xAC9C52B33FA3CF1F}},
};
static const point GENERATOR[4] = { /* infinity, G, lambda G, their sum */
    {{{0}}, {{0}}},
    {{{0x59F2815B16F81798, 0x029BFCDB2DCE28D9, 0x55A06295CE870B07, 0x79BE667EF9DCBBAC}},
     {{0x9C47D08FFB10D4B8, 0xFD17B448A6855419, 0x5DA4FBFC0E1108A8, 0x483ADA7726A3C465}}},
    {{{0xA7BBA04400B88FCB, 0x872844067F15E98D, 0xAB0102B696902325, 0xBCACE2E99DA01887}},
     {{0x9C47D08FFB10D4B8, 0xFD17B448A6855419, 0x5DA4FBFC0E1108A8, 0x483ADA7726A3C465}}},
    {{{0xFE51DE5EE84F50FB, 0x763BBF1E531BED98, 0xFF5E9AB39AE8D1D3, 0xC994B69768832BCB}},
     {{0x63B82F6F04EF2777, 0x02E84BB7597AABE6, 0xA25B0403F1EEF757, 0xB7C52588D95C3B9A}}},
};

/* Return u G + v Q. */
static point combined(const number *u, const number *v, const point *q)
{
    point table[16]; /* places: 1 for G, 2 for lambda G, 4 for Q, 8 for lambda Q */
    number scalars[4];
    uint64_t digits[9];

    for (int i = 0; i < 4; i++)
        table[i] = GENERATOR[i];
    table[4] = table[8] = *q;
    multiply(&table[8].x, &q->x, &BETA, &GROUP.p);
    /* 1 + lambda + lambda^2 = 0, so the sum of Q and lambda Q is -lambda^2 Q. */
    multiply(&table[12].x, &table[8].x, &BETA, &GROUP.p);
    subtract(&table[12].y, &GROUP.p, &q->y, 0);
    complete(SECP256K1, table);
    split(&MAP, u, &scalars[0], &scalars[1]);
    split(&MAP, v, &scalars[2], &scalars[3]);
    uint64_t *next = digits;
    *next = 0;
    for (int i = 0; i < 4; i++)
        *next |= scalars[i].words[2] << (60 + i); /* of 129 bits the first */
    for (int word = 1; word >= 0; word--)
        for (int shift = 48; shift >= 0; shift -= 16) {
            uint64_t joined = 0;
            for (int i = 3; i >= 0; i--)
                joined = joined << 1 | spread_bits(scalars[i].words[word] >> shift & 0xFFFF);
            *++next = joined;
        }
    return sum_of_chosen(SECP256K1, table, digits, 9, 1, 1);
}

zkvm_status zkvm_secp256k1_verify(const zkvm_secp256k1_hash *msg, const zkvm_secp256k1_signature *sig,
                                  const zkvm_secp256k1_pubkey *pubkey, bool *verified)
{
    check_pointer(msg);
    check_pointer(sig);
    check_pointer(pubkey);
    check_pointer(verified);
    *verified = verify(&GROUP, combined, msg->data, sig->data, pubkey->data);
    return ZKVM_EOK;
}

/* Find the point of the curve with this x, and with an even y or an odd one. */
static bool decompress(point *at, const number *x, uint64_t odd)
{
    number square, check;

    multiply(&square, x, x, &GROUP.p);
    multiply_add(&square, &square, x, &GROUP.b, &GROUP.p);
    at->x = *x;
    at->y = square;
    __zkvm_raise(&at->y, ROOT, sizeof ROOT, &GROUP.p);
    multiply(&check, &at->y, &at->y, &GROUP.p);
    if (!equal(&check, &square))
        return false;
    if ((at->y.words[0] & 1) != odd)
        subtract(&at->y, &GROUP.p, &at->y, 0);
    return true;
}

static bool recover(point *key, const uint8_t *message, const uint8_t *signature, uint8_t recid)
{
    number z = decoded(message), r = decoded(signature), s = decoded(signature + 32), x = r, minus_one, u, v;
    point at;

    if (recid > 3 || !in_range(&r, &GROUP.n) || !in_range(&s, &GROUP.n))
        return false;
    if (recid & 2 && (add(&x, &r, &GROUP.n, 0) || !below(&x, &GROUP.p)))
        return false;
    if (!decompress(&at, &x, recid & 1))
        return false;
    __zkvm_raise(&r, GROUP.inverse, sizeof GROUP.inverse, &GROUP.n);
    subtract(&minus_one, &GROUP.n, &ONE, 0);
    multiply(&v, &s, &r, &GROUP.n);
    multiply(&r, &r, &minus_one, &GROUP.n);
    multiply(&u, &z, &r, &GROUP.n);
    *key = combined(&u, &v, &at);
    return !is_infinity(key);
}

zkvm_status zkvm_secp256k1_ecrecover(const zkvm_secp256k1_hash *msg, const zkvm_secp256k1_signature *sig, uint8_t recid,
                                     zkvm_secp256k1_pubkey *output)
{
    point key;

    check_pointer(msg);
    check_pointer(sig);
    check_pointer(output);
    if (!recover(&key, msg->data, sig->data, recid))
        return ZKVM_EFAIL;
    encode(output->data, &key.x);
    encode(output->data + 32, &key.y);
    return ZKVM_EOK;
}
