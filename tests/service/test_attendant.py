"""The regular work of a service."""

import asyncio
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import OK
from graphprover.service import server
from graphprover.service.attendant import Attendant
from graphprover.service.database import connect
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.supervisor import Supervisor
from graphprover.service.uploads import Uploads
from tests.service.quiet import config_in, served
from tests.service.test_app import GUEST, done


def test_old_jobs_are_removed_with_their_proofs_and_uploads(tmp_path: Path) -> None:
    config = config_in(tmp_path, keep_days=0.0)
    with served(config) as quiet, (tmp_path / "lock").open("a+") as lock:
        quiet.client().upload_program(GUEST)
        done(quiet, max_cycles=3)
        quiet.queue.notice()
        uploads = Uploads(connect(config.database), quiet.store)
        metrics = ServiceMetrics(quiet.queue, Supervisor(config, quiet.queue, lock, lambda: None))
        attendant = Attendant(quiet.queue, quiet.store, uploads, metrics, config.keep_days)

        def files() -> list[Path]:
            return [path for path in Path(config.store).rglob("*") if path.is_file()]

        async def removed() -> None:
            work = asyncio.create_task(attendant.run())
            while files():
                await asyncio.sleep(0.01)
            work.cancel()

        assert files() and quiet.client().jobs()
        asyncio.run(asyncio.wait_for(removed(), 60))
        assert not quiet.client().jobs()


def test_the_command_gives_its_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float | None] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda config, *rest: given.append(config.keep_days) or OK)
    assert main(["serve", "--keep-days", "0.5"]) == main(["serve"]) == OK and given == [0.5, None]
