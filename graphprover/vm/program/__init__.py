"""Guest programs: ELF files, instructions, symbols, and how a guest reads input and writes output."""
