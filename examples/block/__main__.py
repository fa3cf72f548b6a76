"""Inputs of the block guest: ``python -m graphprover.examples.block``."""

import argparse
import sys
from pathlib import Path

from graphprover.examples.block import shipped
from graphprover.examples.block.block_input import BlockInput
from graphprover.examples.block.result import Valid, expected
from graphprover.examples.block.witness import read_witness


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except (OSError, ValueError) as error:
        print(f"graphprover.examples.block: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m graphprover.examples.block", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    convert = commands.add_parser("convert", help="convert a witness of ethrex-replay or zisk-eth-client")
    convert.add_argument("witness", type=Path, help="file of either format")
    convert.set_defaults(command=_convert)
    unpack = commands.add_parser("unpack", help="write the input of a block of graphprover-examples")
    unpack.add_argument("name", help="such as hoodi_1265656; a wrong name lists all")
    unpack.set_defaults(command=_unpack)
    for command in (convert, unpack):
        command.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the guest's input")
    expect = commands.add_parser("expect", help="print what the guest states if the block of an input is valid")
    expect.add_argument("input", type=Path)
    expect.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the guest's output")
    expect.set_defaults(command=_expect)
    show = commands.add_parser("show", help="print what an output of the guest states")
    show.add_argument("output", type=Path)
    show.set_defaults(command=_show)
    return parser


def _convert(options: argparse.Namespace) -> int:
    return _write(read_witness(options.witness.read_bytes()), options.output)


def _unpack(options: argparse.Namespace) -> int:
    return _write(shipped.load(options.name), options.output)


def _write(block_input: BlockInput, path: Path) -> int:
    data = block_input.to_bytes()
    path.write_bytes(data)
    counts = f"{len(block_input.nodes):,} nodes, {len(block_input.codes):,} codes, {len(block_input.headers):,} headers"
    print(f"{path}: {len(data):,} bytes; {counts}")
    _print(expected(block_input))
    return 0


def _expect(options: argparse.Namespace) -> int:
    result = expected(BlockInput.from_bytes(options.input.read_bytes()))
    if options.output:
        options.output.write_bytes(result.to_bytes())
    _print(result)
    return 0


def _show(options: argparse.Namespace) -> int:
    _print(Valid.from_bytes(options.output.read_bytes()))
    return 0


def _print(result: Valid) -> None:
    print(f"chain       {result.chain}")
    print(f"block       0x{result.block.hex()}")
    print(f"state root  0x{result.state_root.hex()}")
    print(f"gas used    {result.gas_used:,}")
    if any(result.rules):
        print(f"rules       0x{result.rules.hex()}")
    print(f"output      {result.to_bytes().hex()}")


if __name__ == "__main__":
    sys.exit(main())
