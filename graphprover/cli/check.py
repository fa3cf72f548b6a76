"""``graphprover check``: check traces row by row, without a proof."""

import argparse

from graphprover.cli.args import Command, add_options
from graphprover.cli.program_args import add_program, program_and_statement
from graphprover.jobs.options import CHECK
from graphprover.runtime.errors import FAILED, OK
from graphprover.statement.check import check


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The report names the first row on which a constraint fails, with its values, and the unbalanced messages of "
        "each bus.",
        ["examples/keccak --input README.md", "tables.py"],
    )
    add_program(parser)
    add_options(parser, CHECK)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover check`` and return the exit code."""
    program, stated = program_and_statement(options)
    (statement,) = stated.statements
    findings = check(statement)
    for finding in findings:
        print(finding)
    if findings:
        return FAILED
    airs = statement.descriptions
    constraints = sum(len(air.constraints) for air in airs)
    buses = {interaction.bus for air in airs for interaction in air.globals}
    print(f"{program.name}: {len(airs)} tables satisfy their {constraints} constraints, and {len(buses)} buses balance")
    return OK
