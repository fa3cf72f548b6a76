/* From the text to words of code, in one pass. */
#include "compile.h"
#include "words.h"

typedef struct Loop {
    struct Loop *outer;
    int locals;
    int breaks; /* the last jump to its end, whose number is the one before it; or 0 */
} Loop;

typedef struct Compiler {
    struct Compiler *outer;
    Function *function;
    Loop *loop;
    int blocks; /* around here; variables outside of all are global */
    int locals;
    Value names[MAX_LOCALS];
} Compiler;

static Compiler *here;
static int nested;   /* blocks and operands around here */
static int is_place; /* whether the last operand can be set */

static void value(void);
static void block(void);
static void statement(void);

static int emit(Operation operation, int64_t number)
{
    Function *function = here->function;

    if (number >> 24)
        fail("the program is too long", slice(""));
    function->lines = grown(function->lines, function->count, &function->room_of_lines, sizeof(int));
    function->code = grown(function->code, function->count, &function->room, sizeof(uint32_t));
    function->lines[function->count] = before.line;
    function->code[function->count] = operation | (uint32_t)number << 8;
    return function->count++;
}

/* Let a jump lead to what comes next. */
static void land(int jump)
{
    Function *function = here->function;

    function->code[jump] = (function->code[jump] & 255) | (uint32_t)function->count << 8;
}

static int constant(Value value)
{
    append(&here->function->constants, value);
    return here->function->constants.count - 1;
}

static void declare(Value name)
{
    if (here->locals == MAX_LOCALS)
        fail("too many variables in a function", slice(""));
    here->names[here->locals++] = name;
}

static Value name(void)
{
    expect(NAME, "expected a name instead of ");
    return text_of(before.text);
}

static int local(const Compiler *in, Value name)
{
    for (int i = in->locals - 1; i >= 0; i--)
        if (same(in->names[i], name))
            return i;
    return -1;
}

/* The number of what a function captures from those around it; -1 for what none of them has. */
static int capture(Compiler *in, Value name)
{
    if (!in->outer)
        return -1;
    int number = local(in->outer, name), is_local = number >= 0;
    if (!is_local && (number = capture(in->outer, name)) < 0)
        return -1;
    Function *function = in->function;
    for (int i = 0; i < function->captured; i++)
        if (function->captures[i].is_local == is_local && function->captures[i].number == number)
            return i;
    function->captures = grown(function->captures, function->captured, &function->room_of_captures, sizeof(Source));
    function->captures[function->captured] = (Source){is_local, number};
    return function->captured++;
}

static void variable(Value name)
{
    int number = local(here, name);

    if (number >= 0)
        emit(LOCAL, number);
    else if ((number = capture(here, name)) >= 0)
        emit(CAPTURED, number);
    else
        emit(GLOBAL, constant(name));
}

static void nest(void)
{
    if (++nested > MAX_NESTED)
        fail("nested too deeply", slice(""));
}

static void leave(int locals)
{
    if (here->locals > locals)
        emit(LEAVE, here->locals - locals);
    here->locals = locals;
}

static void function(void)
{
    Function made = {0};
    Compiler inner = {.outer = here, .function = &made, .blocks = 1, .locals = 1, .names = {nil}};

    here = &inner;
    expect('(', "expected ( instead of ");
    while (token.kind == NAME && made.parameters < MAX_ARGUMENTS) {
        declare(text_of(token.text));
        made.parameters++;
        advance();
        if (!accept(','))
            break;
    }
    expect(')', "expected ) instead of ");
    block();
    emit(PUT_NIL, 0);
    emit(RETURN, 0);
    here = inner.outer;
    Function *kept = memcpy(allocate(sizeof made), &made, sizeof made);
    emit(CLOSE, constant((Value){.type = CODE, .code = kept}));
}

static int64_t number(Slice digits)
{
    uint64_t found = 0;

    for (size_t i = 0; i < digits.size; i++) {
        uint64_t digit = (uint64_t)(digits.at[i] - '0');
        if (found > (INT64_MAX - digit) / 10)
            fail("an integer has more than 63 bits: ", digits);
        found = 10 * found + digit;
    }
    return (int64_t)found;
}

