"""The model file: whole or not at all, and nothing but `ModelFileError` for a bad one."""

import hashlib
import os
import random
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.model import file as model_file
from stream_llsvm.model.file import ModelFileError
from tests.packed import TEXT, VALUES, same

ROOT = Path(__file__).resolve().parents[1]


def sealed(body: bytes, version: int = 2) -> bytes:
    """Put a valid header before any body, as an attacker would."""
    head = struct.pack(">HQ", version, len(body))
    checksum = hashlib.blake2b(head + body, digest_size=32).digest()
    return b"\x89LLSVM\r\n" + head + checksum + body


def extension(code: int, data: bytes) -> bytes:
    """Return a payload with one extension value in it."""
    return b"\x81\xa1x" + bytes(msgpack.packb(msgpack.ExtType(code, data)))


def array(dtype: bytes, shape: tuple[int, ...], data: bytes, code: int = 3) -> bytes:
    """Return a payload with one array, which may be told wrongly."""
    return extension(code, dtype + struct.pack(f">B{len(shape)}Q", len(shape), *shape) + data)


SMALL = model_file.dumps({"a": [1, (2.5, None)], "w": np.arange(3, dtype=np.float32)})


class TestDamage:
    def test_every_flipped_bit(self) -> None:
        for position in range(8 * len(SMALL)):
            flipped = bytearray(SMALL)
            flipped[position // 8] ^= 1 << position % 8
            with pytest.raises(ModelFileError):
                model_file.loads(bytes(flipped))

    def test_every_truncation(self) -> None:
        for length in range(len(SMALL)):
            with pytest.raises(ModelFileError, match="truncated"):
                model_file.loads(SMALL[:length])

    def test_something_appended(self) -> None:
        with pytest.raises(ModelFileError, match="damaged"):
            model_file.loads(SMALL + b"\0")

    @pytest.mark.parametrize("data", [b"\x80\x04\x95", b"x", b"a,b,c\n" * 99, SMALL[1:]])
    def test_foreign(self, data: bytes) -> None:
        with pytest.raises(ModelFileError, match="not a model file"):
            model_file.loads(data)

    def test_newer_version(self) -> None:
        with pytest.raises(ModelFileError, match=r"newer version.*format 3,.*format 2; upgrade"):
            model_file.loads(sealed(b"\x80", version=3))


class TestHostile:
    """The checksum is right, the contents are not."""

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "malformed"),
            (b"\xc1", "malformed"),
            (b"\x80\x80", "something follows"),
            (b"\x90", "not a dict"),
            (b"\x81\x01\x02", "not a dict with names"),
            (b"\x81\xa1x", "malformed"),
            (b"\x81\xa1x\xdd\xff\xff\xff\xff\x01", "malformed"),
            (b"\xdf\xff\xff\xff\xff\xa1x\x01", "malformed"),
            (b"\x81\xa1x\xc6\xff\xff\xff\xff\x01", "malformed"),
            (b"\x82\xa1x\x01\xa1x\x02", "same key twice"),
            (b"\x81\xa1x\x81\x90\x01", "unhashable"),
            (b"\x81\xa1x\xa2\xff\xff", "malformed"),
            (b"\x81\xa1x\x92\x01\xc7\x00\x01", "unknown extension code 1"),
            (b"\x81\xa1x" + b"\x91" * 100_000 + b"\x01", "nested deeper"),
            (b"\x81\xa1x" + b"\x81" * 100_000 + b"\x01", "nested deeper"),
            (b"\x81\xa1x" + b"\x92\xc7\x00\x01" * 99 + b"\x01", "nested deeper"),
            (extension(77, b"abc"), "unknown extension code 77"),
            (b"\x81\xa1x\xd6\xff\0\0\0\0", "unknown extension"),
            (b"\x81\xa1x\xd6\x80\0\0\0\0", "malformed"),
            (extension(3, b""), "type that is not allowed"),
            (extension(3, b"<f8"), "type that is not allowed"),
            (array(b"|O8", (1,), b"\0" * 8), "type that is not allowed"),
            (array(b"<V8", (1,), b"\0" * 8), "type that is not allowed"),
            (array(b"<U1", (1,), b"\0" * 4), "type that is not allowed"),
            (array(b"<f8", (2**40,), b"\0" * 8), "does not fit"),
            (array(b"<f8", (2**64 - 1,), b"\0" * 8), "does not fit"),  # -1 in two's complement
            (array(b"<f8", (2**63, 2**63, 2), b""), "does not fit"),
            (array(b"<f8", (0, 2**62), b""), "malformed"),
            (array(b"<f8", (0, 2**64 - 1), b""), "malformed"),
            (array(b"<f8", (1,), b"\0" * 9), "does not fit"),
            (array(b"|b1", (1,) * 65, b"\1"), "malformed"),
            (array(b"|b1", (2,), b"\1\2"), "boolean array"),
            (extension(3, b"<f8\x05" + b"\0" * 8), "does not fit"),
            (array(b"<f8", (1,), b"\0" * 8, code=4), "scalar with a shape"),
            (extension(5, b"\xff"), "malformed"),
        ],
    )
    def test_is_refused(self, body: bytes, message: str) -> None:
        with pytest.raises(ModelFileError, match=message):
            model_file.loads(sealed(body))

    def test_keys_that_cannot_be_compared(self) -> None:
        # Keys of equal hash are compared, and numpy's numbers compare their own way:
        # with a tuple element by element, with an int too large for a float not at all.
        pair = next((1, n) for n in range(2, 128) if abs(hash((1, n))) < sys.hash_info.modulus)
        whole = array(b"<i8", (), struct.pack("<q", hash(pair)), code=4)[3:]
        real = array(b"<f8", (), struct.pack("<d", 1.0), code=4)[3:]
        huge = (sys.hash_info.modulus << 2000) + 1
        assert hash(huge) == hash(1.0)
        big = extension(2, huge.to_bytes(300, "big", signed=True))[3:]
        for one, two in [(whole, b"\x93\xc7\x00\x01\x01" + bytes([pair[1]])), (real, big)]:
            with pytest.raises(ModelFileError, match="malformed"):
                model_file.loads(sealed(b"\x81\xa1x\x82" + one + b"\x01" + two + b"\x02"))

    @given(st.binary(max_size=60))
    def test_any_bytes_are_a_payload_or_refused(self, body: bytes) -> None:
        for candidate in (body, b"\x81\xa1x" + body):
            try:
                loaded = model_file.loads(sealed(candidate))
            except ModelFileError:
                continue
            assert same(model_file.loads(model_file.dumps(loaded)), loaded)

    @given(st.dictionaries(TEXT, VALUES, max_size=3), st.data())
    def test_a_sound_body_with_changed_bytes(
        self, payload: dict[str, object], data: st.DataObject
    ) -> None:
        body = bytearray(model_file.dumps(payload)[50:])
        for _ in range(data.draw(st.integers(1, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        try:
            loaded = model_file.loads(sealed(bytes(body)))
        except ModelFileError:
            return
        assert isinstance(loaded, dict)

    @pytest.mark.parametrize(
        "body",
        [
            b"\x81\xa1x" + b"\xdd\x00\x01\x00\x00" * 60 + b"\xc0" * 60_000,
            b"\x81\xa1x" + b"\xdd\xff\xff\xff\xff" + b"\x90" * 60_000,
            b"\x81\xa1x" + b"\xdd\xff\xff\xff\xff" + b"\x80" * 60_000,
            b"\x81\xa1x" + b"\xdd\xff\xff\xff\xff" + b"\xc7\x04\x03|b1\x00\x01" * 9_000,
            array(b"<f8", (2**50,), b"\0" * 60_000),
        ],
    )
    def test_memory_follows_the_size_of_the_file(self, body: bytes) -> None:
        data = sealed(body)
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError):
                model_file.loads(data)
            assert tracemalloc.get_traced_memory()[1] < 128 * len(data)
        finally:
            tracemalloc.stop()


class TestOnDisk:
    def test_write_then_read(self, tmp_path: Path) -> None:
        path = tmp_path / "model.llsvm"
        model_file.write(path, {"seed": 1})
        model_file.write(str(path), {"seed": 2})
        assert model_file.read(path) == model_file.read(str(path)) == {"seed": 2}
        assert os.listdir(tmp_path) == ["model.llsvm"]

    def test_permissions_are_those_of_any_new_file(self, tmp_path: Path) -> None:
        model_file.write(tmp_path / "model", {})
        (tmp_path / "other").write_bytes(b"")
        assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "store").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "store" / "model")
        model_file.write(tmp_path / "link", {"seed": 3})
        assert (tmp_path / "link").is_symlink()
        assert model_file.read(tmp_path / "store" / "model") == {"seed": 3}

    def test_a_relative_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        model_file.write("model", {"seed": 4})
        assert model_file.read("model") == {"seed": 4}

    def test_errors_name_the_path(self, tmp_path: Path) -> None:
        path = tmp_path / "table.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ModelFileError, match=r"table\.csv: not a model file"):
            model_file.read(path)
        with pytest.raises(FileNotFoundError):
            model_file.read(tmp_path / "absent")
        absent = str(tmp_path / "no" / "folder")
        with pytest.raises(FileNotFoundError) as raised:
            model_file.write(absent, {})
        assert raised.value.filename == absent, "and not that of the temporary file"

    def test_a_failure_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "model"
        model_file.write(path, {"seed": 5})
        with pytest.raises(TypeError):
            model_file.write(path, {"seed": object()})
        (tmp_path / "folder").mkdir()
        with pytest.raises(OSError):  # a folder cannot be replaced by a file
            model_file.write(tmp_path / "folder", {"seed": 6})
        assert sorted(os.listdir(tmp_path)) == ["folder", "model"]
        assert model_file.read(path) == {"seed": 5}

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "model"
        model_file.write(path, {"seed": 7})
        script = (
            "import resource, sys\n"
            "from stream_llsvm.model import file as model_file\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
            "try:\n"
            "    model_file.write(sys.argv[1], {'w': bytes(1_000_000)})\n"
            "except OSError as error:\n"
            "    sys.exit(17)\n"
        )
        done = subprocess.run([sys.executable, "-B", "-c", script, path], cwd=ROOT, check=False)
        assert done.returncode == 17
        assert os.listdir(tmp_path) == ["model"]
        assert model_file.read(path) == {"seed": 7}

    def test_killed_while_writing(self, tmp_path: Path) -> None:
        path = tmp_path / "model"
        script = (
            "import sys\n"
            "import numpy as np\n"
            "from stream_llsvm.model import file as model_file\n"
            "for turn in range(10**9):\n"
            "    model_file.write(sys.argv[1], {'turn': turn, 'w': np.full(500_000, turn)})\n"
            "    print(flush=True)\n"
        )
        for attempt in range(3):
            with subprocess.Popen(
                [sys.executable, "-c", script, path], cwd=ROOT, stdout=subprocess.PIPE
            ) as writer:
                assert writer.stdout is not None
                writer.stdout.readline()  # the first file is there
                time.sleep(random.Random(attempt).uniform(0.02, 0.2))
                writer.send_signal(signal.SIGKILL)
            assert writer.returncode == -signal.SIGKILL
            loaded = model_file.read(path)
            assert isinstance(loaded["w"], np.ndarray)
            assert (loaded["w"] == loaded["turn"]).all()

    def test_a_planted_link_is_not_written_through(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        victim, folder = tmp_path / "victim", tmp_path / "shared"
        victim.write_bytes(b"precious")
        folder.mkdir()
        (folder / "report").symlink_to(victim)
        model_file.replace(folder / "report", b"new")
        assert (folder / "report").read_bytes() == b"new" and not (folder / "report").is_symlink()
        # Even at a name that was guessed: a new file is made, or none.
        monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
        (folder / ".model-guessed.tmp").symlink_to(victim)
        with pytest.raises(FileExistsError):
            model_file.replace(folder / "report", b"newer")
        assert victim.read_bytes() == b"precious"
