// The guest of conformance.c in C++: the calls are templates over the functions' own types.
// Exit code 1: a case failed. An input that is no batch of cases is a fault. Only the standards' headers are used.
#include "zkvm_accelerators.h"
#include "zkvm_io.h"

extern "C" void *memcpy(void *to, const void *from, size_t size);
extern "C" int memcmp(const void *left, const void *right, size_t size);

namespace {

constexpr size_t LISTED = 16, LARGEST = 4096;

void require(bool held)
{
    if (!held)
        __builtin_trap();
}

// The arguments of a call, which it takes from the front, and the room for its result.
class Call {
public:
    Call(const uint8_t *input, size_t size) : input(input), left(size) {}

    const uint8_t *bytes(size_t size)
    {
        require(size <= left);
        const uint8_t *start = input;
        input += size;
        left -= size;
        return start;
    }

    uint32_t word()
    {
        const uint8_t *b = bytes(4);
        return b[0] | uint32_t(b[1]) << 8 | uint32_t(b[2]) << 16 | uint32_t(b[3]) << 24;
    }

    // The input's structures are aligned to 8 bytes.
    template <class T> const T *structure() { return reinterpret_cast<const T *>(bytes(sizeof(T))); }
    size_t rest() const { return left; }

    uint8_t *room(size_t size)
    {
        require(size <= LARGEST);
        made = size;
        return result;
    }

    template <class T> T *room() { return reinterpret_cast<T *>(room(sizeof(T))); }

    alignas(8) inline static uint8_t result[LARGEST];
    size_t made = 0;

private:
    const uint8_t *input;
    size_t left;
};

// How a call takes an argument of a type: a structure or a number of the input, or the room for the result.
template <class T> struct Argument;

template <class T> struct Argument<const T *> {
    static const T *of(Call &call) { return call.structure<T>(); }
};

template <class T> struct Argument<T *> {
    static T *of(Call &call) { return call.room<T>(); }
};

template <> struct Argument<uint8_t> {
    static uint8_t of(Call &call) { return *call.bytes(1); }
};

// Braces evaluate the arguments from left to right.
template <class... T> struct Applied {
    Applied(zkvm_status (*function)(T...), T... arguments) : status(function(arguments...)) {}
    zkvm_status status;
};

template <class... T> zkvm_status apply(zkvm_status (*function)(T...), Call &call)
{
    return Applied<T...>{function, Argument<T>::of(call)...}.status;
}

template <class Item, class Result>
zkvm_status apply(zkvm_status (*function)(const Item *, size_t, Result *), Call &call)
{
    size_t count = call.rest() / sizeof(Item);
    auto items = reinterpret_cast<const Item *>(call.bytes(count * sizeof(Item)));
    return function(items, count, call.room<Result>());
}

zkvm_status modexp(Call &call)
{
    size_t base_size = call.word(), exponent_size = call.word(), modulus_size = call.word();
    const uint8_t *base = call.bytes(base_size), *exponent = call.bytes(exponent_size), *modulus = call.bytes(modulus_size);
    return zkvm_modexp(base, base_size, exponent, exponent_size, modulus, modulus_size, call.room(modulus_size));
}

zkvm_status blake2f(Call &call)
{
    auto state = call.room<zkvm_blake2f_state>();
    *state = *call.structure<zkvm_blake2f_state>();
    auto message = call.structure<zkvm_blake2f_message>();
    auto offset = call.structure<zkvm_blake2f_offset>();
    uint32_t rounds = call.word();
    return zkvm_blake2f(rounds, state, message, offset, *call.bytes(1));
}

template <auto function> zkvm_status called(Call &call)
{
    return apply(function, call);
}

struct Function {
    const char *name;
    zkvm_status (*call)(Call &);
};

constexpr Function FUNCTIONS[] = {
    {"keccak256", called<zkvm_keccak256>},
    {"secp256k1_verify", called<zkvm_secp256k1_verify>},
    {"secp256k1_ecrecover", called<zkvm_secp256k1_ecrecover>},
    {"sha256", called<zkvm_sha256>},
    {"ripemd160", called<zkvm_ripemd160>},
    {"modexp", modexp},
    {"bn254_g1_add", called<zkvm_bn254_g1_add>},
    {"bn254_g1_mul", called<zkvm_bn254_g1_mul>},
    {"bn254_pairing", called<zkvm_bn254_pairing>},
    {"blake2f", blake2f},
    {"kzg_point_eval", called<zkvm_kzg_point_eval>},
    {"bls12_g1_add", called<zkvm_bls12_g1_add>},
    {"bls12_g1_msm", called<zkvm_bls12_g1_msm>},
    {"bls12_g2_add", called<zkvm_bls12_g2_add>},
    {"bls12_g2_msm", called<zkvm_bls12_g2_msm>},
    {"bls12_pairing", called<zkvm_bls12_pairing>},
    {"bls12_map_fp_to_g1", called<zkvm_bls12_map_fp_to_g1>},
    {"bls12_map_fp2_to_g2", called<zkvm_bls12_map_fp2_to_g2>},
    {"secp256r1_verify", called<zkvm_secp256r1_verify>},
};
constexpr size_t FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS;

void print(const char *text)
{
    size_t size = 0;

    while (text[size])
        size++;
    write_output(reinterpret_cast<const uint8_t *>(text), size);
}

void print(const char *name, uint32_t number)
{
    char digits[12], *first = digits + sizeof digits - 1;

    *first = 0;
    do
        *--first = char('0' + number % 10);
    while (number /= 10);
    const char *const texts[] = {name, " ", first, "\n"};
    for (const char *text : texts)
        print(text);
}

class Report {
public:
    void add(uint32_t function, bool refused, const uint8_t *result, size_t size, bool held)
    {
        counts[function]++;
        if (!held && failures++ < LISTED)
            failed[failures - 1] = cases;
        cases++;
        const uint32_t words[3] = {function, refused, uint32_t(size)};
        memcpy(outcome, digest.data, 32);
        memcpy(outcome + 32, words, 12);
        memcpy(outcome + 44, result, size);
        zkvm_keccak256(outcome, 44 + size, &digest);
    }

