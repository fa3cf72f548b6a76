# The guests of a folder as ordinary programs: standard input is the input, standard output is the output, and standard
# error is the debug channel. The sources of a guest are the same.
#   make NAME.host  a program for this computer, with sanitizers:  ./NAME.host < input > output
#   make NAME.qemu  a program for Linux on RV64, with libzkvm.a:  qemu-riscv64 NAME.qemu < input > output
HOST_CC ?= cc
HOST_CXX ?= c++
HOST_FLAGS ?= -O1 -g -fsanitize=address,undefined
HOST_KIT = sdk/host/native.host.o sdk/host/keccak.host.o sdk/host/sha256.host.o sdk/host/arithmetic.host.o
LINUX_KIT = sdk/host/linux_riscv64.qemu.o sdk/host/keccak.qemu.o sdk/host/sha256.qemu.o sdk/host/arithmetic.qemu.o
LINUX_FLAGS = -Wl,-e,__zkvm_linux_start,-z,max-page-size=4096

.SECONDEXPANSION:
%.host: %.c $$(wildcard $$*/*.c $$*/*.h) $(HOST_KIT)
	$(HOST_CC) $(HOST_FLAGS) -Isdk/include -o $@ $(filter %.c %.o,$^) -lm

%.host: %.cpp $$(wildcard $$*/*.cpp $$*/*.hpp $$*/*.h) $(HOST_KIT)
	$(HOST_CXX) $(HOST_FLAGS) -Isdk/include -o $@ $(filter %.cpp %.o,$^) -lm

%.host.o: %.c sdk/include/zkvm.h
	$(HOST_CC) -std=c11 $(HOST_FLAGS) -Isdk/include -c -o $@ $<

%.qemu: %.c $$(wildcard $$*/*.c $$*/*.h) $(LINUX_KIT) sdk/libzkvm.a sdk/zkvm.ld
	$(PREFIX)gcc $(CFLAGS) $(LDFLAGS) $(LINUX_FLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

%.qemu: %.cpp $$(wildcard $$*/*.cpp $$*/*.hpp $$*/*.h) $(LINUX_KIT) sdk/libzkvm.a sdk/zkvm.ld
	$(PREFIX)g++ $(CXXFLAGS) $(LDFLAGS) $(LINUX_FLAGS) -o $@ $(filter %.cpp %.o,$^) $(LDLIBS)

%.qemu.o: %.c sdk/include/zkvm.h
	$(PREFIX)gcc -march=rv64im -mabi=lp64 -mcmodel=medany -O2 -ffreestanding -Isdk/include -c -o $@ $<
