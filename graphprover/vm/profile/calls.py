"""The call path of each instruction, followed while a program runs: compiled, and bounded in memory.

A path is a node of a tree; a node is one function as it is called by the path above it. Calls and returns are
recognized by their link register (x1 or x5), as the RISC-V calling convention defines. Code without the convention does
not derail this: a jump into another function without a link is a tail call, and a return to an address without a call
drops the frames whose stack pointers lie below the current one, as longjmp leaves them behind.

From FOLD frames on, a function that is in the path already is that frame again, so recursion is bounded. The same holds
if the tree is full, and a function without such a frame is then a frame below the node ELSEWHERE.
"""

from typing import NamedTuple

import numpy as np

from graphprover.runtime.numba_cache import njit

FOLD = 64  # frames
MAX_NODES = 1 << 16
MAX_FRAMES = 1 << 20  # calls that have not returned; deeper ones are not followed
ROOT, ELSEWHERE = 0, 1  # nodes without a function
LINKS = (1, 5)  # registers of return addresses: ra, and t0 of functions that save registers for others

_EDGES = 1 << 18  # slots in the table of edges; at most half of them are used
_NODE, _NODES, _ROOM, _TOP, _KNOWN = range(5)  # of `Calls.position`


class Calls(NamedTuple):
    """Functions are numbered by rising address; all arrays are int64 and changed in place."""

    function: np.ndarray  # (instructions + 1,), the function of each instruction
    first: np.ndarray  # (functions + 1,), its first instruction
    slot: np.ndarray  # (functions + 1,), the first of its counters in the program
    position: np.ndarray  # (5,): current node; nodes; counters assigned to them; calls not returned; known edges
    node_function: np.ndarray  # (nodes,), -1 for nodes without one
    node_parent: np.ndarray
    node_depth: np.ndarray
    node_base: np.ndarray  # of its counters, less the function's slot
    elsewhere: np.ndarray  # (functions,), the node of each below ELSEWHERE, or 0
    edge_key: np.ndarray  # (edges,), a hash table: 0, or 1 + a node and the function it calls
    edge_node: np.ndarray  # the node of that call
    frame_return: np.ndarray  # (frames,), the instruction that a call returns to
    frame_node: np.ndarray  # and its node
    frame_sp: np.ndarray  # the stack pointer at the call


def follow(function: np.ndarray, first: np.ndarray, slot: np.ndarray, counters: int) -> Calls:
    """Reset for the start of a run; the arrays are those in Calls. ``counters``: most counters of all nodes."""
    total = int(slot[-1])
    if counters < 2 * total:
        raise ValueError(f"{counters:,} counters for a program that needs {total:,}")
    position = np.zeros(5, dtype=np.int64)
    position[_NODES] = 2
    nodes = np.zeros((4, MAX_NODES + len(first)), dtype=np.int64)
    nodes[0, :2] = -1
    edges, frames = np.zeros((2, _EDGES), dtype=np.int64), np.zeros((3, MAX_FRAMES), dtype=np.int64)
    elsewhere = np.zeros(len(first), dtype=np.int64)
    return Calls._make((function, first, slot, position, *nodes, elsewhere, *edges, *frames))


def paths(calls: Calls) -> tuple[np.ndarray, np.ndarray]:
    """Return the function and the parent of each node, int64 (nodes,)."""
    nodes = calls.position[_NODES]
    return calls.node_function[:nodes], calls.node_parent[:nodes]


def given(calls: Calls) -> np.ndarray:
    """Return the first counter of each node, and behind the last node the end: int64 (nodes + 1,), rising."""
    nodes = calls.position[_NODES]
    starts = calls.node_base[:nodes] + calls.slot[calls.node_function[:nodes]]
    starts[: ELSEWHERE + 1] = 0
    return np.append(starts, calls.position[_ROOM])


@njit(nogil=True, cache=True)
def enter(calls, index, room):
    """Go to the current node, or at the start of a run to the function of its entry: see `place`."""
    if calls.position[_NODE] == ROOT:
        calls.position[_NODE] = _child(calls, ROOT, calls.function[index], room)
    return place(calls)


@njit(nogil=True, cache=True)
def place(calls):
    """Return (base, first, size) of the current node: of its counters, and of the instructions of its function."""
    node = calls.position[_NODE]
    function = calls.node_function[node]
    first = calls.first[function]
    return calls.node_base[node], first, np.uint64(calls.first[function + 1] - first)


@njit(nogil=True, cache=True)
def move(calls, jump, rd, index, following, sp, room):
    """Step to another instruction; return its `place`.

    ``jump``: it stores its return address in ``rd``, or goes to an address in LINKS; other steps leave the function.
    ``room``: most counters of nodes, except for nodes below ELSEWHERE.
    """
    position = calls.position
    node, top = position[_NODE], position[_TOP]
    to = calls.function[following]
    same = to == calls.node_function[node]
    call = jump and rd in LINKS
    if call:
        if top < MAX_FRAMES:
            calls.frame_return[top] = index + 1
            calls.frame_node[top] = node
            calls.frame_sp[top] = sp
            position[_TOP] = top + 1
        if not same or following == calls.first[to]:  # else a part of the function that returns to it
            position[_NODE] = _child(calls, node, to, room)
        return place(calls)
    back = jump and not call
    # If frames were not followed, only the stack pointer tells which call returns.
    known = back and top > 0 and calls.frame_return[top - 1] == following
    if known and (top < MAX_FRAMES or calls.frame_sp[top - 1] == sp):
        top -= 1
        node = calls.frame_node[top]
    elif back or not same:
        while top > 0:
            frame = calls.frame_node[top - 1]
            here = back and calls.frame_sp[top - 1] == sp and calls.node_function[frame] == to
            if not here and not calls.frame_sp[top - 1] < sp:
                break
            top -= 1
            node = frame
    position[_TOP] = top
    if calls.node_function[node] != to:  # a tail call, or the code behind a function that was called at its end
        node = _child(calls, calls.frame_node[top - 1] if top > 0 else ROOT, to, room)
    position[_NODE] = node
    return place(calls)


@njit(nogil=True, cache=True)
def _child(calls, node, function, room):
    """Return the node of a function that ``node`` calls."""
    key = 1 + (node << 32 | function)
    at = (key * 0x9E3779B97F4A7C1 >> 20) & (_EDGES - 1)
    while calls.edge_key[at] != 0:
        if calls.edge_key[at] == key:
            return calls.edge_node[at]
        at = (at + 1) & (_EDGES - 1)
    found = _make(calls, node, function, room)
    if 2 * calls.position[_KNOWN] < _EDGES:
        calls.position[_KNOWN] += 1
        calls.edge_key[at] = key
        calls.edge_node[at] = found
    return found


@njit(nogil=True, cache=True)
def _make(calls, node, function, room):
    """Return this node for a new edge."""
    position = calls.position
    size = calls.slot[function + 1] - calls.slot[function]
    full = position[_NODES] >= MAX_NODES or position[_ROOM] + size > room
    if full or calls.node_depth[node] >= FOLD:
        above = node
        while above > ELSEWHERE:
            if calls.node_function[above] == function:
                return above
            above = calls.node_parent[above]
    made = position[_NODES]
    if full:
        if calls.elsewhere[function] != 0:
            return calls.elsewhere[function]
        calls.elsewhere[function] = made
        node = ELSEWHERE
    calls.node_function[made] = function
    calls.node_parent[made] = node
    calls.node_depth[made] = calls.node_depth[node] + 1
    calls.node_base[made] = position[_ROOM] - calls.slot[function]
    position[_NODES] = made + 1
    position[_ROOM] += size
    return made
