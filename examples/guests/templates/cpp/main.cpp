// Counts the words of its input, and puts out a line for each, the most frequent first.
#include "zkvm.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

int main()
{
    const std::uint8_t *input;
    std::size_t size;
    read_input(&input, &size);
    std::string_view text(reinterpret_cast<const char *>(input), size);

    std::map<std::string_view, unsigned> counts;
    constexpr std::string_view spaces = " \t\n\v\f\r";
    while ((text = text.substr(std::min(text.find_first_not_of(spaces), text.size()))).size()) {
        std::string_view word = text.substr(0, text.find_first_of(spaces));
        counts[word]++;
        text.remove_prefix(word.size());
    }

    std::vector<std::pair<unsigned, std::string_view>> lines;
    for (auto [word, count] : counts)
        lines.emplace_back(count, word);
    std::stable_sort(lines.begin(), lines.end(), [](auto &left, auto &right) { return left.first > right.first; });

    std::string output;
    for (auto [count, word] : lines)
        output.append(std::to_string(count)).append(" ").append(word).append("\n");
    write_output(reinterpret_cast<const std::uint8_t *>(output.data()), output.size());
    return 0;
}
