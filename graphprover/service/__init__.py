"""A proving service: HTTP in front of a durable queue, a prover process, and a store of proofs (docs/serve.md).

The process of the service, which imports neither Dask nor a compiler:

- `server` runs the application `app`; `routes/` has its routes by resource, `dependencies` their parts of the
  service, `asgi` its outer layers, `requests` its JSON, `problems` its errors.
- `queue` has the jobs, in the tables of `database`, with the transitions of their `states`; `store` the files.
- `connections` limits requests before they are authenticated.
- `uploads` takes programs and inputs, and `keys` has verifying keys made, each by a `key_process`.
- `tokens` names clients, and `browsers` refuses pages of other hosts if there are no tokens.
- `file_names` names downloads.
- `callbacks` tells clients of the end of a job.
- `supervisor` starts the prover process, `orphans` ends one whose service was killed, and `attendant` does the regular
  work.
- `checks`, `metrics` and `json_log` report; `counted` names the metrics that the prover process counts.

The prover process:

- `prover_process` is its main module; `runner` gives the jobs of the queue to `graphprover.prove_many`, as `jobs`.

Clients:

- `client`, which needs only Python's standard library.
"""

from graphprover.service.client import Client, JobFailed, ServiceError

__all__ = ["Client", "JobFailed", "ServiceError"]
