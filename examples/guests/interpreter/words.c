/* The text, word by word. */
#include "words.h"

static const char *const WORDS[] = {
    "let", "fun", "if", "else", "while", "for", "in", "break", "return", "nil", "true", "false", "and", "or", "not",
};

static const char *next, *end;
static int reached; /* the line of `next` */
Token token, before;

static int is_letter(int c)
{
    return (unsigned)(c | 0x20) - 'a' < 26 || c == '_';
}

static int is_digit(int c)
{
    return (unsigned)c - '0' < 10;
}

static void skip_space(void)
{
    for (; next < end && (*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r' || *next == '#'); next++) {
        if (*next == '#')
            while (next + 1 < end && next[1] != '\n')
                next++;
        reached += *next == '\n';
    }
}

static int word_kind(Slice word)
{
    for (size_t i = 0; i < COUNT(WORDS); i++)
        if (strlen(WORDS[i]) == word.size && !memcmp(WORDS[i], word.at, word.size))
            return LET + (int)i;
    return NAME;
}

static void read_string(void)
{
    while (next < end && *next != '"' && *next != '\n')
        next += 1 + (*next == '\\' && next + 1 < end);
    if (next == end || *next++ != '"')
        fail("a text does not end", slice(""));
}

void advance(void)
{
    static const char compared[] = "=!<>";

    before = token;
    skip_space();
    const char *start = next;
    line = token.line = reached; /* a text may have no end */
    if (next == end)
        token.kind = END;
    else if (is_digit(*next)) {
        while (next < end && is_digit(*next))
            next++;
        token.kind = NUMBER;
    } else if (is_letter(*next)) {
        while (next < end && (is_letter(*next) || is_digit(*next)))
            next++;
        token.kind = word_kind((Slice){start, (size_t)(next - start)});
    } else {
        token.kind = (uint8_t)*next < 128 ? *next : 0;
        next++;
        if (token.kind == '"') {
            read_string();
            token.kind = STRING;
        }
        for (int i = 0; i < 4; i++)
            if (*start == compared[i] && next < end && *next == '=') {
                next++;
                token.kind = EQUALS + i;
            }
    }
    token.text = next == start ? slice("the end") : (Slice){start, (size_t)(next - start)};
    line = before.line;
}

int accept(int kind)
{
    if (token.kind != kind)
        return 0;
    advance();
    return 1;
}

void expect(int kind, const char *what)
{
    if (token.kind != kind) {
        line = token.line;
        fail(what, token.text);
    }
    advance();
}

void begin(Slice text)
{
    next = text.at;
    end = next + text.size;
    reached = 1;
    advance();
}
