#ifndef COMPILE_H
#define COMPILE_H

#include "values.h"

enum { MAX_ARGUMENTS = 16, MAX_LOCALS = 200, MAX_NESTED = 100 };

/* A function of no arguments that does what the text says. */
const Closure *compile(Slice text);

#endif
