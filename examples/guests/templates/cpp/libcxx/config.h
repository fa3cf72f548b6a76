// How LLVM's libc++ is configured for a guest: one thread; no files, clocks, locales or wide characters.
#pragma once

#define _LIBCPP_ABI_VERSION 1
#define _LIBCPP_ABI_NAMESPACE __1
// Out of bounds, an empty optional and so on end the guest in a fault. _NONE instead of _FAST: unchecked, and fewer cycles.
#define _LIBCPP_HARDENING_MODE_DEFAULT _LIBCPP_HARDENING_MODE_FAST
#define _LIBCPP_HAS_FILESYSTEM 0
#define _LIBCPP_HAS_LOCALIZATION 0
#define _LIBCPP_HAS_MONOTONIC_CLOCK 0
#define _LIBCPP_HAS_MUSL_LIBC 1
#define _LIBCPP_HAS_RANDOM_DEVICE 0
#define _LIBCPP_HAS_TERMINAL 0
#define _LIBCPP_HAS_THREADS 0
#define _LIBCPP_HAS_THREAD_API_EXTERNAL 0
#define _LIBCPP_HAS_THREAD_API_PTHREAD 0
#define _LIBCPP_HAS_THREAD_API_WIN32 0
#define _LIBCPP_HAS_TIME_ZONE_DATABASE 0
#define _LIBCPP_HAS_UNICODE 0
#define _LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS 0
#define _LIBCPP_HAS_WIDE_CHARACTERS 0
#define _LIBCPP_INSTRUMENTED_WITH_ASAN 0
#define _LIBCPP_PSTL_BACKEND_SERIAL
