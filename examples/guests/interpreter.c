/* Runs a program in a small language and puts out what it prints. A program that is wrong ends in a line that says
 * where and why, and in exit code 1.
 *
 *     program   = { statement }
 *     statement = "let" name "=" value ";" | "fun" name function | "if" value block [ "else" ( if | block ) ]
 *               | "while" value block | "for" name "in" value block | "break" ";" | "return" [ value ] ";"
 *               | value [ "=" value ] ";"
 *     block     = "{" { statement } "}"
 *     value     = operand { operator operand }, operators from those that bind least: or, and, comparisons, + -, * / %
 *     operand   = ( "-" | "not" ) operand | primary { "(" values ")" | "[" value "]" | "." name }
 *     primary   = integer | text | name | "nil" | "true" | "false" | "(" value ")" | "[" values "]"
 *               | "{" { value ":" value "," } "}" | "fun" function
 *     function  = "(" names ")" block
 *
 * Values are nil, truths, integers of 64 bits that wrap (/ rounds down), texts, lists, maps and functions, which keep
 * the variables around them. Only nil and false are not true. m.name is m["name"], and nil where a map has no such key.
 * `for` goes through the integers below one, the characters of a text, the elements of a list, and the keys of a map in
 * the order in which they came. A returned call takes the place of its caller. # begins a comment.
 *
 * interpreter/ has its parts: values, from the text to words of code, and the machine with a stack that runs them.
 */
#include "interpreter/compile.h"
#include "interpreter/machine.h"

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    run(compile((Slice){(const char *)input, size}));
    return 0;
}
