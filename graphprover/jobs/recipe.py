"""A program with the options of its proofs: the common part of jobs and provers."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphprover.jobs.opening import Packed, PackedCheck, pack, unpack
from graphprover.jobs.programs import Program, ProgramError, is_packaged
from graphprover.proof.compressed import AnyProof, CompressedProof, ShardHeaders
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.goal import Goal
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.parameters import FAST, RATES
from graphprover.protocol.proof import Caps
from graphprover.prover.made import Made
from graphprover.verifier import Verdict, expect
from graphprover.verifier.any_proof import parsed
from graphprover.verifier.headers import check_level
from graphprover.verifier.shards import Expected
from graphprover.vm.executor.debug import Debug, to_stderr
from graphprover.vm.statement.claim import ANY

if TYPE_CHECKING:
    from graphprover.graphs.planner.layers import Target
    from graphprover.prover.layer_tree import ProveLayers


class Recipe:
    """A program and the options of its proofs.

    It travels to workers as bytes: the ELF file, or the sources of a ``.py`` program, without the receiver of debug
    text.

    Args:
        program: The program.
        level: The level of the proofs.
        layers: The level of each layer of a compressed proof, or the goal for which they are chosen; none without
            compression.
        small: As in `graphprover.Prover`.
        shards: As in `graphprover.Prover`.
        shard_size: As in `graphprover.Prover`.
        debug: As in `graphprover.Prover`.
    """

    mock = False  # whether a `graphprover.Prover` makes mock proofs, for which there are no jobs

    def __init__(
        self,
        program: Program,
        level: Level,
        layers: tuple[LayerLevel, ...] | Goal = (),
        *,
        small: float | None = None,
        shards: int | None = None,
        shard_size: int | None = None,
        debug: Debug | None = to_stderr,
    ) -> None:
        self.program = program
        self.level = level
        self.layers: tuple[LayerLevel, ...] | Goal = layers
        self.small, self.shards, self.shard_size = small, shards, shard_size
        self.debug = debug

    def __getstate__(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in ("level", "layers", "small", "shards", "shard_size")}
        return options | {"packed": self.packed, "debug": None}

    @cached_property
    def alone(self) -> "Recipe":
        """The recipe without the fields of a subclass: it travels with jobs, so that workers import no `Prover`."""
        own = object.__new__(Recipe)
        own.__dict__.update(Recipe.__getstate__(self))
        return own

    @property
    def name(self) -> str:
        """The name of the program, which is known before the program is open."""
        name: str = (self.__dict__.get("program") or self.packed).name
        return name

    @property
    def layers_text(self) -> str:
        """The layers of a compressed proof as a text: layers at 1/8, 1/64."""
        if isinstance(self.layers, Goal):
            return f"layers chosen for {self.layers}"
        return "layers at " + ", ".join(f"1/{layer.rate}" for layer in self.layers)

    @cached_property
    def program(self) -> Program:
        """The open program; raises ProgramError if one from another process cannot be opened here."""
        return unpack(self.packed)

    @cached_property
    def packed(self) -> Packed:
        """The program as bytes; raises ProgramError for one that cannot travel."""
        return pack(self.program)

    def verify(
        self, proof: AnyProof | MockProof | bytes, *, exit_code: int | str = 0, allow_mock: bool = False
    ) -> Verdict:
        """Check that a proof is of this program and has the security of this prover.

        Args:
            proof: The proof, or its bytes.
            exit_code: The exit code that a guest must have ended with, or ``"any"``. By default the proof of a run that
                failed is refused.
            allow_mock: As in `graphprover.verify`.

        Returns:
            The verdict. Of a guest its ``claim`` has the output, the exit code, the cycles and the stated input; of
            tables ``program.describe`` turns its public values into words.

        Raises:
            VerificationError: if the proof does not convince; for another exit code by the rule ``asked.exit_code``.
            ProgramError: for an exit code of tables.
        """
        level, proof = self.level, parsed(proof, allow_mock)
        return self.program.verify(proof, level.security, level.proximity, exit_code=exit_code, allow_mock=allow_mock)

    def verify_made(self, proof: AnyProof, caps: Caps) -> Verdict:
        """Check an own proof of any exit code; ``caps`` and errors: as for `programs.Program.verify`."""
        level = self.level
        return self.program.verify(proof, level.security, level.proximity, exit_code=ANY, preprocessed=caps)

    @cached_property
    def check_elsewhere(self) -> PackedCheck | None:
        """`verify_made` by another process of this host.

        It is None for a program that cannot travel, and for tables that are no packaged example: their code is the
        user's, and running it in two processes may have effects.
        """
        try:
            known = self.program.has_runs or is_packaged(self.program.name)
            return PackedCheck(self.packed, self.level) if known else None
        except ProgramError:
            return None

    def expect(self, headers: Proof | ShardedProof) -> Expected:
        """Verify the headers of a proof, and return the verification of its shards.

        Raises:
            VerificationError: if a header is wrong.
        """
        check_level(headers, self.level.security)  # before the statement, which may be expensive to make
        statement = self.program.statement_of(headers, coming=True)
        return expect(headers, statement, self.level.security, self.level.proximity)

    def compressed(self, made: Made, prove: "ProveLayers", target: "Target") -> Made:
        """Compress a proof in one shard or several with all layers.

        Args:
            made: The proof, which is verified by its layers, or its headers.
            prove: Proves layers.
            target: The devices that prove layers.
        """
        from graphprover.prover.layer_tree import compressed  # here, because other proofs need no layers

        assert not isinstance(made.proof, CompressedProof)
        statement = self.program.statement_of(made.proof, coming=isinstance(made.proof, ShardHeaders))
        return compressed(made, statement, self.level, self.layers, prove, target)

    def commit(self) -> None:
        """Make the commitment that takes most of the time of the first verification of a guest's proof.

        Without a rate it is the commitment at 1/2, the rate of most long runs. For a proof at another rate the
        verification computes its own commitment.
        """
        self.program.commit(self.level.hash, RATES[self.level.rate or FAST])
