/* What all parts of the interpreter share: values, and the functions that they may be. */
#ifndef VALUES_H
#define VALUES_H

#include "zkvm.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef enum { NIL, TRUTH, INTEGER, TEXT, LIST, MAP, FUNCTION, BUILT_IN, CODE } Type;

typedef struct {
    Type type;
    union { /* all of 8 bytes, so that `integer` tells any two apart */
        int64_t integer;
        struct Text *text;
        struct List *list;
        struct Map *map;
        struct Closure *closure;
        const struct BuiltIn *built_in;
        const struct Function *code; /* of a closure yet to be made */
    };
} Value;

typedef struct Text { /* there is one of the same characters */
    uint32_t hash;
    uint32_t size;
    char at[];
} Text;

typedef struct List {
    int count, room;
    Value *at;
} List;

typedef struct {
    Value key, value;
} Entry;

typedef struct Map {
    int count, room;
    Entry *at;       /* in order of insertion */
    uint32_t *slots; /* twice as many as there is room, a power of two: 1 + the number of an entry, or 0 */
} Map;

typedef struct {
    const char *at;
    size_t size;
} Slice;

typedef enum {
    CONSTANT, PUT_NIL, PUT_TRUTH, DROP, LEAVE, NEW_LIST, APPEND, NEW_MAP, ENTER, DEFINE,
    LOCAL, SET_LOCAL, CAPTURED, SET_CAPTURED, GLOBAL, SET_GLOBAL, ITEM, SET_ITEM, /* to set comes behind to get */
    ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, LESS, AT_MOST, MORE, AT_LEAST, /* order comes behind arithmetic */
    NEGATE, NOT, EQUAL, UNEQUAL, JUMP, IF_NOT, AND, OR, NEXT, CLOSE, CALL, RETURN_CALL, RETURN,
} Operation;

typedef struct {
    int is_local; /* of the function around, or captured by it */
    int number;
} Source;

typedef struct Function {
    int parameters;
    int count, room; /* of both: */
    uint32_t *code;  /* words: operation, and above its 8 bits a number */
    int *lines, room_of_lines;
    List constants;
    Source *captures;
    int captured, room_of_captures;
} Function;

typedef struct Variable { /* of a function around; in its stack while that function runs */
    Value *at;
    Value own;
    struct Variable *below;
} Variable;

typedef struct Closure {
    const Function *function;
    Variable *captured[];
} Closure;

typedef struct BuiltIn {
    const char *name;
    int parameters; /* -1: any number */
    Value (*call)(const Value *arguments, int count);
} BuiltIn;

static const Value nil = {.type = NIL};

static inline Value truth(int is)
{
    return (Value){.type = TRUTH, .integer = is != 0};
}

static inline Value integer(int64_t number)
{
    return (Value){.type = INTEGER, .integer = number};
}

static inline int is_true(Value value)
{
    return value.type != NIL && (value.type != TRUTH || value.integer);
}

static inline int same(Value a, Value b)
{
    return a.type == b.type && a.integer == b.integer;
}

extern int line; /* of the word last read, or of what runs: `fail` says it */

/* Slices last as long as what they are of. */
Slice slice(const char *text);
Slice characters(Value text);

void put(Slice text);
Slice digits(int64_t number, char room[24]);
_Noreturn void fail(const char *what, Slice detail);
const char *name_of(Value value);

/* An array with room for one element more. */
void *grown(void *array, int count, int *room, size_t size);

Value text_of(Slice text);
/* The text that begins with one and ends with the other. */
Value join(Slice left, Slice right);

Value new_list(void);
void append(List *list, Value value);

Value new_map(void);
/* What a map has for a key; NULL where it has not. */
Value *find(const Map *map, Value key);
void set(Map *map, Value key, Value value);

/* Of a text, a list or a map; -1 for what has no size. */
int64_t size_of(Value value);

#endif
