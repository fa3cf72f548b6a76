/* The machine with a stack that runs words of code. */
#include "machine.h"
#include "compile.h"

enum { MAX_CALLS = 4000, STACK = 1 << 16 };
enum { STACK_OF_CALL = MAX_LOCALS + MAX_NESTED * (MAX_ARGUMENTS + 8) }; /* all that one call can put there */

typedef struct {
    const Closure *closure;
    const uint32_t *at; /* the word after the one that runs */
    Value *base;        /* the function, then its arguments and other variables */
} Frame;

static Value stack[STACK], *top = stack;
static Frame frames[MAX_CALLS], *frame = frames - 1;
static Map globals;
static Variable *open; /* those in the stack, from its top down */

/* Let what fails from now on say where the machine is. */
static void locate(void)
{
    const Function *function = frame->closure->function;

    line = function->lines[frame->at - function->code - 1];
}

/* Let captured variables at `from` and above live on without the stack. */
static void close_from(const Value *from)
{
    for (; open && open->at >= from; open = open->below) {
        open->own = *open->at;
        open->at = &open->own;
    }
}

static Variable *captured(Value *at)
{
    Variable **link = &open;

    while (*link && (*link)->at > at)
        link = &(*link)->below;
    if (*link && (*link)->at == at)
        return *link;
    Variable *made = allocate(sizeof *made);
    *made = (Variable){.at = at, .below = *link};
    return *link = made;
}

static Value closure_of(const Function *function)
{
    Closure *closure = allocate(sizeof *closure + (size_t)function->captured * sizeof *closure->captured);

    closure->function = function;
    for (int i = 0; i < function->captured; i++) {
        Source source = function->captures[i];
        closure->captured[i] =
            source.is_local ? captured(frame->base + source.number) : frame->closure->captured[source.number];
    }
    return (Value){.type = FUNCTION, .closure = closure};
}

static void enter(const Closure *closure, Value *base)
{
    if (frame == frames + MAX_CALLS - 1 || base + STACK_OF_CALL > stack + STACK)
        fail("calls are nested too deeply", slice(""));
    *++frame = (Frame){closure, closure->function->code, base};
}

/* Call what lies below so many arguments; instead of the caller where its value is what the caller returns. */
static void call_value(int count, int returned)
{
    Value *base = top - count - 1, called = *base;
    int parameters = called.type == FUNCTION ? called.closure->function->parameters : -1;

    locate();
    if (called.type == BUILT_IN)
        parameters = called.built_in->parameters;
    else if (called.type != FUNCTION)
        fail("no function to call but ", slice(name_of(called)));
    if (parameters >= 0 && parameters != count) {
        char room[24];
        fail("a wrong number of arguments: ", digits(count, room));
    }
    if (called.type == BUILT_IN) {
        *base = called.built_in->call(base + 1, count);
        top = base + 1;
        return;
    }
    if (returned) {
        close_from(frame->base);
        memmove(frame->base, base, (size_t)(count + 1) * sizeof *base);
        base = frame->base;
        top = base + count + 1;
        frame--;
    }
    enter(called.closure, base);
}

_Noreturn static void no_such(const char *operation, Value a, Value b)
{
    Slice second = characters(join(slice(" and "), slice(name_of(b))));

    locate();
    fail(operation, characters(join(slice(name_of(a)), second)));
}

static Value of_integers(Operation operation, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;

    if ((operation == DIVIDE || operation == REMAINDER) && !b) {
        locate();
        fail("division by zero", slice(""));
    }
    switch (operation) {
    case ADD:
        return integer((int64_t)(x + y));
    case SUBTRACT:
        return integer((int64_t)(x - y));
    case MULTIPLY:
        return integer((int64_t)(x * y));
    case DIVIDE:
        return integer(b == -1 ? (int64_t)-x : a / b - (a % b && (a ^ b) < 0));
    case REMAINDER:
        return integer(b == -1 ? 0 : a % b + (a % b && (a ^ b) < 0 ? b : 0));
    case LESS:
        return truth(a < b);
    case AT_MOST:
        return truth(a <= b);
    case MORE:
        return truth(a > b);
    default:
        return truth(a >= b);
    }
}

static Value of_lists(const List *a, const List *b)
{
    Value made = new_list();

    for (int i = 0; i < a->count; i++)
        append(made.list, a->at[i]);
    for (int i = 0; i < b->count; i++)
        append(made.list, b->at[i]);
    return made;
}

/* Less than, equal to or more than 0 as one text comes before another, is it, or comes after it. */
static int order(const Text *a, const Text *b)
{
    int found = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);

    return found ? found : (a->size > b->size) - (a->size < b->size);
}

static Value operate(Operation operation, Value a, Value b)
{
    if (a.type == INTEGER && b.type == INTEGER)
        return of_integers(operation, a.integer, b.integer);
    if (a.type == TEXT && b.type == TEXT) {
        if (operation == ADD)
            return join(characters(a), characters(b));
        if (operation >= LESS)
            return of_integers(operation, order(a.text, b.text), 0);
    }
    if (a.type == LIST && b.type == LIST && operation == ADD)
        return of_lists(a.list, b.list);
    no_such(operation >= LESS ? "no order of " : "no arithmetic with ", a, b);
}

