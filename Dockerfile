# The command, with what it needs for Kafka and the live page. compose.yaml builds it.
FROM python:3.12.8-slim-bookworm

RUN useradd --create-home --uid 1000 learner
COPY --chown=learner . /src
RUN pip install --no-cache-dir '/src[cli,kafka,dashboard]'
# Kernels that any user may read, also where nothing can be written, see docs/containers.md.
ENV STREAM_LLSVM_CACHE=/opt/stream_llsvm
RUN install --directory --owner=learner "$STREAM_LLSVM_CACHE"

USER learner
WORKDIR /home/learner
# Kernels are compiled now, into the image, and not at every start of a container: for all processors
# of the last ten years, not for the one that builds the image.
RUN python /src/tools/compile_kernels.py
# What a volume that is mounted there shall belong to.
RUN mkdir /home/learner/kept
ENTRYPOINT ["stream-llsvm"]
CMD ["--help"]
