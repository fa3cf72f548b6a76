// A program in C++ against the standard's headers alone: constructors and destructors of static objects, virtual
// functions, templates, new and delete. It has no standard library, exceptions or run-time types.
#include "zkvm_accelerators.h"
#include "zkvm_io.h"

static void put(uint64_t word)
{
    write_output(reinterpret_cast<const uint8_t *>(&word), sizeof word);
}

class Shape {
public:
    virtual ~Shape() { put(destroyed++); }
    virtual uint64_t area() const = 0;
    static uint64_t destroyed;
};

uint64_t Shape::destroyed = 1000;

class Rectangle : public Shape {
public:
    Rectangle(uint64_t width, uint64_t height) : width(width), height(height) {}
    uint64_t area() const override { return width * height; }

private:
    uint64_t width, height;
};

class Square final : public Rectangle {
public:
    explicit Square(uint64_t side) : Rectangle(side, side) {}
    uint64_t area() const override { return Rectangle::area() + 1; }
};

template <typename Item> class List {
public:
    List() = default;
    List(const List &) = delete;
    List &operator=(const List &) = delete;
    ~List()
    {
        put(used);
        delete[] items;
    }
    void append(const Item &item)
    {
        if (used == room) {
            Item *more = new Item[room = 2 * room + 4]();
            for (size_t i = 0; i < used; i++)
                more[i] = static_cast<Item &&>(items[i]);
            delete[] items;
            items = more;
        }
        items[used++] = item;
    }
    template <typename Before> void sort(Before before)
    {
        for (size_t i = 1; i < used; i++)
            for (size_t j = i; j && before(items[j], items[j - 1]); j--) {
                Item item = items[j];
                items[j] = items[j - 1];
                items[j - 1] = item;
            }
    }
    Item *begin() { return items; }
    Item *end() { return items + used; }

private:
    Item *items = nullptr;
    size_t used = 0, room = 0;
};

// Made before main() and destroyed after it, the last one first.
static List<uint64_t> numbers;
static Square square(17);

static const Rectangle &first_used()
{
    static Rectangle rectangle(6, square.area());
    return rectangle;
}

extern "C" int main()
{
    const uint8_t *input;
    size_t size;
    zkvm_keccak256_hash hash;

    read_input(&input, &size);
    for (size_t i = 0; i < size && i < 300; i++)
        numbers.append(static_cast<uint64_t>(input[i]) * 0x10001u % 251);
    numbers.sort([](uint64_t left, uint64_t right) { return left > right; });
    for (uint64_t number : numbers)
        put(number);

    List<const Shape *> shapes;
    shapes.append(new Rectangle(3, size));
    shapes.append(new Square(size));
    shapes.append(&first_used());
    uint64_t areas = 0;
    for (const Shape *shape : shapes)
        areas += shape->area();
    put(areas);
    delete shapes.begin()[0];
    delete shapes.begin()[1];

    put(static_cast<uint64_t>(zkvm_keccak256(input, size, &hash)));
    write_output(hash.data, sizeof hash.data);
    return static_cast<int>(size % 7);
}
