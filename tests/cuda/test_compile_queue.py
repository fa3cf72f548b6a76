"""All kernels of a proof are compiled ahead, once, in the order of their use. No GPU is needed here."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from graphprover.air import Air, Bus
from graphprover.jobs.opening import open_program
from graphprover.kernels.cuda import compile_queue, source_cache
from graphprover.kernels.cuda.compile_queue import Ahead, Job, Turn
from graphprover.runtime import files
from graphprover.runtime.files import alone, private_folder
from graphprover.runtime.signals import COMPILER, pending_compilations
from graphprover.vm.traces.possible import possible_tables

ROOT = Path(__file__).parents[2]
FIB = str(ROOT / "examples/guests/fib_iterative.elf")


def table(width):
    class Table(Air):
        name = f"table {width}"
        columns = (f"cells[{width}]",)

        def define(self, t):
            t.boolean(t.cells[0])
            t.send(Bus("bus"), list(t.cells), 1)

    return Table().describe()


def jobs(name, *turns):
    return [Job(turn, f"{turn.name} of {name}", f"{turn.name} of {name}" + "." * len(name)) for turn in turns]


def jobs_of(air):
    return jobs(air.name, Turn.QUOTIENT, Turn.LOOKUPS)


class Gate:
    """A compiler stand-in that records the compiled texts, and waits for permission."""

    def __init__(self):
        self.open, self.begun, self.done = threading.Event(), threading.Event(), []

    def __call__(self, job):
        self.begun.set()
        assert self.open.wait(600)
        self.done.append(job)


def test_all_that_a_statement_needs_is_compiled(tmp_path, monkeypatch):
    """Compare with the texts that the rounds request: quotients and lookups."""
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    guest = open_program(FIB)
    airs = guest.statement_about(guest.record((1000).to_bytes(8, "little"))).descriptions
    done = []
    ahead = Ahead(source_cache.table_jobs, done.append)
    ahead.expect(airs)
    ahead.wait()
    needed = set()
    for air in airs:
        needed.update(source_cache.made_quotient(air).texts)
        needed.update(source_cache.made_lookups(air).texts)
    assert len(needed) > 20 and {job.text for job in done} == needed and len(done) == len(needed)
    assert all(map(ahead.expects, needed)) and not ahead.expects("another")
    assert all(job.name.startswith(("lookups of ", "quotient of ")) and " columns" in job.name for job in done)


def test_what_a_program_can_have_is_a_guess_at_what_it_has():
    guest = open_program(FIB)
    possible = set(possible_tables(guest.compiled()))
    has = set(guest.statement_about(guest.record((1000).to_bytes(8, "little"))).descriptions)
    assert {air.name for air in has - possible} == {"boundary", "output_memory"}  # tables that depend on the run


def test_operations_come_first_and_quotients_last():
    done = []
    ahead = Ahead(jobs_of, lambda job: done.append(job.name), threads=1)
    ahead.expect([table(2), table(3)], jobs("files", Turn.OPERATION))
    ahead.wait()
    assert [name.split()[0] for name in done] == ["OPERATION", "LOOKUPS", "LOOKUPS", "QUOTIENT", "QUOTIENT"]


def test_quotients_wait_until_all_tables_are_described():
    """Start quotients last, so that all threads can compile the lookups of the last table."""
    done = []

    def slowly(air):
        if air == table(3):
            while not done:
                time.sleep(0.01)
            time.sleep(0.2)
        return jobs_of(air)

    ahead = Ahead(slowly, lambda job: done.append(job.name), threads=3)
    ahead.expect([table(2), table(3)])
    ahead.wait()
    assert [name.split()[0] for name in done] == ["LOOKUPS", "LOOKUPS", "QUOTIENT", "QUOTIENT"]


def test_every_text_is_compiled_once():
    done = []
    ahead = Ahead(jobs_of, done.append, threads=4)
    for _ in range(3):
        ahead.expect([table(2), table(2), table(3)], jobs("files", Turn.OPERATION))
        ahead.wait()
    assert len(done) == 5


def test_a_proof_that_needs_nothing_new_starts_no_thread():
    ahead = Ahead(jobs_of, lambda job: None, threads=4)
    ahead.expect([table(2)])
    ahead.wait()
    before = set(threading.enumerate())
    ahead.expect([table(2)])
    assert set(threading.enumerate()) <= before


def test_few_threads_load_and_all_compile(monkeypatch):
    """Start more threads only after a kernel that took as long as a compilation."""
    monkeypatch.setattr(compile_queue, "_LOADERS", 2)
    for loaded, most in ((60.0, 2), (0.0, 5)):
        monkeypatch.setattr(compile_queue, "_LOADED", loaded)
        idents = set()

        def run(job, idents=idents):
            idents.add(threading.get_ident())
            time.sleep(0.02)

        ahead = Ahead(list, run, threads=5)
        ahead.expect([], [Job(Turn.OPERATION, str(i), str(i)) for i in range(30)])
        ahead.wait()
        assert len(idents) == most


def test_guesses_end_when_it_is_known_what_is_needed():
    gate = Gate()
    ahead = Ahead(jobs_of, gate, threads=1)
    drawn = []

    def guesses():
        for width in (5, 6, 7, 8):
            drawn.append(width)
            yield table(width)

    ahead.expect(guesses(), jobs("files", Turn.OPERATION), guess=True)
    assert gate.begun.wait(600)
    ahead.expect([table(2)], jobs("files", Turn.OPERATION))
    gate.open.set()
    ahead.wait()
    names = [job.name for job in gate.done]
    assert names[0] == "OPERATION of files" and names[-1] == "QUOTIENT of table 2" and len(set(names)) == len(names)
    assert len(names) == 3 and not any(ahead.expects(job.text) for job in jobs("table 5", Turn.LOOKUPS))
    ahead.expect(guesses(), guess=True)
    ahead.wait()
    assert len(gate.done) == 3


def test_guesses_are_compiled_while_there_is_nothing_else():
    done = []
    ahead = Ahead(jobs_of, lambda job: done.append(job.name), threads=2)
    ahead.expect(iter([table(5)]), guess=True)
    ahead.wait()
    assert len(done) == 2


def test_what_fails_is_left_to_who_needs_it():
    done = []

    def run(job):
        if job.turn == Turn.LOOKUPS:
            raise RuntimeError("the compiler fails")
        done.append(job.name)

    def describe(air):
        if air.name == "table 3":
            raise ValueError("no text")
        return jobs_of(air)

    ahead = Ahead(describe, run, threads=2)
    ahead.expect([table(2), table(3), table(4)])
    ahead.wait()
    assert sorted(done) == ["QUOTIENT of table 2", "QUOTIENT of table 4"]
    quotient, lookups = jobs_of(table(2))
    assert ahead.expects(quotient.text) and not ahead.expects(lookups.text)


def test_a_program_that_ends_does_not_wait_for_what_is_left():
    code = """
