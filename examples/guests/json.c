/* Reads a JSON text (RFC 8259) and counts what is in it; exit code 1 for anything else, or deeper than 256.
 *
 * Output: seven 64-bit words: objects, arrays, strings (names too), numbers, literals, depth, and the sum, modulo 2^64,
 * of the numbers that are written as integers.
 */
#include "zkvm.h"

enum { OBJECTS, ARRAYS, STRINGS, NUMBERS, LITERALS, DEPTH, SUM, WORDS, MAX_DEPTH = 256, INVALID = 1 };

static uint64_t found[WORDS];
static const uint8_t *at, *end;

static int next(void)
{
    return at < end ? *at : -1;
}

static void expect(int byte)
{
    if (next() != byte)
        exit(INVALID);
    at++;
}

static void skip_space(void)
{
    while (next() == ' ' || next() == '\n' || next() == '\r' || next() == '\t')
        at++;
}

static int is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

static uint64_t digits(void)
{
    uint64_t value = 0;

    if (!is_digit(next()))
        exit(INVALID);
    for (; is_digit(next()); at++)
        value = 10 * value + (uint64_t)(*at - '0');
    return value;
}

static void hexadecimal(void)
{
    for (int i = 0; i < 4; i++, at++)
        if (!is_digit(next()) && !((next() | 0x20) >= 'a' && (next() | 0x20) <= 'f'))
            exit(INVALID);
}

static void string(void)
{
    found[STRINGS]++;
    expect('"');
    while (next() != '"') {
        if (next() < 0x20)
            exit(INVALID);
        if (*at++ != '\\')
            continue;
        switch (next()) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            at++;
            break;
        case 'u':
            at++;
            hexadecimal();
            break;
        default:
            exit(INVALID);
        }
    }
    at++;
}

static void number(void)
{
    int negative = next() == '-', integer = 1;
    uint64_t value = 0;

    found[NUMBERS]++;
    at += negative;
    if (next() == '0')
        at++;
    else
        value = digits();
    if (next() == '.') {
        at++;
        digits();
        integer = 0;
    }
    if ((next() | 0x20) == 'e') {
        at++;
        if (next() == '+' || next() == '-')
            at++;
        digits();
        integer = 0;
    }
    if (integer)
        found[SUM] += negative ? -value : value;
}

static void literal(const char *text)
{
    found[LITERALS]++;
    for (; *text; text++)
        expect(*text);
}

static void value(uint64_t depth)
{
    skip_space();
    int open = next(), close = open == '{' ? '}' : ']';

    if (open == '{' || open == '[') {
        if (++depth > MAX_DEPTH)
            exit(INVALID);
        if (depth > found[DEPTH])
            found[DEPTH] = depth;
        found[open == '{' ? OBJECTS : ARRAYS]++;
        at++;
        skip_space();
        if (next() != close)
            for (;; at++) {
                if (open == '{') {
                    skip_space();
                    string();
                    skip_space();
                    expect(':');
                }
                value(depth);
                skip_space();
                if (next() != ',')
                    break;
            }
        expect(close);
    } else if (open == '"')
        string();
    else if (open == 't')
        literal("true");
    else if (open == 'f')
        literal("false");
    else if (open == 'n')
        literal("null");
    else
        number();
}

int main(void)
{
    size_t size;

    read_input(&at, &size);
    end = at + size;
    value(0);
    skip_space();
    if (at != end)
        return INVALID;
    write_output((const uint8_t *)found, sizeof found);
    return 0;
}
