# Where a guest begins and ends. The machine begins with zeroed memory, so .bss needs no code. Then: global pointer, stack,
# thread pointer (of the one thread there is), constructors, main(), what atexit() was given, destructors, exit code.
    .file "start.S" # else the assembler's temporary file names itself
    .section .text.start, "ax", @progbits
    .balign 4
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, __zkvm_stack_end
    la      tp, __zkvm_tls_start
    la      s0, __zkvm_constructors_start
    la      s1, __zkvm_constructors_end
    bgeu    s0, s1, 2f
1:  ld      a0, 0(s0)
    addi    s0, s0, 8
    jalr    a0
    bltu    s0, s1, 1b
2:  call    main
    .size _start, . - _start

    .globl exit # _start continues here
    .type exit, @function
exit:
    mv      s2, a0
    call    __zkvm_run_at_exit
    la      s0, __zkvm_destructors_start
    la      s1, __zkvm_destructors_end
    bgeu    s0, s1, 2f
1:  addi    s1, s1, -8
    ld      a0, 0(s1)
    jalr    a0
    bltu    s0, s1, 1b
2:  mv      a0, s2
    .size exit, . - exit

    .globl _exit # exit continues here
    .type _exit, @function
_exit:
    li      a7, 93
    ecall
    .size _exit, . - _exit

    .globl abort
    .type abort, @function
abort:
    li      a0, 134
    j       _exit
    .size abort, . - abort

    .weak __zkvm_run_at_exit # at_exit.c has another, for guests that use it
    .type __zkvm_run_at_exit, @function
__zkvm_run_at_exit:
    ret
    .size __zkvm_run_at_exit, . - __zkvm_run_at_exit
