"""Read a pipeline, from a file, from flags or from both, and say all that is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stream_llsvm.cli.checks import places_of
from stream_llsvm.cli.errors import MistakeError, one_line, unknown
from stream_llsvm.cli.models import USUAL, check_model, short_names
from stream_llsvm.cli.options import NEEDED, OF_A_CHALLENGER, OF_ONE_LEARNER, SECTIONS, places
from stream_llsvm.connectors.keys import FIELD_KINDS, Key
from stream_llsvm.connectors.registry import Connector, connector, connector_of, scheme_of
from stream_llsvm.engine.challengers import ORIGINAL, checked_name
from stream_llsvm.learners.registry import REGRESSORS
from stream_llsvm.options import choice
from stream_llsvm.removed import removed

Settings = dict[str, dict[str, Any]]

# What the parser of the standard library forgets: on which line a key stands.
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_LONG = ('"' * 3, "'" * 3)


class Pipeline:
    """The settings of a run, and where each was given.

    Parameters
    ----------
    path
        The pipeline file, if there is one.

    """

    def __init__(self, path: Path | None = None) -> None:
        self.path, self.wrong = path, list[tuple[int, str]]()
        self.settings: Settings = {}
        self._lines: dict[tuple[str, ...], int] = {}
        self._flags: dict[tuple[str, str], str] = {}
        if path is not None:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
            self.settings = tomllib.loads(text)
        except FileNotFoundError:
            raise MistakeError(f"{path}: there is no such pipeline file") from None
        except (OSError, UnicodeDecodeError) as error:
            why = one_line(error).removeprefix(f"{path}: ")
            raise MistakeError(f"{path} cannot be read: {why}") from None
        except tomllib.TOMLDecodeError as error:
            hint = "" if path.suffix == ".toml" else f"; to learn its records: --from {path}"
            raise MistakeError(f"{path}: not TOML: {one_line(error)}{hint}") from None
        self._lines = lines_of(text)

    def flag(self, name: str, section: str, key: str, value: Any) -> None:
        """Set what a flag says, unless it was not given; it comes before the file."""
        if value is None:
            return
        self.settings.setdefault(section, {})[key] = value
        self._flags[section, key] = name

    def flags(self, given: Mapping[str, Any]) -> None:
        """Set what flags say wherever it belongs; of several places, where there is a section."""
        for flag in sorted(given, key=lambda flag: len(places(flag))):
            several = len(places(flag)) > 1
            for section, key in places(flag):
                there, rule = self.settings.get(section, {}), SECTIONS[section][key]
                try:
                    value = None if given[flag] is None else rule.kind.parse(given[flag])
                except ValueError as error:
                    raise MistakeError(f"{flag}: {error}") from None
                if not several or (there and (not rule.only or _scheme(there) in rule.only)):
                    self.flag(flag, section, key, value)

    def where(self, section: str, key: str = "") -> str:
        """Return where something was given: a line of the file and the key, or a flag."""
        if (section, key) in self._flags:
            return self._flags[section, key]
        if self.path is None:
            return SECTIONS[section][key].flag or f"--{key}"
        return f"{self.path}:{self._line(section, key)}: " + f"[{section}] {key}".strip()

    def _line(self, section: str, key: str = "") -> int:
        path = (section, key) if key else (section,)
        return self._lines.get(path, self._lines.get((section,), 1))

    def add(self, section: str, key: str, what: str) -> None:
        """Note that something is wrong."""
        self.wrong.append((self._line(section, key), f"{self.where(section, key)}: {what}"))

    def checked(self) -> Settings:
        """Return the settings; MistakeError with all that is wrong, in the order of the file."""
        for section in NEEDED:
            if section not in self.settings:
                name = "--from" if self.path is None else f"[{section}]"
                here = "" if self.path is None else f"{self.path}: "
                self.wrong.append((0, f"{here}{name} is missing: say where records come from"))
        for section, given in self.settings.items():
            self._check(section, given)
        if not self.wrong:
            self._check_places()
        if self.wrong:
            raise MistakeError("\n".join(text for _, text in sorted(self.wrong)))
        if fields := self.settings.pop("fields", None):  # what flags say comes before it
            source = self.settings["source"]
            source["fields"] = fields | source.get("fields", {})
        return self.settings

    def _check(self, section: str, given: Any) -> None:
        if section not in SECTIONS:
            why = removed(f"[{section}]") or unknown("section", section, SECTIONS)
            self.add(section, "", why)
            return
        if not isinstance(given, dict):
            self.add(section, "", f"it is a section: write [{section}] and its keys below")
            return
        if section == "challengers":
            for name, one in given.items():
                self._check_challenger(name, one)
            return
        if section == "fields":
            for name, kind in given.items():
                self._check_kind(name, kind)
            return
        keys = SECTIONS[section]
        options = {key: value for key, value in given.items() if key not in keys}
        scheme = _scheme(given)
        known = scheme or "file"
        for key, value in given.items():
            if key in keys:
                self._check_value(section, key, keys[key], value, scheme, given)
            elif section != "model":
                fitting = [k for k, one in keys.items() if not one.only or known in one.only]
                gone = removed(f"[{section}] {key}")
                self.add(section, key, gone or unknown("key", key, fitting))
        for key, rule in keys.items():
            if rule.needed and key not in given:
                self._miss(section, key, rule)
        if section == "source":
            self._check_labels(given)
        if section == "cluster":
            self._check_cluster(given)
        if section == "model":
            name = given.get("class", "CommitteeClassifier")
            for key, what in check_model(name, options):
                self.add(section, key, what)
            self._check_keys(given, name)

    def _check_challenger(self, name: str, given: Any) -> None:
        """Note what is wrong with a challenger: it is said of it what is said of a model."""

        def add(key: str, what: str) -> None:
            path = ("challengers", name, key) if key else ("challengers", name)
            line = self._lines.get(path, self._lines.get(path[:2], 1))
            here = "" if self.path is None else f"{self.path}:{line}: "
            flag = "--challenger " if self.path is None else "[challengers."
            end = "" if self.path is None else "]"
            self.wrong.append((line, f"{here}{flag}{name}{end} {key}".rstrip() + f": {what}"))

        try:
            checked_name(name)
        except ValueError as error:
            add("", str(error))
        if name == self.settings.get("model", {}).get("name", ORIGINAL):
            add("", "that is what [model] is called: each needs a name of its own")
        if not isinstance(given, dict):
            add("", f"it is a section: write [challengers.{name}] and its keys below")
            return
        own = {key: rule for key, rule in SECTIONS["model"].items() if key in OF_A_CHALLENGER}
        for key, rule in own.items():
            if key in given:
                try:
                    given[key] = rule.kind.check(key, given[key])
                except ValueError as error:
                    add(key, str(error))
        kind = given.get("class", USUAL)
        options = {key: value for key, value in given.items() if key not in own}
        for key, what in check_model(kind, options):
            add(key, what)

    def _check_cluster(self, given: dict[str, Any]) -> None:
        """Note what many learners cannot do."""
        if given.get("workers", 1) == 1:
            return
        for there, what in (
            ("labels" in self.settings, "labels of their own stream are joined by one learner"),
            (bool(self.settings.get("challengers")), "challengers learn beside one learner"),
            (self._says("checkpoints", "standby"), "a run that has a standby has one learner"),
        ):
            if there:
                self.add("cluster", "workers", f"{what}: leave out one of both")
        of_one = [*((*one, what) for one, what in OF_ONE_LEARNER.items()), *self._of_one_key(given)]
        for section, key, what in of_one:
            if self._says(section, key):
                self.add(section, key, f"{what}: leave it out, or the workers")

    def _of_one_key(self, given: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
        """Yield what is not said of a model for each key that several learn."""
        if self._says("model", "key") or self._says("model", "per_key"):
            yield "model", "max_keys", "several learners keep all keys"
            yield "publish", "folder", "one learner publishes a model for each key"
            yield "cluster", "audit", "it is for one model that several learn, not for one by key"
            yield "cluster", "newest", "it is for one model that several learn, not for one by key"

    def _says(self, section: str, key: str) -> bool:
        there: Any = self.settings.get(section)
        return isinstance(there, dict) and bool(there.get(key))

    def _check_keys(self, given: dict[str, Any], name: Any) -> None:
        """Note if a model cannot be kept for each key."""
        asked = "key" if "key" in given else "per_key" if given.get("per_key") else None
        source = self.settings.get("source", {})
        if asked is None:
            for option in ("max_keys", "spill"):
                if option in given:
                    self.add("model", option, "there is no model for each key: say --per-key")
        elif "spill" in given and "max_keys" not in given:
            self.add("model", "spill", "all keys are kept: say how many are (--max-keys)")
        elif name in REGRESSORS or short_names().get(str(name).lower()) in REGRESSORS:
            self.add("model", asked, f"{name} learns numbers: a model for each key learns classes")
        elif asked == "per_key" and "labels" in self.settings:
            self.add(
                "model",
                asked,
                "the source's key joins late labels: name the column that says whose a record is "
                "in a pipeline file, [model] key",
            )
        elif asked == "per_key" and isinstance(source, dict) and "key" not in source:
            found = _connector(source)
            if found is not None and not found.has_own_keys:
                self.add("model", asked, "whose a record is: name the column (--key)")

    def _check_kind(self, column: str, kind: Any) -> None:
        """Note if a column cannot be what ``[fields]`` says."""
        try:
            choice(column, kind, FIELD_KINDS)
        except ValueError as error:
            self.add("fields", column, str(error))

    def _miss(self, section: str, key: str, rule: Key) -> None:
        """Note that a key is missing that others are nothing without."""
        others = [flag for (of, _), flag in self._flags.items() if of == section]
        if self.path is None and others:
            self.wrong.append((0, f"{', '.join(others)}: give {rule.flag}, too"))
        else:
            self.add(section, key, f"{key} is missing")

    def _check_places(self) -> None:
        """Note if a file or a topic would be written that is also read, or written twice."""
        used = set() if self.path is None else places_of(str(self.path))
        for section in ("source", "labels"):
            for address in self.settings.get(section, {}).get("from", []):
                used |= places_of(address)
        for section, key in (("sink", "to"), ("dead_letters", "to"), ("model", "save")):
            address = self.settings.get(section, {}).get(key)
            places = set() if address is None else places_of(address)
            if places & used:
                self.add(section, key, f"{address} is used by this run already: name another")
            used |= places

    def _check_labels(self, given: dict[str, Any]) -> None:
        """Note if no record would ever get its label."""
        late = "labels" in self.settings
        found = _connector(given)
        if found is None:
            return  # which is said of where records come from
        if late and "key" not in given and not found.has_own_keys:
            self.add("source", "key", "key is missing: by what do late labels find their records?")
        if "group" in given and "checkpoints" not in self.settings:
            self.add("source", "group", "it shows what checkpoints hold: give --checkpoints too")
        if not late and "label" not in given and not found.has_own_labels(_first(given), given):
            self.add("source", "label", "label is missing: which column is it? (--label)")

    def _check_value(
        self, section: str, key: str, rule: Key, value: Any, scheme: str, given: dict[str, Any]
    ) -> None:
        if rule.only and scheme and scheme not in rule.only:
            titles = " and ".join(connector(one).title for one in rule.only)
            self.add(section, key, f"it is for {titles} only")
            return
        try:
            given[key] = rule.kind.check(key, value)
            if key == "from":
                _check_addresses(given[key])
            elif key == "to":
                connector_of(value).check_sink(value)
        except (ValueError, MistakeError) as error:
            self.add(section, key, str(error))


def _check_addresses(addresses: list[str]) -> None:
    """Raise ValueError if these are not the addresses of one source."""
    if len({scheme_of(one) for one in addresses}) > 1:
        raise ValueError("give addresses of one kind")
    connector_of(addresses[0]).check_source(addresses)


def _first(given: Mapping[str, Any]) -> str:
    """Return a section's first address, nothing if it has none."""
    address = given.get("from", given.get("to"))
    first = address[0] if isinstance(address, list) and address else address
    return first if isinstance(first, str) else ""


