# The command, with what it needs for Kafka and the live page. compose.yaml builds it.
FROM python:3.12.8-slim-bookworm

RUN useradd --create-home --uid 1000 learner
COPY --chown=learner . /src
RUN pip install --no-cache-dir '/src[cli,kafka,dashboard]'
USER learner
WORKDIR /home/learner
# Kernels are compiled now, into the image, and not at every start of a container.
RUN python -c "from stream_llsvm import CommitteeClassifier as C; m = C(); \
    [m.learn_one({'x': float(i)}, i % 2) for i in range(9)]; \
    m.test_then_learn([[1.0], [2.0]], [0, 1])"
# What a volume that is mounted there shall belong to.
RUN mkdir /home/learner/kept
ENTRYPOINT ["stream-llsvm"]
CMD ["--help"]
