"""The tables of the machine: one family of instructions a table, and the tables that these draw on."""
