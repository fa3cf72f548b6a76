#ifndef MACHINE_H
#define MACHINE_H

#include "values.h"

void define_built_ins(Map *globals);
void run(const Closure *program);

#endif
