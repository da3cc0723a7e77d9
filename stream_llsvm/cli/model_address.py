"""The model of a run with a live page, asked for over HTTP."""

from __future__ import annotations

import http.client
import time
from urllib.error import HTTPError

from stream_llsvm.cli.top import asked_of
from stream_llsvm.engine.snapshots import Snapshot
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model.file import ModelFileError, loads

_PATIENCE = 10.0  # seconds
_LARGEST = 1 << 32  # bytes


class ModelAddress:
    """The newest model of a run.

    Parameters
    ----------
    address
        The page's, such as ``http://localhost:8765/?token=...``.

    """

    def __init__(self, address: str) -> None:
        self._request, self._opener = asked_of(address, "/api/model")
        self._tag = ""

    def newer(self) -> Snapshot | None:
        """Return the newest; None if there is none, or it was returned already.

        Raises OSError if nobody answers, or ModelFileError.
        """
        self._request.add_header("If-None-Match", self._tag)
        try:
            with self._opener.open(self._request, timeout=_PATIENCE) as answer:
                tag, age = answer.headers.get("ETag", ""), answer.headers.get("Age", "0")
                content = answer.read(_LARGEST)
        except HTTPError as error:
            with error:
                if error.code == http.client.NOT_MODIFIED:
                    return None
                raise OSError(f"{self._request.full_url} answers {error.code}") from None
        except http.client.HTTPException as error:
            raise OSError(f"{self._request.full_url}: {error}") from None
        learned = tag.strip('"')
        if not (learned.isdecimal() and age.replace(".", "", 1).isdecimal()):
            raise ModelFileError(f"{self._request.full_url} is no live page of a run")
        model = from_payload(loads(content))
        self._tag = tag
        return Snapshot(model, int(learned), time.time() - float(age))
