"""The module that ``dask worker … --preload graphprover.worker`` names: see `graphprover.cluster.worker`."""

from graphprover.cluster.worker import dask_setup as dask_setup
