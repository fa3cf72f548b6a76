/* The functions that are there from the start. */
#include "machine.h"

enum { MAX_SHOWN = 8 }; /* lists and maps around one another: one may be in itself */

static void print_value(Value value, int inside)
{
    char room[24];

    if (inside > MAX_SHOWN)
        put(slice("..."));
    else if (value.type == TEXT)
        put(characters(value));
    else if (value.type == INTEGER)
        put(digits(value.integer, room));
    else if (value.type == TRUTH)
        put(slice(value.integer ? "true" : "false"));
    else if (value.type == LIST) {
        put(slice("["));
        for (int i = 0; i < value.list->count; i++) {
            if (i)
                put(slice(", "));
            print_value(value.list->at[i], inside + 1);
        }
        put(slice("]"));
    } else if (value.type == MAP) {
        put(slice("{"));
        for (int i = 0; i < value.map->count; i++) {
            if (i)
                put(slice(", "));
            print_value(value.map->at[i].key, inside + 1);
            put(slice(": "));
            print_value(value.map->at[i].value, inside + 1);
        }
        put(slice("}"));
    } else
        put(slice(name_of(value)));
}

static Value print(const Value *arguments, int count)
{
    for (int i = 0; i < count; i++) {
        if (i)
            put(slice(" "));
        print_value(arguments[i], 0);
    }
    put(slice("\n"));
    return nil;
}

static void need(const char *what, Value value, Type type)
{
    if (value.type != type)
        fail(what, slice(name_of(value)));
}

static Value size(const Value *arguments, int count)
{
    int64_t found = size_of(arguments[0]);

    (void)count;
    if (found < 0)
        fail("no size has ", slice(name_of(arguments[0])));
    return integer(found);
}

static Value push(const Value *arguments, int count)
{
    (void)count;
    need("push needs a list, not ", arguments[0], LIST);
    append(arguments[0].list, arguments[1]);
    return nil;
}

static Value pop(const Value *arguments, int count)
{
    (void)count;
    need("pop needs a list, not ", arguments[0], LIST);
    if (!arguments[0].list->count)
        fail("pop of an empty list", slice(""));
    return arguments[0].list->at[--arguments[0].list->count];
}

/* The part of a text from a place up to another. */
static Value part(const Value *arguments, int count)
{
    (void)count;
    need("part needs a text, not ", arguments[0], TEXT);
    need("part needs an integer, not ", arguments[1], INTEGER);
    need("part needs an integer, not ", arguments[2], INTEGER);
    int64_t from = arguments[1].integer, to = arguments[2].integer;
    if (from < 0 || to < from || to > arguments[0].text->size)
        fail("part beyond a text", slice(""));
    return text_of((Slice){arguments[0].text->at + from, (size_t)(to - from)});
}

/* An integer in decimal digits. */
static Value text(const Value *arguments, int count)
{
    char room[24];

    (void)count;
    if (arguments[0].type == TEXT)
        return arguments[0];
    need("text needs an integer, not ", arguments[0], INTEGER);
    return text_of(digits(arguments[0].integer, room));
}

/* The number of a text's first character. */
static Value code(const Value *arguments, int count)
{
    (void)count;
    need("code needs a text, not ", arguments[0], TEXT);
    return arguments[0].text->size ? integer((uint8_t)arguments[0].text->at[0]) : nil;
}

static const BuiltIn BUILT_INS[] = {
    {"print", -1, print}, {"size", 1, size}, {"push", 2, push}, {"pop", 1, pop}, {"part", 3, part}, {"text", 1, text},
    {"code", 1, code},
};

void define_built_ins(Map *globals)
{
    for (size_t i = 0; i < COUNT(BUILT_INS); i++)
        set(globals, text_of(slice(BUILT_INS[i].name)), (Value){.type = BUILT_IN, .built_in = &BUILT_INS[i]});
}