import time
from graphprover.kernels.cuda.compile_queue import Ahead, Job, Turn
from graphprover.runtime.signals import COMPILER, pending_compilations
ahead = Ahead(list, lambda job: time.sleep(0.3), threads=2)
ahead.expect([], [Job(Turn.LOOKUPS, str(i), str(i)) for i in range(1000)])
print(time.time())
"""
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert time.time() - float(ended) < 60  # instead of 150


def test_a_process_says_what_it_waits_for():
    assert not pending_compilations()
    gate = Gate()
    own = Ahead(jobs_of, gate, threads=1)
    own.expect([table(2)])
    assert gate.begun.wait(600)
    assert pending_compilations().startswith("1 kernel begun meanwhile")
    gate.open.set()
    own.wait()
    for thread in threading.enumerate():
        if thread.name.startswith(COMPILER):
            thread.join()
    assert not pending_compilations()


def test_the_same_work_is_done_by_one_at_a_time(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # other processes of tests have locks of their own
    inside, most = [], []

    def work():
        with alone("the same work"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    with alone("other work"):
        for thread in threads:
            thread.join()
    assert most == [1, 1] and not list(private_folder().glob("*.lock"))


def test_the_same_work_is_not_waited_for_for_ever(monkeypatch):
    """The process that does the work may have stopped."""
    monkeypatch.setattr(files, "SAME_WORK", 0.1)
    inside = []

    def work():
        with alone("the same work"):
            inside.append(1)

    with alone("the same work"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert inside
