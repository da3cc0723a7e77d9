"""svmlight, also called libsvm: ``label index:value index:value # comment``.

A feature's name is its index as text, whether they count from 0 or from 1. What a line does not
name is left out of the record. A label is a number, a whole one where it can be (``+1`` is 1);
``qid:`` is passed over, and a line that starts with a feature has no label.
"""

from __future__ import annotations

import math

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Record
from stream_llsvm.connectors.values import Bad
from stream_llsvm.records.values import show


class SvmlightCodec(Codec):
    """Reads lines of svmlight; the options `label` and `key` mean nothing here.

    Examples
    --------
    >>> codec = SvmlightCodec()
    >>> batch = codec.decode([b"+1 qid:3 1:0.5 7:2 # first", b"-1 2:1"], list("xy"), {})
    >>> batch.records, batch.labels
    ([{'1': 0.5, '7': 2.0}, {'2': 1.0}], [1, -1])

    """

    def one(self, raw: bytes) -> Record | None:
        """Read one line; None if it is blank or only a comment."""
        try:
            text = raw.partition(b"#")[0].decode()
        except UnicodeDecodeError as error:
            raise Bad("invalid UTF-8", f"byte {error.start + 1}: {show(raw)[:80]}") from None
        tokens = text.split()
        if not tokens:
            return None
        label = None if ":" in tokens[0] else _label(tokens.pop(0))
        texts: dict[str, str] = {}
        for token in tokens:
            index, colon, value = token.partition(":")
            if index == "qid":
                continue
            if not (colon and value and index.isascii() and index.isdigit() and len(index) < 20):
                raise Bad("invalid svmlight", f"{show(token)[:80]} is not index:value")
            name = str(int(index))
            if name in texts:
                raise Bad("invalid svmlight", f"index {name} comes twice")
            texts[name] = value
        wanted = ((name, text) for name, text in texts.items() if self.selection.wanted(name))
        x, unread = self.values.row(wanted, self.values.read)
        return Record(x, label, None, unread)


def _label(text: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if "_" in text or not math.isfinite(number):
        raise Bad("odd label", show(text)[:80])
    return int(number) if number.is_integer() else number