    int write() const
    {
        for (size_t i = 0; i < FUNCTION_COUNT; i++)
            print(FUNCTIONS[i].name, counts[i]);
        print("cases", cases);
        print("failures", failures);
        for (size_t i = 0; i < failures && i < LISTED; i++)
            print("failed", failed[i]);
        char text[66] = {};
        for (size_t i = 0; i < 64; i++)
            text[i] = "0123456789abcdef"[digest.data[i / 2] >> (i % 2 ? 0 : 4) & 15];
        text[64] = '\n';
        print("digest ");
        print(text);
        return failures != 0;
    }

private:
    uint32_t counts[FUNCTION_COUNT] = {}, failed[LISTED] = {}, cases = 0, failures = 0;
    zkvm_keccak256_hash digest = {};
    uint8_t outcome[44 + LARGEST] = {};
};

Report report;

size_t padded(size_t size)
{
    return (size + 7) & ~size_t(7);
}

} // namespace

int main()
{
    const uint8_t *place;
    size_t left;

    for (read_input(&place, &left); left;) {
        struct {
            uint32_t function, refused, input_size, expected_size;
        } head;
        require(left >= sizeof head);
        memcpy(&head, place, sizeof head);
        size_t whole = sizeof head + padded(head.input_size) + padded(head.expected_size);
        require(head.function < FUNCTION_COUNT && whole <= left);

        const uint8_t *input = place + sizeof head, *expected = input + padded(head.input_size);
        Call call(input, head.input_size);
        bool refused = FUNCTIONS[head.function].call(call) != ZKVM_EOK;
        require(call.rest() == 0);
        size_t made = refused ? 0 : call.made;
        bool held = refused == (head.refused != 0) && made == head.expected_size && !memcmp(Call::result, expected, made);
        report.add(head.function, refused, Call::result, made, held);
        place += whole;
        left -= whole;
    }
    return report.write();
}
