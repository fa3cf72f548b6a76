"""The module for ``dask worker … --preload graphprover.worker``; see `graphprover.cluster.worker`."""

from graphprover.cluster.worker import dask_setup as dask_setup
