# Where a guest begins: a stack, a global pointer, main(), and exit with what it returns.
    .section .text.start, "ax", @progbits
    .globl _start
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, __stack_top
    call    main
    .globl exit
exit:
    li      a7, 93
    ecall