/* The place of an element of a list. */
static Value *element(Value list, Value index)
{
    if (list.type != LIST || index.type != INTEGER)
        no_such("no item for ", list, index);
    if ((uint64_t)index.integer >= (uint64_t)list.list->count) {
        char room[24];
        locate();
        fail("no such item of the list: ", digits(index.integer, room));
    }
    return &list.list->at[index.integer];
}

static Value item(Value of, Value key)
{
    if (of.type == MAP) {
        Value *found = find(of.map, key);
        return found ? *found : nil;
    }
    if (of.type == TEXT && key.type == INTEGER && (uint64_t)key.integer < of.text->size)
        return text_of((Slice){of.text->at + key.integer, 1});
    return *element(of, key);
}

static void set_item(Value of, Value key, Value value)
{
    if (of.type == MAP)
        set(of.map, key, value);
    else
        *element(of, key) = value;
}

/* Whether a loop goes on; then its variable is put behind what it goes through and how far it is. */
static int goes_on(Value *loop)
{
    Value through = loop[0];
    int64_t at = loop[1].integer, count = through.type == INTEGER ? through.integer : size_of(through);

    if (count < 0 && through.type != INTEGER) {
        locate();
        fail("no loop goes through ", slice(name_of(through)));
    }
    if (at >= count)
        return 0;
    loop[1].integer++;
    if (through.type == INTEGER)
        *top++ = integer(at);
    else if (through.type == MAP)
        *top++ = through.map->at[at].key;
    else
        *top++ = item(through, integer(at));
    return 1;
}

static Value *global(Value name)
{
    Value *found = find(&globals, name);

    if (!found) {
        locate();
        fail("no variable ", characters(name));
    }
    return found;
}

void run(const Closure *program)
{
    define_built_ins(&globals);
    *top++ = nil;
    enter(program, stack);
    for (Frame *in = frame;;) {
        uint32_t word = *in->at++;
        int64_t number = word >> 8;
        const Value *constants = in->closure->function->constants.at;
        Operation operation = word & 255;
        Value value;

        switch (operation) {
        case CONSTANT:
            *top++ = constants[number];
            break;
        case PUT_NIL:
            *top++ = nil;
            break;
        case PUT_TRUTH:
            *top++ = truth((int)number);
            break;
        case DROP:
            top--;
            break;
        case LEAVE:
            top -= number;
            close_from(top);
            break;
        case LOCAL:
            *top++ = in->base[number];
            break;
        case SET_LOCAL:
            in->base[number] = *--top;
            break;
        case CAPTURED:
            *top++ = *in->closure->captured[number]->at;
            break;
        case SET_CAPTURED:
            *in->closure->captured[number]->at = *--top;
            break;
        case GLOBAL:
            *top++ = *global(constants[number]);
            break;
        case SET_GLOBAL:
            *global(constants[number]) = *--top;
            break;
        case DEFINE:
            set(&globals, constants[number], *--top);
            break;
        case ITEM:
            top--;
            top[-1] = item(top[-1], top[0]);
            break;
        case SET_ITEM:
            top -= 3;
            set_item(top[0], top[1], top[2]);
            break;
        case NEW_LIST:
            *top++ = new_list();
            break;
        case APPEND:
            top--;
            append(top[-1].list, top[0]);
            break;
        case NEW_MAP:
            *top++ = new_map();
            break;
        case ENTER:
            top -= 2;
            set(top[-1].map, top[0], top[1]);
            break;
        case ADD: case SUBTRACT: case MULTIPLY: case DIVIDE: case REMAINDER:
        case LESS: case AT_MOST: case MORE: case AT_LEAST:
            top--;
            top[-1] = operate(operation, top[-1], top[0]);
            break;
        case NEGATE:
            top[-1] = operate(SUBTRACT, integer(0), top[-1]);
            break;
        case NOT:
            top[-1] = truth(!is_true(top[-1]));
            break;
        case EQUAL: case UNEQUAL:
            top--;
            top[-1] = truth(same(top[-1], top[0]) == (operation == EQUAL));
            break;
        case JUMP:
            in->at = in->closure->function->code + number;
            break;
        case IF_NOT:
            if (!is_true(*--top))
                in->at = in->closure->function->code + number;
            break;
        case AND: case OR: /* the first operand decides, or is dropped */
            if (is_true(top[-1]) == (operation == OR))
                in->at = in->closure->function->code + number;
            else
                top--;
            break;
        case NEXT: /* the jump behind it leads out of the loop */
            in->at += goes_on(in->base + number);
            break;
        case CLOSE:
            value = closure_of(constants[number].code);
            *top++ = value;
            break;
        case CALL: case RETURN_CALL:
            call_value((int)number, operation == RETURN_CALL);
            in = frame;
            break;
        case RETURN:
            if (frame-- == frames)
                return;
            value = top[-1];
            close_from(in->base);
            top = in->base;
            *top++ = value;
            in = frame;
            break;
        }
    }
}
