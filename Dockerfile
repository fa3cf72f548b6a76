# Images of graphprover; docs/deploy.md describes them.
#   docker build --target service -t graphprover-service .
#   docker build --target graphprover -t graphprover .
#   docker build --target graphprover --build-arg EXTRAS=cuda13,serve -t graphprover:cuda13 .
ARG PYTHON=python:3.11.14-slim-bookworm

FROM ${PYTHON} AS build
ARG EXTRAS=prover,serve
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/graphprover
WORKDIR /source
COPY . .
RUN /opt/graphprover/bin/pip install ".[${EXTRAS}]"
# Kernels that the package does not contain for this processor, beside the sources.
# hadolint ignore=DL3059
RUN /opt/graphprover/bin/graphprover warm --device cpu

# For Dask's scheduler and workers, and for all commands.
FROM ${PYTHON} AS graphprover
RUN useradd --uid 10001 --create-home graphprover \
    && install --directory --owner=graphprover --mode=0700 /data /cache
COPY --from=build /opt/graphprover /opt/graphprover
# The driver of the host serves GPUs; "utility" is NVML, which counts energy.
ENV PATH=/opt/graphprover/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/cache/numba \
    CUPY_CACHE_DIR=/cache/cupy \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
WORKDIR /data
CMD ["graphprover", "--help"]

FROM graphprover AS service
EXPOSE 8750
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8750/healthz', timeout=4)"]
CMD ["graphprover", "serve", "--host", "0.0.0.0", "--data", "/data", "--tokens", "/etc/graphprover/tokens"]
