# Prologues and epilogues that functions share, for -msave-restore: __riscv_save_N stores ra and the first N of the registers s0
# to s11 below the stack pointer, and __riscv_restore_N loads them and returns. The place of a register is the same for each N,
# in a frame of a multiple of 16 bytes: see "Calling Convention" of the RISC-V ABIs Specification, and -msave-restore of gcc.
    .file "save_restore.S"

    .macro begin name
    .section .text.\name, "ax", @progbits
    .balign 4
    .endm

    .macro entry name
    .globl \name
    .type \name, @function
\name:
    .endm

# Save: t0 is the return address, and t1 becomes the part of the frame of 112 bytes that is not needed.
    begin __riscv_save
    entry __riscv_save_12
    addi    sp, sp, -112
    li      t1, 0
    sd      s11, 8(sp)
    j       .Lsave_10
    entry __riscv_save_11
    entry __riscv_save_10
    addi    sp, sp, -112
    li      t1, 16
.Lsave_10:
    sd      s10, 16(sp)
    sd      s9, 24(sp)
    j       .Lsave_8
    entry __riscv_save_9
    entry __riscv_save_8
    addi    sp, sp, -112
    li      t1, 32
.Lsave_8:
    sd      s8, 32(sp)
    sd      s7, 40(sp)
    j       .Lsave_6
    entry __riscv_save_7
    entry __riscv_save_6
    addi    sp, sp, -112
    li      t1, 48
.Lsave_6:
    sd      s6, 48(sp)
    sd      s5, 56(sp)
    j       .Lsave_4
    entry __riscv_save_5
    entry __riscv_save_4
    addi    sp, sp, -112
    li      t1, 64
.Lsave_4:
    sd      s4, 64(sp)
    sd      s3, 72(sp)
    j       .Lsave_2
    entry __riscv_save_3
    entry __riscv_save_2
    addi    sp, sp, -112
    li      t1, 80
.Lsave_2:
    sd      s2, 80(sp)
    sd      s1, 88(sp)
    sd      s0, 96(sp)
    sd      ra, 104(sp)
    add     sp, sp, t1
    jr      t0

    entry __riscv_save_1
    entry __riscv_save_0
    addi    sp, sp, -16
    sd      s0, 0(sp)
    sd      ra, 8(sp)
    jr      t0

# Restore, and return to the caller of the function.
    begin __riscv_restore
    entry __riscv_restore_12
    ld      s11, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_11
    entry __riscv_restore_10
    ld      s10, 0(sp)
    ld      s9, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_9
    entry __riscv_restore_8
    ld      s8, 0(sp)
    ld      s7, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_7
    entry __riscv_restore_6
    ld      s6, 0(sp)
    ld      s5, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_5
    entry __riscv_restore_4
    ld      s4, 0(sp)
    ld      s3, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_3
    entry __riscv_restore_2
    ld      s2, 0(sp)
    ld      s1, 8(sp)
    addi    sp, sp, 16
    entry __riscv_restore_1
    entry __riscv_restore_0
    ld      s0, 0(sp)
    ld      ra, 8(sp)
    addi    sp, sp, 16
    ret
