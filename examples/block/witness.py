"""Witnesses of other projects: JSON of ethrex-replay, and records of zisk-eth-client's stateless validator."""

import json
import struct
from typing import Any

from graphprover.examples.block import rlp
from graphprover.examples.block.block_input import BlockInput

CHAINS = {"mainnet": 1, "holesky": 17_000, "hoodi": 560_048, "sepolia": 11_155_111}

_BYTES, _NUMBER = "bytes", "number"
# The fields of a header in their order; a fork adds fields at the end.
_HEADER = (
    ("parentHash", _BYTES),
    ("sha3Uncles", _BYTES),
    ("miner", _BYTES),
    ("stateRoot", _BYTES),
    ("transactionsRoot", _BYTES),
    ("receiptsRoot", _BYTES),
    ("logsBloom", _BYTES),
    ("difficulty", _NUMBER),
    ("number", _NUMBER),
    ("gasLimit", _NUMBER),
    ("gasUsed", _NUMBER),
    ("timestamp", _NUMBER),
    ("extraData", _BYTES),
    ("mixHash", _BYTES),
    ("nonce", _BYTES),
    ("baseFeePerGas", _NUMBER),
    ("withdrawalsRoot", _BYTES),
    ("blobGasUsed", _NUMBER),
    ("excessBlobGas", _NUMBER),
    ("parentBeaconBlockRoot", _BYTES),
    ("requestsHash", _BYTES),
)
# The types of transactions.
_LEGACY, _ACCESS_LIST, _DYNAMIC_FEE, _BLOB, _SET_CODE = range(5)


def read_witness(data: bytes) -> BlockInput:
    """Read a witness of either format.

    Args:
        data: Contents of the file.

    Returns:
        The block and its witness.

    Raises:
        ValueError: The data have neither format, or the chain is unknown.
    """
    return read_ethrex(data) if data[:1] == b"{" else read_zisk(data)


def read_ethrex(data: bytes) -> BlockInput:
    """Read a block that ``ethrex-replay`` has cached as JSON.

    Raises:
        ValueError: The data have another format, or the chain is unknown.
    """
    try:
        contents = json.loads(data)
        (block,) = contents["blocks"]
        network = contents["network"]
        name = network["PublicNetwork"] if isinstance(network, dict) else network
        body, witness = block["body"], contents["witness"]
        nodes, codes, headers = (tuple(map(_hex, witness[key])) for key in ("state", "codes", "headers"))
        encoded = rlp.encode(
            [
                _header(block["header"]),
                [_transaction(transaction) for transaction in body["transactions"]],
                [],
                *([] if body.get("withdrawals") is None else [list(map(_withdrawal, body["withdrawals"]))]),
            ]
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a block of ethrex-replay with its witness: {error!r}") from None
    chain = CHAINS.get(str(name).lower())
    if chain is None:
        raise ValueError(f"the chain {name!r} is none of {', '.join(CHAINS)}")
    return BlockInput(chain, encoded, nodes, codes, headers)


def _hex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _number(text: str | int) -> bytes:
    return rlp.number(text if isinstance(text, int) else int(text, 16))


def _header(header: dict[str, Any]) -> list[rlp.Item]:
    present = [(header[name], form) for name, form in _HEADER if header.get(name) is not None]
    return [_hex(value) if form == _BYTES else _number(value) for value, form in present]


def _withdrawal(withdrawal: dict[str, Any]) -> list[rlp.Item]:
    index, validator = _number(withdrawal["index"]), _number(withdrawal["validatorIndex"])
    return [index, validator, _hex(withdrawal["address"]), _number(withdrawal["amount"])]


def _transaction(transaction: dict[str, Any]) -> rlp.Item:
    """Return a transaction as blocks have it: a list, or a type and a list in a string."""
    kind = int(transaction["type"], 16)

    def numbers(*names: str) -> list[rlp.Item]:
        return [_number(transaction[name]) for name in names]

    recipient = _hex(transaction["to"]) if transaction.get("to") else b""
    call: list[rlp.Item] = [recipient, *numbers("value"), _hex(transaction["input"])]
    if kind == _LEGACY:
        return [*numbers("nonce", "gasPrice", "gas"), *call, *numbers("v", "r", "s")]
    accesses = transaction.get("accessList") or []
    access_list: list[rlp.Item] = [
        [_hex(entry["address"]), list(map(_hex, entry["storageKeys"]))] for entry in accesses
    ]
    fees = ["gasPrice"] if kind == _ACCESS_LIST else ["maxPriorityFeePerGas", "maxFeePerGas"]
    fields: list[rlp.Item] = [*numbers("chainId", "nonce", *fees, "gas"), *call, access_list]
    if kind == _BLOB:
        fields += [*numbers("maxFeePerBlobGas"), list(map(_hex, transaction["blobVersionedHashes"]))]
    elif kind == _SET_CODE:
        fields.append(list(map(_authorization, transaction["authorizationList"])))
    elif kind not in (_ACCESS_LIST, _DYNAMIC_FEE):
        raise ValueError(f"transactions of type {kind} are unknown")
    parity = transaction.get("yParity") or transaction["v"]
    return bytes([kind]) + rlp.encode([*fields, _number(parity), *numbers("r", "s")])


def _authorization(entry: dict[str, Any]) -> list[rlp.Item]:
    chain, nonce = _number(entry["chainId"]), _number(entry["nonce"])
    return [chain, _hex(entry["address"]), nonce, *(_number(entry[name]) for name in ("yParity", "r", "s"))]


def read_zisk(data: bytes) -> BlockInput:
    """Read an input of the guest ``stateless-validator-reth`` of ``zisk-eth-client``.

    Raises:
        ValueError: The data have another format, or the chain is unknown.
    """
    try:
        block_record, witness_record = _records(data)[:2]
        block = _Bincode(block_record)
        encoded, chain = block.string(), block.number()
        witness = _Bincode(witness_record)
        nodes, codes, _keys, headers = (witness.strings() for _ in range(4))
    except (IndexError, ValueError, struct.error):
        raise ValueError("not an input of zisk-eth-client's stateless-validator-reth") from None
    if chain not in CHAINS.values():
        raise ValueError(f"the chain {chain} is none of {', '.join(map(str, CHAINS.values()))}")
    return BlockInput(chain, encoded, nodes, codes, headers)


def _records(data: bytes) -> list[bytes]:
    """Return the records of a file: each has its length, and zeros up to the next word."""
    records, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        at += 8
        if at + size > len(data):
            raise ValueError("a record ends behind the file")
        records.append(data[at : at + size])
        at += (size + 7) // 8 * 8
    return records


class _Bincode:
    """The rest of a record in bincode with numbers of varying size."""

    _LONG = {251: 2, 252: 4, 253: 8}  # noqa: RUF012

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        first = self._data[self._at]
        self._at += 1
        size = self._LONG.get(first)
        if size is None:
            return first
        return int.from_bytes(self._take(size), "little")

    def string(self) -> bytes:
        return self._take(self.number())

    def strings(self) -> tuple[bytes, ...]:
        return tuple(self.string() for _ in range(self.number()))

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError("a string ends behind its record")
        taken, self._at = self._data[self._at : end], end
        return taken
