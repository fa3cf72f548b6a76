/* The check of a KZG proof (EIP-4844), on BLS12-381. */
#include "bls12_381.h"

#include "kzg_constants.h"

enum { COMPRESSED = 0x80, INFINITE = 0x40, LARGER = 0x20, FLAGS = 0xE0 };

/* Decode a point of G1 from x, with flags in its three highest bits: that it is compressed, if it is infinity, and if y is
   above -y. Return false if it is malformed, or there is none in the group. */
static bool decompress(affine *to, bool *infinite, const zkvm_bytes_48 *from)
{
    zkvm_bytes_48 x = *from;
    uint8_t flags = x.data[0] & FLAGS;
    fp2 square, root, other;

    x.data[0] &= (uint8_t)~FLAGS;
    to->x = to->y = FP2_ZERO;
    if (!fp_decode(&to->x.a, x.data))
        return false;
    *infinite = flags == (COMPRESSED | INFINITE);
    if (*infinite)
        return fp2_is_zero(&to->x);
    if ((flags & ~LARGER) != COMPRESSED)
        return false;
    fp2_square(&square, &to->x);
    fp2_multiply_add(&square, &square, &to->x, &FIRST_B);
    root = square;
    fp2_raise(&root, ROOT_EXPONENT, sizeof ROOT_EXPONENT);
    fp2_square(&other, &root);
    if (!fp2_equal(&other, &square))
        return false;
    fp2_negate(&other, &root);
    to->y = fp_below(&root.a, &other.a) == !(flags & LARGER) ? root : other;
    return __zkvm_bls12_is_member(&__zkvm_bls12_g1, to);
}

/* Write if e(C - y G + z P, -H) e(P, tau H) = 1, which is e(C - y G, -H) e(P, tau H - z H) with both points of G2 constant.
   Return false if an argument is malformed. */
static bool check(const zkvm_kzg_commitment *commitment, const zkvm_kzg_field_element *z,
                  const zkvm_kzg_field_element *y, const zkvm_kzg_proof *proof, bool *holds)
{
    couple couples[2] = {{.second = MINUS_SECOND_GENERATOR}, {.second = TAU}};
    term terms[3]; /* of the first sum, without those at infinity */
    size_t count = 0;
    affine point;
    bool infinite;
    jacobian sum;
    number factor = decoded(y->data);

    if (!decompress(&point, &infinite, commitment))
        return false;
    if (!infinite)
        terms[count++] = (term){point, ONE};
    if (!decompress(&couples[1].first, &couples[1].infinite, proof))
        return false;
    if (!below(&factor, &ORDER))
        return false;
    multiply(&factor, &factor, &MINUS_ONE_FACTOR, &ORDER);
    terms[count++] = (term){GENERATOR, factor};
    factor = decoded(z->data);
    if (!below(&factor, &ORDER))
        return false;
    if (!couples[1].infinite)
        terms[count++] = (term){couples[1].first, factor};
    __zkvm_bls12_sum(&__zkvm_bls12_g1, &sum, terms, count);
    couples[0].infinite = fp2_is_zero(&sum.z);
    if (!couples[0].infinite)
        __zkvm_bls12_normalize(&couples[0].first, &sum, 1);
    return __zkvm_bls12_product_is_one(couples, 2, holds);
}

zkvm_status zkvm_kzg_point_eval(const zkvm_kzg_commitment *commitment, const zkvm_kzg_field_element *z,
                                const zkvm_kzg_field_element *y, const zkvm_kzg_proof *proof, bool *verified)
{
    size_t mark = __zkvm_scratch_mark();
    bool holds = false, valid;

    check_pointer(commitment);
    check_pointer(z);
    check_pointer(y);
    check_pointer(proof);
    check_pointer(verified);
    valid = check(commitment, z, y, proof, &holds);
    __zkvm_scratch_release(mark);
    *verified = holds;
    return valid ? ZKVM_EOK : ZKVM_EFAIL;
}
