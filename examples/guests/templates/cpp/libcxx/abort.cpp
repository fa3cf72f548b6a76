// What libc++ calls where it would throw an exception, for example in vector::at: a message, and exit code 134.
#include "zkvm.h"

#include <__verbose_abort>
#include <cstdint>
#include <cstdlib>
#include <cstring>

_LIBCPP_BEGIN_NAMESPACE_STD
void __libcpp_verbose_abort(const char *format, ...) _LIBCPP_VERBOSE_ABORT_NOEXCEPT
{
    zkvm_print(reinterpret_cast<const std::uint8_t *>(format), std::strlen(format));
    zkvm_print(reinterpret_cast<const std::uint8_t *>("\n"), 1);
    std::abort();
}
_LIBCPP_END_NAMESPACE_STD
