"""The host of the block guest: formats of witnesses, the shipped blocks, and the commands."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphprover.examples.block import rlp, shipped
from graphprover.examples.block.__main__ import main
from graphprover.examples.block.block_input import BlockInput
from graphprover.examples.block.result import Valid, expected
from graphprover.examples.block.witness import CHAINS, read_ethrex, read_witness, read_zisk
from graphprover.vm.executor.execute import execute
from tests.examples.block.small_blocks import blocks
from tests.examples.block.test_guest import guest

HASHES = {  # of the blocks on their chains
    "hoodi_1265656": "ac77c202b2b33da757f785a4c240333c7d148bc2558f19c483e42fe3ca1ce6db",
    "mainnet_24628607": "d6edeb114882eb19af618789a4ebd5f84984e7d340d54459d1b2d9d7c1ed99a9",
}
HEADER = (
    *("parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty"),
    *("number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas"),
    *("withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"),
)
ROOTS = ("stateRoot", "transactionsRoot", "receiptsRoot", "withdrawalsRoot", "parentBeaconBlockRoot")
STRINGS = {"miner", "extraData", "logsBloom", "to", "input", "address", "parentHash", "sha3Uncles", "mixHash", *ROOTS}
STRINGS.add("requestsHash")
CALL = ("to", "value", "input")
SIGNATURE = ("r", "s")
DYNAMIC = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas", *CALL, "accessList")
TRANSACTIONS = {
    0: ("nonce", "gasPrice", "gas", *CALL, "v", *SIGNATURE),
    1: ("chainId", "nonce", "gasPrice", "gas", *CALL, "accessList", "yParity", *SIGNATURE),
    2: (*DYNAMIC, "yParity", *SIGNATURE),
    3: (*DYNAMIC, "maxFeePerBlobGas", "blobVersionedHashes", "yParity", *SIGNATURE),
    4: (*DYNAMIC, "authorizationList", "yParity", *SIGNATURE),
}
AUTHORIZATION = ("chainId", "address", "nonce", "yParity", "r", "s")


def value(name: str, encoded: bytes) -> Any:
    """Return an item as JSON has it."""
    if name == "accessList":
        entries = map(rlp.items, rlp.items(encoded))
        return [{"address": text(place), "storageKeys": list(map(text, rlp.items(keys)))} for place, keys in entries]
    if name == "blobVersionedHashes":
        return list(map(text, rlp.items(encoded)))
    if name == "authorizationList":
        return [named(AUTHORIZATION, rlp.items(entry)) for entry in rlp.items(encoded)]
    if name == "to" and encoded == b"\x80":
        return None
    if name in STRINGS or (name == "nonce" and len(encoded) == 9):  # a header's nonce has 8 bytes
        return text(encoded)
    return hex(int.from_bytes(rlp.string(encoded), "big"))


def text(encoded: bytes) -> str:
    return "0x" + rlp.string(encoded).hex()


def named(names: tuple[str, ...], encoded: list[bytes]) -> dict[str, Any]:
    return {name: value(name, each) for name, each in zip(names, encoded, strict=False)}


def ethrex(block_input: BlockInput, network: Any) -> bytes:
    """Write a block as ethrex-replay does."""
    header, transactions, _, *rest = rlp.items(block_input.block)
    made = []
    for each in rlp.items(transactions):
        kind, fields = (0, each) if each[0] >= 0xC0 else (rlp.string(each)[0], rlp.string(each)[1:])
        made.append({"type": hex(kind), **named(TRANSACTIONS[kind], rlp.items(fields))})
    names = ("index", "validatorIndex", "address", "amount")
    withdrawals = [named(names, rlp.items(each)) for each in rlp.items(rest[0])] if rest else None
    witness = {"state": block_input.nodes, "codes": block_input.codes, "headers": block_input.headers, "keys": ()}
    body = {"transactions": made, "uncles": [], "withdrawals": withdrawals}
    contents = {
        "blocks": [{"header": named(HEADER, rlp.items(header)), "body": body}],
        "witness": {name: ["0x" + each.hex() for each in strings] for name, strings in witness.items()},
        "network": network,
    }
    return json.dumps(contents).encode()


def zisk(block_input: BlockInput) -> bytes:
    """Write a block as the host of zisk-eth-client does."""

    def number(size: int) -> bytes:
        if size < 251:
            return bytes([size])
        kind, width = (251, 2) if size < 2**16 else (252, 4)
        return bytes([kind]) + size.to_bytes(width, "little")

    def string(data: bytes) -> bytes:
        return number(len(data)) + data

    def record(data: bytes) -> bytes:
        return len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)

    lists = (block_input.nodes, block_input.codes, (b"a key",), block_input.headers)
    witness = b"".join(number(len(strings)) + b"".join(map(string, strings)) for strings in lists)
    return record(string(block_input.block) + number(block_input.chain) + b"more") + record(witness)


@pytest.mark.parametrize("name", ["paris", "shanghai", "cancun", "prague", "bpo2"])
def test_both_formats_are_read(name: str) -> None:
    block_input = blocks()[name]
    for network in ({"PublicNetwork": "Mainnet"}, "mainnet"):
        assert read_witness(ethrex(block_input, network)) == block_input
    assert read_witness(zisk(block_input)) == block_input


def test_other_formats_and_chains_are_refused() -> None:
    block_input = blocks()["prague"]
    with pytest.raises(ValueError, match="the chain 'Gnosis' is none of mainnet, holesky, hoodi, sepolia"):
        read_ethrex(ethrex(block_input, "Gnosis"))
    with pytest.raises(ValueError, match="the chain 5 is none of 1, 17000"):
        read_zisk(zisk(replace(block_input, chain=5)))
    with pytest.raises(ValueError, match="not a block of ethrex-replay with its witness: KeyError"):
        read_witness(b'{"blocks": [{}], "network": "hoodi"}')
    whole = zisk(block_input)
    for wrong in (b"", b"text", whole[:100], whole[: len(whole) // 2], bytes(64)):
        with pytest.raises(ValueError, match="not an input of zisk-eth-client's stateless-validator-reth"):
            read_witness(wrong)


def test_inputs_come_back() -> None:
    for block_input in blocks().values():
        data = block_input.to_bytes()
        assert BlockInput.from_bytes(data) == block_input
        for wrong in (data[:-8], data[:20], data + bytes(8)):
            with pytest.raises(ValueError, match="not an input of the block guest"):
                BlockInput.from_bytes(wrong)


def test_outputs_come_back() -> None:
    result = expected(blocks()["own"])
    assert Valid.from_bytes(result.to_bytes()) == result
    with pytest.raises(ValueError, match="the output has 7 bytes, not 112: it states no valid block"):
        Valid.from_bytes(b"invalid")


@pytest.mark.parametrize("name", shipped.names())
def test_shipped_blocks_are_those_of_their_chains(name: str) -> None:
    block_input = shipped.load(name)
    chain, number = name.split("_")
    assert block_input.chain == CHAINS[chain]
    assert expected(block_input).block.hex() == HASHES[name]
    assert int.from_bytes(rlp.string(rlp.items(rlp.items(block_input.block)[0])[8]), "big") == int(number)


@pytest.mark.parametrize("name", ["hoodi_1265656", pytest.param("mainnet_24628607", marks=pytest.mark.slow)])
def test_shipped_blocks_are_valid(name: str) -> None:
    block_input = shipped.load(name)
    execution = execute(guest(), block_input.to_bytes())
    assert (execution.exit_code, execution.output) == (0, expected(block_input).to_bytes())


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block_input = blocks()["prague"]
    witness, flat, output = tmp_path / "witness.json", tmp_path / "block.bin", tmp_path / "output.bin"
    witness.write_bytes(ethrex(block_input, "mainnet"))
    assert main(["convert", str(witness), "-o", str(flat)]) == 0
    assert flat.read_bytes() == block_input.to_bytes()
    printed = capsys.readouterr().out
    assert f"block       0x{expected(block_input).block.hex()}" in printed and "2 headers" in printed
    assert main(["expect", str(flat), "-o", str(output)]) == 0
    assert output.read_bytes() == expected(block_input).to_bytes()
    assert main(["show", str(output)]) == 0
    assert capsys.readouterr().out.count(output.read_bytes().hex()) == 2
    assert main(["unpack", "hoodi_1265656", "-o", str(flat)]) == 0
    assert flat.read_bytes() == shipped.load("hoodi_1265656").to_bytes()
    output.write_bytes(b"invalid: reason")
    assert main(["show", str(output)]) == main(["convert", str(output), "-o", str(flat)]) == 1
    assert "the output has 15 bytes" in capsys.readouterr().err
