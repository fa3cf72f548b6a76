"""The statement that a proof is accepted: the verifier's program takes it, with the head of the proof's own statement.

Whoever verifies the new proof makes the same head, which says what the first proof is about, and needs nothing else of
the first proof.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from graphprover.air import Air
from graphprover.device import Array, Device
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import check_constraints, replay, total_of
from graphprover.recursion.head.fields import HEAD_PLACE
from graphprover.recursion.head.head import Head, head_of
from graphprover.recursion.kernels import count_cells
from graphprover.recursion.openings import OpenedRows, openings_of
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Trace, requests, run
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.statement import hashes_of
from graphprover.recursion.tables.core import Core
from graphprover.recursion.tables.memory import Memory
from graphprover.recursion.tables.program import Program
from graphprover.recursion.tables.stated import PublicCap, rows_for
from graphprover.recursion.traces import openings as hashes
from graphprover.recursion.traces.core import Steps, core_trace, memory_trace, program_trace
from graphprover.recursion.witness.hashed_rows import Rows
from graphprover.recursion.witness.run_data import answers, run_data
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask

CORE, MEMORY = Core(), Memory()
