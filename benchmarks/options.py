"""The command line options that the benchmark scripts share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Literal

import drifting
import moa_peers
import peers
from measuring import BLOCK, PROBABILITIES, PROBABILITY_ROWS
from streams import SHUFFLED


def parser(
    description: str | None, data: Literal["required", "optional", "unused"] = "required"
) -> argparse.ArgumentParser:
    """Return a parser with the options every script has: --write and, unless unused, --data."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    if data != "unused":
        options.add_argument(
            "--data",
            type=data_folder,
            metavar="DIR",
            required=data == "required",
            default=argparse.SUPPRESS if data == "required" else None,
            help="folder of npz files, one a data set",
        )
    options.add_argument(
        "--write", action="store_true", help="also replace the section in benchmarks/RESULTS.md"
    )
    return options


def add_streams(options: argparse.ArgumentParser, default: Collection[str]) -> None:
    """Let the command line name streams, and cut them short."""
    options.add_argument(
        "streams",
        nargs="*",
        default=list(default),
        metavar="STREAM",
        help=f"npz files of --data, or made by drifting.py: {', '.join(drifting.NAMES)}",
    )
    options.add_argument("--rows", type=at_least(1), help="only the first rows of each")


def add_learners(options: argparse.ArgumentParser, default: str) -> None:
    """Let the command line name learners of this project."""
    options.add_argument(
        "--learners",
        type=names_from(peers.OURS),
        default=default,
        help=f"of this project, comma-separated, may be empty: {', '.join(peers.OURS)}",
    )


def add_peers(options: argparse.ArgumentParser, default: str) -> None:
    """Let the command line name learners of river."""
    options.add_argument(
        "--peers",
        type=names_from(peers.PEERS),
        default=default,
        help=f"of river, comma-separated: {', '.join(peers.PEERS)}",
    )


def add_moa(options: argparse.ArgumentParser, default: str) -> None:
    """Let the command line name learners of MOA."""
    options.add_argument(
        "--moa",
        type=names_from(moa_peers.LEARNERS),
        default=default,
        help=f"of MOA through CapyMOA, comma-separated: {', '.join(moa_peers.LEARNERS)}",
    )


def add_orders(options: argparse.ArgumentParser) -> None:
    """Let the command line say how often a stream is learned whose order is not its own."""
    options.add_argument(
        "--orders",
        type=at_least(1),
        default=5,
        help=f"in how many orders {', '.join(sorted(SHUFFLED))} are learned, which are shuffled",
    )


def add_way(options: argparse.ArgumentParser) -> None:
    """Let the command line say how a stream is gone through."""
    options.add_argument("--block", type=at_least(1), default=BLOCK, help="rows a block")
    options.add_argument(
        "--probabilities",
        choices=PROBABILITIES,
        default="auto",
        help=f"score probabilities too; auto: up to {PROBABILITY_ROWS:,} rows",
    )


def data_folder(text: str) -> Path:
    """Return the folder, or say what is wrong with it."""
    folder = Path(text)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    if not any(folder.glob("*.npz")):
        raise argparse.ArgumentTypeError(f"{text!r} holds no npz file")
    return folder


def check_names(
    options: argparse.ArgumentParser,
    folder: Path | None,
    names: Iterable[str],
    made: Collection[str] = (),
) -> None:
    """Complain about a data set that is not there now, not after an hour of the others."""
    there = [] if folder is None else sorted(path.stem for path in folder.glob("*.npz"))
    missing = ", ".join(name for name in names if name not in there and name not in made)
    if missing and folder is None:
        options.error(f"{missing}: say by --data DIR where to read it from")
    if missing:
        options.error(f"no data set {missing}; there are: {', '.join([*there, *made])}")


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