/* What a text in quotes stands for. */
static Value unquoted(Slice quoted)
{
    char *text = allocate(quoted.size), *to = text;

    for (size_t i = 1; i + 1 < quoted.size; i++) {
        int c = quoted.at[i];
        if (c == '\\') {
            c = quoted.at[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        *to++ = (char)c;
    }
    return text_of((Slice){text, (size_t)(to - text)});
}

static void map(void)
{
    emit(NEW_MAP, 0);
    while (token.kind != '}') {
        value();
        expect(':', "expected : instead of ");
        value();
        emit(ENTER, 0);
        if (!accept(','))
            break;
    }
    expect('}', "expected } instead of ");
}

static void list(void)
{
    emit(NEW_LIST, 0);
    while (token.kind != ']') {
        value();
        emit(APPEND, 0);
        if (!accept(','))
            break;
    }
    expect(']', "expected ] instead of ");
}

static void primary(void)
{
    int kind = token.kind;

    advance();
    is_place = kind == NAME;
    switch (kind) {
    case NAME:
        variable(text_of(before.text));
        return;
    case NUMBER:
        emit(CONSTANT, constant(integer(number(before.text))));
        return;
    case STRING:
        emit(CONSTANT, constant(unquoted(before.text)));
        return;
    case IS_NIL:
        emit(PUT_NIL, 0);
        return;
    case IS_TRUE:
    case IS_FALSE:
        emit(PUT_TRUTH, kind == IS_TRUE);
        return;
    case '(':
        value();
        expect(')', "expected ) instead of ");
        break;
    case '[':
        list();
        break;
    case '{':
        map();
        break;
    case FUN:
        function();
        break;
    default:
        fail("expected a value instead of ", before.text);
    }
    is_place = 0;
}

static void call(void)
{
    int count = 0;

    while (token.kind != ')') {
        if (++count > MAX_ARGUMENTS)
            fail("too many arguments", slice(""));
        value();
        if (!accept(','))
            break;
    }
    expect(')', "expected ) instead of ");
    emit(CALL, count);
    is_place = 0;
}

static void operand(void)
{
    nest();
    if (accept('-') || accept(NOT_WORD)) {
        Operation operation = before.kind == '-' ? NEGATE : NOT;
        operand();
        emit(operation, 0);
        is_place = 0;
    } else {
        primary();
        for (;;)
            if (accept('('))
                call();
            else if (accept('[')) {
                value();
                expect(']', "expected ] instead of ");
                emit(ITEM, 0);
                is_place = 1;
            } else if (accept('.')) {
                emit(CONSTANT, constant(name()));
                emit(ITEM, 0);
                is_place = 1;
            } else
                break;
    }
    nested--;
}

static const struct {
    int kind, level;
    Operation operation;
} OPERATORS[] = {
    {OR_WORD, 1, OR},    {AND_WORD, 2, AND}, {EQUALS, 3, EQUAL}, {DIFFERS, 3, UNEQUAL}, {'<', 3, LESS},
    {UP_TO, 3, AT_MOST}, {'>', 3, MORE},     {FROM, 3, AT_LEAST}, {'+', 4, ADD},        {'-', 4, SUBTRACT},
    {'*', 5, MULTIPLY},  {'/', 5, DIVIDE},   {'%', 5, REMAINDER},
};

/* The rest of a value whose first operand is there, as far as its operators bind closer than a level. */
static void rest(int level)
{
    for (;;) {
        size_t i = 0;
        while (i < COUNT(OPERATORS) && (OPERATORS[i].kind != token.kind || OPERATORS[i].level <= level))
            i++;
        if (i == COUNT(OPERATORS))
            return;
        advance();
        Operation operation = OPERATORS[i].operation;
        int decides = operation == AND || operation == OR, jump = decides ? emit(operation, 0) : 0;
        operand();
        rest(OPERATORS[i].level);
        if (decides)
            land(jump);
        else
            emit(operation, 0);
    }
}

static void value(void)
{
    operand();
    rest(0);
}

static void let(void)
{
    Value called = name();

    expect('=', "expected = instead of ");
    value();
    expect(';', "expected ; instead of ");
    if (here->blocks)
        declare(called);
    else
        emit(DEFINE, constant(called));
}

static void named_function(void)
{
    Value called = name();

    if (here->blocks)
        declare(called); /* before its code, so that it can call itself */
    function();
    if (!here->blocks)
        emit(DEFINE, constant(called));
}

static void condition(void)
{
    value();
    int skipped = emit(IF_NOT, 0);
    block();
    if (accept(ELSE)) {
        int done = emit(JUMP, 0);
        land(skipped);
        if (token.kind == IF)
            statement();
        else
            block();
        land(done);
    } else
        land(skipped);
}

/* The body of a loop, from where it begins anew to where it ends by itself. */
static void body(Loop *loop, int start, int done)
{
    int locals = loop->locals;

    here->loop = loop;
    block();
    leave(locals);
    emit(JUMP, start);
    land(done);
    for (int jump = loop->breaks; jump;) {
        int earlier = (int)(here->function->code[jump] >> 8);
        land(jump);
        jump = earlier;
    }
    here->loop = loop->outer;
}

static void while_loop(void)
{
    Loop loop = {here->loop, here->locals, 0};
    int start = here->function->count;

    value();
    body(&loop, start, emit(IF_NOT, 0));
}

static void for_loop(void)
{
    Value called = name();
    int locals = here->locals;

    expect(IN, "expected in instead of ");
    here->blocks++;
    value();
    declare(nil);
    emit(CONSTANT, constant(integer(0)));
    declare(nil);
    Loop loop = {here->loop, here->locals, 0};
    int start = emit(NEXT, locals), done = emit(JUMP, 0);
    declare(called);
    body(&loop, start, done);
    leave(locals);
    here->blocks--;
}

static void break_loop(void)
{
    Loop *loop = here->loop;

    if (!loop)
        fail("break outside of a loop", slice(""));
    if (here->locals > loop->locals)
        emit(LEAVE, here->locals - loop->locals);
    loop->breaks = emit(JUMP, loop->breaks);
    expect(';', "expected ; instead of ");
}

static void returned(void)
{
    if (!here->outer)
        fail("return outside of a function", slice(""));
    if (token.kind == ';')
        emit(PUT_NIL, 0);
    else
        value();
    expect(';', "expected ; instead of ");
    uint32_t *last = &here->function->code[here->function->count - 1];
    if ((*last & 255) == CALL)
        *last += RETURN_CALL - CALL;
    emit(RETURN, 0);
}

static void set_or_drop(void)
{
    operand();
    if (is_place && accept('=')) {
        uint32_t place = here->function->code[--here->function->count];
        value();
        emit((place & 255) + 1, place >> 8);
    } else {
        rest(0);
        emit(DROP, 0);
    }
    expect(';', "expected ; instead of ");
}

static void statement(void)
{
    nest();
    if (accept(LET))
        let();
    else if (accept(FUN))
        named_function();
    else if (accept(IF))
        condition();
    else if (accept(WHILE))
        while_loop();
    else if (accept(FOR))
        for_loop();
    else if (accept(BREAK))
        break_loop();
    else if (accept(RETURNS))
        returned();
    else
        set_or_drop();
    nested--;
}

static void block(void)
{
    int locals = here->locals;

    expect('{', "expected { instead of ");
    here->blocks++;
    while (token.kind != '}' && token.kind != END)
        statement();
    here->blocks--;
    expect('}', "expected } instead of ");
    leave(locals);
}

const Closure *compile(Slice text)
{
    static Function whole;
    Compiler outermost = {.function = &whole, .locals = 1, .names = {nil}};

    here = &outermost;
    begin(text);
    while (token.kind != END)
        statement();
    emit(PUT_NIL, 0);
    emit(RETURN, 0);
    Closure *closure = allocate(sizeof *closure);
    closure->function = &whole;
    return closure;
}
