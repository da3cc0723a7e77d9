"""Many records at once: the same steps in the same order, to the bit, as one record at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.learners.answers import AnswersMany, decoded
from stream_llsvm.learners.weights import checked_weights
from stream_llsvm.locks import locked
from stream_llsvm.model.growth import GrowingModel
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.state import ModelState
from stream_llsvm.model.warm_start import History, Order, warm_start
from stream_llsvm.options import whole
from stream_llsvm.records.column_space import Texts
from stream_llsvm.records.columns import is_derived
from stream_llsvm.records.frames import Matrix, as_matrix
from stream_llsvm.records.labels import LabelSpace, as_labels
from stream_llsvm.records.sparse import SparseRows

#: Numbers that are encoded at once: 2 MB, which are still in cache when the kernel reads them.
_BLOCK_FLOATS = 2**18
#: Corrects answers in place: of rows that begin at one of the batch, as the kernel had them.
Correct = Callable[[int, Rows], None]


class ManyRecords(GrowingModel, AnswersMany):
    """The methods that take frames and arrays."""

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from each row in turn: the same, to the bit, as `learn_one` row by row.

        Parameters
        ----------
        X
            Any eager dataframe that narwhals reads (pandas, polars, pyarrow, ...) or a 2-D array,
            whose features are then named 0, 1, ...; or a scipy sparse matrix, whose records name
            only what is stored (if it has more than 64 columns).
        y
            One label a row.
        w
            How much each record counts: one number, or one a row.

        """
        self._test_then_learn(X, y, w, keep=False)

    @locked
    def test_then_learn(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[Any]:
        """Learn from each row in turn, and return the labels predicted just before.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        w
            How much each record counts: one number, or one a row.

        Returns
        -------
        numpy.ndarray
            One label a row; None where nothing had been learned yet.

        """
        likeliest = self._test_then_learn(X, y, w, keep=True)
        return decoded(self._labels.labels, likeliest)

    @locked
    def _test_then_learn(self, X: Any, y: Any, w: Any, *, keep: bool) -> NDArray[np.int64]:
        # Where nobody is told what was predicted, no prediction waits for its label.
        names, matrix, texts = as_matrix(X)
        labels = as_labels(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        if not (importance > 0).any():
            return self._proba_of(names, matrix, keep=keep)[1]
        return self._test_then_learn_rows(names, matrix, labels, importance, keep=keep, texts=texts)

    @locked
    def _test_then_learn_rows(
        self,
        names: Sequence[Hashable],
        matrix: Matrix,
        labels: Sequence[Hashable],
        importance: NDArray[np.float64],
        sure: NDArray[np.float64] | None = None,
        known: NDArray[np.int64] | None = None,
        *,
        keep: bool = True,
        shares: list[NDArray[np.float64]] | None = None,
        texts: Texts | None = None,
        correct: Correct | None = None,
    ) -> NDArray[np.int64]:
        """Return the codes predicted; fills ``sure``: (2, n), of the prediction, of the truth.

        A label of a row that counts nothing is a truth all the same, if it is known by then.

        ``shares``, if given, gets the probabilities of all classes that were known at each row:
        matrices whose rows are those of the batch, in order. ``known`` are the codes of the labels,
        if all are known and count. Unless ``keep`` is false, the predictions of rows that count
        nothing wait for their labels. ``texts`` are those of the names, by codes. ``correct`` has
        the last word on answers.
        """
        n = len(matrix)
        likeliest = np.full(n, -1, dtype=np.int64)
        ahead = LabelSpace(self._labels.labels)
        firsts: set[int] = set()  # rows that bring a new class
        if known is None and importance.all():
            known = self._labels.known(labels)
        if known is not None:
            codes = truth = known
        else:
            codes = np.full(n, -1, dtype=np.int64)  # a row that counts nothing is only predicted
            truth = codes.copy()
            for i, label in enumerate(labels):
                if importance[i] == 0:
                    truth[i] = -1 if label is None else ahead.code(label)
                    continue
                before = len(ahead)
                codes[i] = truth[i] = ahead.add(label)
                if codes[i] == before:
                    firsts.add(i)
        arriving = self._features.arriving(names, matrix, texts, importance > 0)
        if arriving or firsts:
            self._refuse_if_too_large(arriving, firsts, _named_in(names, matrix))
        cuts = sorted({*_blocks(matrix), *firsts, *arriving, n})
        waiting: list[Hashable] = []
        for begin, end in itertools.pairwise(cuts):
            waiting += arriving.get(begin, ())
            brings = bool(waiting) or begin in firsts
            brought = [labels[begin]] if importance[begin] > 0 else []
            if self._state is None and not brought:
                if shares is not None:
                    shares.append(np.zeros((end - begin, 0)))
                continue
            if brings:
                # The row is predicted without knowing of the class or the features it brings.
                one = matrix[begin : begin + 1]
                first_proba, first = raw = self._proba_of(names, one, keep=False)
                if correct is not None:
                    own = _behind(correct, begin)
                    first_proba, first = self._proba_of(names, one, keep=False, correct=own)
                self._make_room(waiting, brought)
                waiting = []
            rows = self._features.encode_many(names, matrix[begin:end])
            memory = self._state
            assert memory is not None
            part = slice(begin, end)
            proba = np.zeros((end - begin, memory.n_classes))
            memory.run(
                *rows, codes[part], importance[part], likeliest[part], proba, self._threads,
                keep=keep,
            )  # fmt: skip
            if correct is not None:
                if brings:
                    _put_first(proba, likeliest[part], *raw)
                weights = importance[part]
                correct(begin, Rows(*rows, codes[part], weights, proba, likeliest[part]))
            if brings:
                _put_first(proba, likeliest[part], first_proba, first)
            if shares is not None:
                shares += [first_proba, proba[1:]] if brings else [proba]
            if sure is not None:
                each = np.arange(end - begin)
                sure[0, part] = np.where(likeliest[part] >= 0, proba[each, likeliest[part]], 0.0)
                sure[1, part] = np.where(truth[part] >= 0, proba[each, truth[part]], 0.0)
        return likeliest

    def _refuse_if_too_large(
        self,
        arriving: dict[int, list[Hashable]],
        firsts: set[int],
        named: dict[Hashable, float],
    ) -> None:
        """Raise ValueError if a class on the way would not fit, before anything is learned."""
        width = 0 if self._state is None else self._state.width
        features, classes = len(self._features), len(self._labels)
        names_come = self._features.has_derived
        needed = features + sum(map(len, arriving.values()))
        local = self._local_for(needed, sum(named.values()))
        for row in sorted({*arriving, *firsts}):
            features += len(arriving.get(row, ()))
            names_come |= is_derived(arriving.get(row, ()))
            classes += row in firsts
            if classes > 0:  # a model begins with its first class
                width = self._width_for(
                    width,
                    features,
                    classes,
                    names_come=names_come,
                    local=local,
                    same_scores=classes == len(self._labels),
                )
                features = min(features, width)

    def warm_start(self, X: Any, y: Any, epochs: int = 10, w: Any = 1.0) -> None:
        """Learn from history first, then go live.

        A model that has no anchors yet gets them by k-means; then come several passes over the
        records, each in a fresh random order, SAPL Algorithm 1, in steps that shrink. Before that,
        three models each take a third of so many passes over two thirds of the records, and the
        mixer is fitted to what their experts say of the others: which to trust with records that
        they have not seen. A memory of records reaches over all of history, at most 20,000, and
        shrinks back to its usual window as the model lives.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        epochs
            How many passes.
        w
            How much each record counts: one number, or one a row.

        """
        whole("epochs", epochs, 1, 1_000_000)
        names, matrix, texts = as_matrix(X)
        labels = as_labels(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        counts = np.flatnonzero(importance)
        if len(counts) < len(matrix):
            matrix, importance = matrix[counts], importance[counts]
            labels = [labels[i] for i in counts.tolist()]
        self._warm_start_rows(names, matrix, labels, epochs, importance=importance, texts=texts)

    @locked
    def _warm_start_rows(
        self,
        names: Sequence[Hashable],
        matrix: Matrix,
        labels: Sequence[Hashable],
        epochs: int,
        optimum: Callable[[ModelState, History, Order, int], None] | None = None,
        importance: NDArray[np.float64] | None = None,
        texts: Texts | None = None,
    ) -> None:
        if len(matrix) == 0:
            return
        if importance is None:
            importance = np.ones(len(matrix))
        unknown = self._features.unknown_in(names, matrix, texts)
        self._make_room(unknown, labels, _named_in(names, matrix))
        assert self._state is not None
        self._make_history_room(len(matrix))
        codes = self._labels.codes(labels)
        history = History(self._features, names, matrix, codes, importance)
        warm_start(self._state, history, epochs, np.random.default_rng(self.seed), optimum)

    def _codes_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.int64]:
        return self._shares_and_codes(names, matrix)[1]

    def _shares_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.float64]:
        return self._shares_and_codes(names, matrix)[0]

    @locked
    def _shares_and_codes(
        self, names: Sequence[Hashable], matrix: Matrix
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self._state is not None:
            self._warn_of_unknown_in(names, matrix)
        return self._proba_of(names, matrix)

    @locked
    def _proba_of(
        self,
        names: Sequence[Hashable],
        matrix: Matrix,
        *,
        keep: bool = True,
        correct: Correct | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        n = len(matrix)
        proba = np.zeros((n, len(self._labels)))
        likeliest = np.full(n, -1, dtype=np.int64)
        if self._state is not None and n > 0:
            unlabelled = np.full(n, -1, dtype=np.int64)
            blocks: Sequence[int] = _blocks(matrix)
            unknown = self._features.unknown_in(names, matrix, None) if keep else []
            if is_derived(unknown):  # some rows bring names
                blocks = range(n)
            elif unknown:
                keep = False
            for begin, end in itertools.pairwise([*blocks, n]):
                part = slice(begin, end)
                rows = self._features.encode_many(names, matrix[part])
                self._state.run(
                    *rows, unlabelled[part], None, likeliest[part], proba[part], self._threads,
                    keep=keep and not self._features.ignored,
                )  # fmt: skip
                if correct is not None:
                    weights = np.ones(end - begin)
                    told = proba[part], likeliest[part]
                    correct(begin, Rows(*rows, unlabelled[part], weights, *told))
        return proba, likeliest


def _behind(correct: Correct, begin: int) -> Correct:
    """Return what corrects rows that stand behind so many others."""
    return lambda first, rows: correct(begin + first, rows)


def _put_first(
    proba: NDArray[np.float64],
    likeliest: NDArray[np.int64],
    first_proba: NDArray[np.float64],
    first: NDArray[np.int64],
) -> None:
    """Let the first row be answered so, maybe with fewer classes than there are by now."""
    likeliest[0] = first[0]
    proba[0] = 0
    proba[0, : first_proba.shape[1]] = first_proba[0]


def _named_in(names: Sequence[Hashable], matrix: Matrix) -> dict[Hashable, float]:
    """Return which share of sparse rows names each feature; nothing of dense ones."""
    if not isinstance(matrix, SparseRows) or len(matrix) == 0:
        return {}
    columns, counts = np.unique(matrix.columns, return_counts=True)
    return {names[c]: n / len(matrix) for c, n in zip(columns, counts.tolist(), strict=True)}


def _blocks(matrix: Matrix) -> range:
    """Return where blocks of rows begin: as many as are encoded at once."""
    if isinstance(matrix, SparseRows):
        return range(1)
    return range(0, max(1, len(matrix)), max(1, _BLOCK_FLOATS // max(1, matrix.shape[1])))
