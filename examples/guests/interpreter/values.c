/* Texts, lists and maps, and what is put out. Memory is never given back. */
#include "values.h"

enum { WRONG = 1 }; /* exit code of a program that is wrong */

int line;

Slice slice(const char *text)
{
    return (Slice){text, strlen(text)};
}

void put(Slice text)
{
    write_output((const uint8_t *)text.at, text.size);
}

Slice digits(int64_t number, char room[24])
{
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char *at = room + 24;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    return (Slice){at, (size_t)(room + 24 - at)};
}

_Noreturn void fail(const char *what, Slice detail)
{
    char room[24];

    put(slice("line "));
    put(digits(line, room));
    put(slice(": "));
    put(slice(what));
    put(detail);
    put(slice("\n"));
    exit(WRONG);
}

const char *name_of(Value value)
{
    static const char *const names[] = {"nil",    "a truth", "an integer", "a text",
                                        "a list", "a map",   "a function", "a function"};

    return names[value.type];
}

void *grown(void *array, int count, int *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 8;
    return memcpy(allocate((size_t)*room * size), array, (size_t)count * size);
}

static uint32_t hash_of(uint32_t hash, Slice text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.at[i]) * 16777619u;
    return hash;
}

/* All texts there are: a power of two of slots, at most half of them taken. */
static Text **texts;
static uint32_t slots, taken;

static void more_slots(void)
{
    Text **old = texts;
    uint32_t before = slots;

    slots = before ? 2 * before : 256;
    texts = allocate(slots * sizeof *texts);
    for (uint32_t i = 0; i < before; i++)
        if (old[i]) {
            uint32_t slot = old[i]->hash;
            while (texts[slot & (slots - 1)])
                slot++;
            texts[slot & (slots - 1)] = old[i];
        }
}

Value join(Slice left, Slice right)
{
    uint32_t hash = hash_of(hash_of(2166136261u, left), right), size = (uint32_t)(left.size + right.size);

    if (2 * taken >= slots)
        more_slots();
    for (uint32_t slot = hash;; slot++) {
        Text **there = &texts[slot & (slots - 1)], *text = *there;
        if (!text) {
            text = *there = allocate(sizeof *text + size);
            text->hash = hash;
            text->size = size;
            memcpy(text->at, left.at, left.size);
            memcpy(text->at + left.size, right.at, right.size);
            taken++;
        } else if (text->hash != hash || text->size != size || memcmp(text->at, left.at, left.size)
                   || memcmp(text->at + left.size, right.at, right.size))
            continue;
        return (Value){.type = TEXT, .text = text};
    }
}

Value text_of(Slice text)
{
    return join(text, (Slice){text.at, 0});
}

Slice characters(Value text)
{
    return (Slice){text.text->at, text.text->size};
}

Value new_list(void)
{
    Value value = {.type = LIST, .list = allocate(sizeof(List))};

    *value.list = (List){0};
    return value;
}

void append(List *list, Value value)
{
    list->at = grown(list->at, list->count, &list->room, sizeof *list->at);
    list->at[list->count++] = value;
}

Value new_map(void)
{
    Value value = {.type = MAP, .map = allocate(sizeof(Map))};

    *value.map = (Map){0};
    return value;
}

static uint32_t *slot_of(const Map *map, Value key)
{
    uint32_t mask = 2 * (uint32_t)map->room - 1;
    uint32_t slot = key.type == TEXT ? key.text->hash : (uint32_t)((uint64_t)key.integer * 0x9E3779B97F4A7C15u >> 32);

    for (;; slot++) {
        uint32_t *found = &map->slots[slot & mask];
        if (!*found || same(map->at[*found - 1].key, key))
            return found;
    }
}

Value *find(const Map *map, Value key)
{
    uint32_t entry = map->room ? *slot_of(map, key) : 0;

    return entry ? &map->at[entry - 1].value : NULL;
}

void set(Map *map, Value key, Value value)
{
    Value *there = find(map, key);

    if (there) {
        *there = value;
        return;
    }
    if (map->count == map->room) {
        map->at = grown(map->at, map->count, &map->room, sizeof *map->at);
        map->slots = allocate(2 * (size_t)map->room * sizeof *map->slots);
        for (int i = 0; i < map->count; i++)
            *slot_of(map, map->at[i].key) = (uint32_t)i + 1;
    }
    map->at[map->count++] = (Entry){key, value};
    *slot_of(map, key) = (uint32_t)map->count;
}

int64_t size_of(Value value)
{
    switch (value.type) {
    case TEXT:
        return value.text->size;
    case LIST:
        return value.list->count;
    case MAP:
        return value.map->count;
    default:
        return -1;
    }
}
