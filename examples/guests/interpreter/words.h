/* The text, word by word. */
#ifndef WORDS_H
#define WORDS_H

#include "values.h"

/* What a word is: one of these, or a character. From LET on they are in the order of WORDS. */
enum {
    END = 128, NUMBER, STRING, NAME, EQUALS, DIFFERS, UP_TO, FROM,
    LET, FUN, IF, ELSE, WHILE, FOR, IN, BREAK, RETURNS, IS_NIL, IS_TRUE, IS_FALSE, AND_WORD, OR_WORD, NOT_WORD,
};

typedef struct {
    int kind;
    Slice text;
    int line;
} Token;

extern Token token, before; /* the word that comes, and the last one that was taken */

void begin(Slice text);
void advance(void);
/* Whether the word that comes is of a kind; then it is taken. */
int accept(int kind);
/* Take a word of a kind, or fail. */
void expect(int kind, const char *what);

#endif
