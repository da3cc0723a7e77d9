"""The command line options that the benchmark scripts share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from pathlib import Path


def parser(description: str | None, data_required: bool = True) -> argparse.ArgumentParser:
    """Return a parser with the options every script has: --data and --write."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    options.add_argument(
        "--data",
        type=data_folder,
        metavar="DIR",
        required=data_required,
        default=argparse.SUPPRESS if data_required else None,
        help="folder of npz files, one a data set",
    )
    options.add_argument(
        "--write", action="store_true", help="also replace the section in benchmarks/RESULTS.md"
    )
    return options


def data_folder(text: str) -> Path:
    """Return the folder, or say what is wrong with it."""
    folder = Path(text)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    if not any(folder.glob("*.npz")):
        raise argparse.ArgumentTypeError(f"{text!r} holds no npz file")
    return folder


def check_names(options: argparse.ArgumentParser, folder: Path, names: Iterable[str]) -> None:
    """Complain about a data set that is not there now, not after an hour of the others."""
    there = sorted(path.stem for path in folder.glob("*.npz"))
    missing = [name for name in names if name not in there]
    if missing:
        options.error(f"no data set {', '.join(missing)}; there are: {', '.join(there)}")


def names_from(allowed: Collection[str]) -> Callable[[str], list[str]]:
    """Return a reader of comma-separated names; an empty text means none of them."""

    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError(
                    f"{name!r} is unknown; choose from {', '.join(allowed)}"
                )
        return list(dict.fromkeys(names))

    return read


def at_least(lowest: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are not below the lowest allowed one."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{number} is too small: at least {lowest}")
        return number

    return read
