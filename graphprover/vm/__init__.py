"""The RV64IM machine: a compiled program in, an execution and its tables out."""
