# The command, with what it needs for Kafka, the live page and the server. docs/deployment.md says
# how to run it; compose.yaml builds it.

FROM python:3.12.8-slim-bookworm AS build
WORKDIR /src
RUN python -m venv --without-pip /opt/stream_llsvm
COPY LICENSE README.md pyproject.toml setup.py ./
COPY connectors connectors
COPY stream_llsvm stream_llsvm
COPY tools tools
# What is installed is this folder, which says itself which versions it takes.
# hadolint ignore=DL3013
RUN pip --python /opt/stream_llsvm/bin/python install --no-cache-dir --no-compile \
        '.[cli,kafka,dashboard,serve]'
# Kernels are compiled now, into the package, and not at every start of a container: for all processors
# of the last ten years, not for the one that builds the image. That takes minutes: a layer of its own.
# hadolint ignore=DL3059
RUN STREAM_LLSVM_CACHE=/tmp/kernels /opt/stream_llsvm/bin/python tools/compile_kernels.py --ship
# Without tests and headers of others, and with bytecode, which has no place to be written later.
# Not all files of others compile: some are templates.
RUN find /opt/stream_llsvm/lib -type d \( -name tests -o -name include \) -prune -exec rm -r {} + \
    && { /opt/stream_llsvm/bin/python -m compileall -q -j 0 /opt/stream_llsvm/lib || true; }
COPY deploy/container/health.py /opt/stream_llsvm/bin/healthy
COPY examples/bananas.csv /opt/stream_llsvm/share/

FROM python:3.12.8-slim-bookworm
COPY --from=build /opt/stream_llsvm /opt/stream_llsvm
ENV PATH=/opt/stream_llsvm/bin:$PATH PYTHONDONTWRITEBYTECODE=1
# What is kept: a volume that is mounted here gets this owner. Any other user id will do as well, if it
# may write to the volume; with group 0, it may.
RUN install --directory --owner 1000 --group 0 --mode 0775 /kept
WORKDIR /kept
USER 1000:0
# Of the page (run --dashboard 0.0.0.0:8765) and of the server (serve --host 0.0.0.0).
EXPOSE 8765 8766
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-I", "-S", "/opt/stream_llsvm/bin/healthy"]
ENTRYPOINT ["stream-llsvm"]
CMD ["--help"]