def _scheme(given: Mapping[str, Any]) -> str:
    """Return the scheme of a section's first address, nothing if it has none."""
    return scheme_of(_first(given)) if _first(given) else ""


def _connector(given: Mapping[str, Any]) -> Connector | None:
    """Return the connector of a section's first address, None if there is none."""
    try:
        return connector_of(_first(given))
    except ValueError:
        return None


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    r"""Return the line of each section, ``(section,)``, and of each key, ``(section, key)``.

    Examples
    --------
    >>> lines_of('[source]\nfrom = [\n  "a.csv",\n]\nlabel = "y"\n')
    {('source',): 1, ('source', 'from'): 2, ('source', 'label'): 5}

    """
    found: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    depth, quoted = 0, ""  # of brackets and braces that are open; the quotes that are
    for number, line in enumerate(text.splitlines(), 1):
        if not quoted and depth == 0:
            if header := _HEADER.fullmatch(line):
                section = _parts(header[1])
                for n in range(1, len(section) + 1):
                    found.setdefault(section[:n], number)
                continue
            if key := _KEY.match(line):
                path = section + _parts(key[1])
                for n in range(1, len(path) + 1):
                    found.setdefault(path[:n], number)
        for mark in _LONG:
            if quoted in ("", mark) and line.count(mark) % 2:
                quoted = "" if quoted else mark
        if not quoted:
            bare = _TEXT.sub("", line).partition("#")[0]
            depth += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
