"""``graphprover new-guest --lang cpp``: the guests that its folder builds, if the wheel `ziglang` is installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import OK
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.elf import load_elf

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="no ziglang")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose guests share one build of libc++."""
    folder = tmp_path_factory.mktemp("cpp") / "guest"
    assert main(["new-guest", str(folder), "--lang", "cpp"]) == OK
    return folder


def make(folder: Path) -> Path:
    """Run `make`, and return the guest."""
    command = ["make", f"ZIG={sys.executable} -m ziglang"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "main.elf"


def run(file: Path, data: bytes = b"") -> Execution:
    return execute(load_elf(file.read_bytes()), data)


def test_the_small_program_and_its_host_program(folder: Path) -> None:
    assert run(make(folder), b" b a\tb\nc  c b").output == b"3 b\n2 c\n1 a\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "host/prove.py"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("proved: "), done.stderr


LIBRARY = r"""
#include "zkvm.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

void put(const std::string &text)
{
    write_output(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
}

std::string history;

struct Noted {
    const char *name;
    explicit Noted(const char *given) : name(given) { history += name; }
    ~Noted() { put(name); }
};

Noted first("a"), second("b");

Noted &local()
{
    static Noted made("c");
    return made;
}

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};

struct Square : Shape {
    int side;
    explicit Square(int given) : side(given) {}
    int area() const override { return side * side; }
};

struct Box : Shape {
    int width, height;
    Box(int a, int b) : width(a), height(b) {}
    int area() const override { return width * height; }
};

struct alignas(64) Wide {
    long words[8];
};

}

int main()
{
    const std::uint8_t *input;
    std::size_t size;
    read_input(&input, &size);
    std::span<const std::uint8_t> data(input, size);

    local();
    local();
    put(history + "\n");

    std::unordered_map<std::string, std::vector<int>> places;
    for (std::size_t i = 0; i < data.size(); i++)
        places[std::string(30, static_cast<char>(data[i]))].push_back(static_cast<int>(i));
    std::set<std::string> keys;
    for (auto &[key, found] : places)
        keys.insert(key.substr(29) + std::to_string(found.size()));
    for (auto &key : keys)
        put(key + " ");

    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 1; i < 5; i++)
        if (i % 2)
            shapes.push_back(std::make_unique<Square>(i));
        else
            shapes.push_back(std::make_unique<Box>(i, i + 1));
    auto add = [](int sum, auto &shape) { return sum + shape->area(); };
    put(std::to_string(std::accumulate(shapes.begin(), shapes.end(), 0, add)) + "\n");
    std::shared_ptr<Shape> shared = std::make_shared<Square>(9);
    std::weak_ptr<Shape> weak = shared;
    shared.reset();
    put(weak.expired() ? "expired " : "alive ");

    std::priority_queue<int> heap;
    std::deque<int> deque;
    std::list<int> list;
    for (int i = 0; i < 300; i++) {
        heap.push(i * 7919 % 1009);
        deque.push_front(i);
        list.push_back(-i);
    }
    list.sort();
    put(std::to_string(heap.top()) + " " + std::to_string(deque.back()) + " " + std::to_string(list.front()) + "\n");

    std::vector<std::uint64_t> words(1000);
    std::uint64_t word = 1;
    for (auto &each : words)
        each = word = word * 6364136223846793005u + 1442695040888963407u;
    std::sort(words.begin(), words.end());
    std::vector<int> numbers(500);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::stable_sort(numbers.begin(), numbers.end(), std::greater<>());
    put(std::is_sorted(words.begin(), words.end()) && numbers[0] == 499 ? "sorted " : "wrong ");

    std::variant<int, std::string> either = "text";
    std::optional<int> none;
    std::function<int(int)> twice = [&](int number) { return number * 2; };
    put(std::get<std::string>(either) + " " + std::to_string(none.value_or(5)) + " " + std::to_string(twice(21)) + " ");
    put(std::to_string(std::string("a needle in hay").find('y')) + "\n");
    int parsed = 0;
    std::string digits = "987";
    std::from_chars(digits.data(), digits.data() + 3, parsed);
    auto wide = std::make_unique<Wide>();
    put(std::to_string(parsed) + (reinterpret_cast<std::uintptr_t>(wide.get()) % 64 ? " misaligned\n" : " aligned\n"));

    std::vector<int> three(3);
    if (size == 1)
        return three.at(size + 5);
    volatile std::size_t index = size;
    if (size == 3)
        return three[index];
    char *volatile block = new char[size == 4 ? std::size_t(1) << 31 : 1];
    delete[] block;
    return 7;
}
"""


def test_containers_and_algorithms(folder: Path) -> None:
    """Global objects, virtual functions, shared pointers, sorting, and the ends of a guest that goes wrong."""
    (folder / "main.cpp").write_text(LIBRARY)
    file = make(folder)
    execution = run(file, b"hello world")
    expected = b"abc\n 1 d1 e1 h1 l3 o2 r1 w1 36\nexpired 1006 0 -299\nsorted text 5 42 14\n987 aligned\ncba"
    assert (execution.output, execution.exit_code) == (expected, 7)
    assert [run(file, bytes(size)).exit_code for size in (1, 4)] == [134, 254]
    with pytest.raises(GuestFault, match=r"illegal instruction .* in main"):  # libc++'s check of bounds
        run(file, bytes(3))


HEAP = r"""
#include "zkvm.h"

#include <cstdint>
#include <vector>

int main()
{
    std::vector<std::uint8_t *> blocks(40);
    std::vector<std::size_t> sizes(40);
    std::uint64_t random = 1;
    for (int turn = 0; turn < 3000; turn++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        std::size_t i = (random >> 40) % blocks.size(), size = (random >> 20) % (turn % 50 ? 200 : 5000);
        for (std::size_t at = 0; at < sizes[i]; at++)
            if (blocks[i][at] != static_cast<std::uint8_t>(i))
                return 1;
        delete[] blocks[i];
        blocks[i] = new std::uint8_t[size];
        if (reinterpret_cast<std::uintptr_t>(blocks[i]) % 16)
            return 2;
        sizes[i] = size;
        for (std::size_t at = 0; at < size; at++)
            blocks[i][at] = static_cast<std::uint8_t>(i);
    }
    std::uint8_t *mark = static_cast<std::uint8_t *>(allocate(0));
    for (int turn = 0; turn < 1000; turn++)
        delete[] new std::uint64_t[7];
    return static_cast<std::uint8_t *>(allocate(0)) - mark > 128 ? 3 : 0;
}
"""


def test_deleted_memory_is_used_again(folder: Path) -> None:
    (folder / "main.cpp").write_text(HEAP)
    assert run(make(folder)).exit_code == 0


ATOMIC = r"""
#include "zkvm.h"

#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>

struct Three { int a, b, c; };

static std::atomic<int> number{4};
static std::atomic<bool> flag{false};
static std::atomic<unsigned long> bits{1};
static std::atomic<Three> three{{1, 2, 3}};

int main()
{
    int expected = 4;
    bool swapped = number.compare_exchange_strong(expected, 6), was = flag.exchange(true);
    number += 3;
    bits |= 6;
    Three copy = three.load();
    copy.b = 9;
    three.store(copy);
    volatile double two = 2;
    std::complex<double> z(two, 1), i(0, 1), w = z * z / i;
    uint8_t output[] = {uint8_t(number), swapped, was, uint8_t(bits), uint8_t(three.load().b),
                        uint8_t(std::sqrt(two * 8)), uint8_t(std::floor(two * 1.4)), uint8_t(std::fma(two, two, 1.0)),
                        uint8_t(w.real()), uint8_t(-w.imag()), uint8_t(std::strlen(std::strchr("abc", 'b')))};
    write_output(output, sizeof output);
    return 0;
}
"""


def test_atomics_and_math(folder: Path) -> None:
    """The compiler calls functions of libzkvm.a for them."""
    (folder / "main.cpp").write_text(ATOMIC)
    assert run(make(folder)).output == bytes([9, 1, 0, 7, 9, 4, 2, 5, 4, 3, 2])
