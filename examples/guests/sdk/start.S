# Where a guest begins: a stack, a global pointer, main(), and exit with what it returns. For a C library (-DLIBC) also
# thread-local data, of the one thread there is, and constructors; exit() is the library's then, and ends in _exit().
    .file "start.S" # else the assembler's temporary file names itself
    .section .text.start, "ax", @progbits
    .globl _start
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, __stack_top
#ifdef LIBC
    .globl __runs_constructors
    .set   __runs_constructors, 1
    la      tp, __tls_start
    la      s0, __constructors_start
    la      s1, __constructors_end
1:  bgeu    s0, s1, 2f
    ld      a0, 0(s0)
    addi    s0, s0, 8
    jalr    a0
    j       1b
2:  call    main
    call    exit
    .globl _exit
_exit:
#else
    call    main
    .globl exit
exit:
#endif
    li      a7, 93
    ecall
