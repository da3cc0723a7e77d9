"""The command ``stream-llsvm``: pipelines, evaluation and looking into files, from a shell."""
