"""Make the documentation site: ``python tools/docs_site.py [FOLDER]``, or ``make docs``.

The pages of docs/ are gathered in a folder of their own, with the results of benchmarks, the
changelog, and reference pages that are made here of what the code itself declares: docstrings, the
flags of commands, the keys of pipeline files. A link that leads nowhere is an error.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "docs"
#: Pages from elsewhere in the repository, and what they are called on the site.
GATHERED = {
    "benchmarks/RESULTS.md": "results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
#: A page of the reference, and the package whose public names it lists.
PACKAGES = {
    "learners": "stream_llsvm",
    "engine": "stream_llsvm.engine",
    "connectors": "stream_llsvm.connectors",
    "sklearn": "stream_llsvm.sklearn",
}
#: A reference as griffe has it: footnotes of several classes on one page would be one.
_REFERENCE = re.compile(r"^\[\^(\d+)\]: ", re.MULTILINE)
#: A signature that is longer has a line for each parameter.
_LONG = 72
#: What a value may be, where OpenAPI's word says little.
_WORDS = {"object": "{field: value}", "string": "a text", "integer": "a whole number",
          "number": "a number", "boolean": "true or false"}  # fmt: skip
_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#]*)(#[^)]*)?\)")


def gather(source: Path) -> None:
    """Put all pages into one folder, with links as the site has them."""
    shutil.copytree(ROOT / "docs", source)
    for where, name in GATHERED.items():
        text = (ROOT / where).read_text(encoding="utf-8")
        (source / name).write_text(text.replace("](docs/", "]("), encoding="utf-8")
    for page in source.rglob("*.md"):
        page.write_text(_linked(page.read_text(encoding="utf-8"), source, page), encoding="utf-8")
    (source / "reference").mkdir(exist_ok=True)
    for name, package in PACKAGES.items():
        _write(source, name, public_names(package))
    _write(source, "commands", commands())
    _write(source, "pipeline", pipeline_keys())
    _write(source, "http_api", addresses())


def _write(source: Path, name: str, lines: Iterator[str]) -> None:
    (source / "reference" / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _linked(text: str, source: Path, page: Path) -> str:
    """Return a page whose links out of docs/ lead to the site's own copy, or are names of files."""

    def led(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        inside = (ROOT / "docs" / page.relative_to(source)).parent / target
        if inside.resolve().is_relative_to(ROOT / "docs"):
            return found[0]
        name = inside.resolve().relative_to(ROOT).as_posix()
        if name in GATHERED:
            up = "../" * (len(page.relative_to(source).parts) - 1)
            return f"[{text}]({up}{GATHERED[name]}{anchor})"
        return f"`{name}`" if text.strip("`") in (name, target) else f"{text} (`{name}`)"

    return _LINK.sub(led, text)


def public_names(package: str) -> Iterator[str]:
    """Yield the reference page of a package: every public name, with its docstring."""
    module = importlib.import_module(package)
    yield f"# `{package}`\n"
    if module.__doc__:
        yield from described(module.__doc__)
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        yield f"## `{name}`\n"
        if not callable(value):
            yield f"`{value!r}`\n"
            continue
        yield f"```python\nfrom {package} import {name}\n\n{name}{_signature(value)}\n```\n"
        yield from described(inspect.getdoc(value) or "")
        if isinstance(value, type):
            for member, code in _own_members(value):
                called = "" if isinstance(code, property) else _signature(code)
                if "\n" in called:
                    yield f"### `{name}.{member}`\n\n```python\n{member}{called}\n```\n"
                else:
                    yield f"### `{name}.{member}{called}`\n"
                yield from described(inspect.getdoc(code) or "")


def described(docstring: str) -> Iterator[str]:
    """Yield a NumPy-style docstring as Markdown."""
    for section in griffe.parse_numpy(
        griffe.Docstring(inspect.cleandoc(docstring)), warnings=False
    ):
        if isinstance(section, griffe.DocstringSectionText):
            yield f"{section.value}\n"
        elif isinstance(section, griffe.DocstringSectionExamples):
            for _, example in section.value:
                yield f"```pycon\n{example}\n```\n"
        elif isinstance(section, griffe.DocstringSectionAdmonition):
            said = _REFERENCE.sub(r"\1. ", section.value.description)
            yield f"**{section.title}**\n\n{said}\n"
        else:
            yield f"**{section.kind.value.capitalize()}**\n"
            for one in section.value:
                said = " ".join(one.description.split())
                name = getattr(one, "name", "") or str(one.annotation or "")
                yield f"- `{name}`: {said}" if name else f"- {said}"
            yield ""


def _signature(code: Any) -> str:
    """Return what is to be given, without types: the text says what each may be."""
    try:
        found = inspect.signature(getattr(code, "__func__", code))
    except ValueError:  # of a class that is made in C
        return "(...)"
    bare = [
        one.replace(annotation=one.empty)
        for name, one in found.parameters.items()
        if name != "self"
    ]
    short = str(found.replace(parameters=bare, return_annotation=found.empty))
    if len(short) < _LONG:
        return short
    return "(\n" + "".join(f"    {one},\n" for one in _as_given(bare)) + ")"


def _as_given(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield parameters as a call has them, with the star before those that are named."""
    starred = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        yield str(one)


def _own_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, and of its bases, by this package."""
    for name in dict.fromkeys(name for base in kind.__mro__ for name in vars(base)):
        code = inspect.getattr_static(kind, name)
        bare = getattr(code, "fget", None) or getattr(code, "__func__", code)
        where = getattr(bare, "__module__", None) or ""
        if not name.startswith("_") and where.partition(".")[0] == "stream_llsvm":
            yield name, code


def commands() -> Iterator[str]:
    """Yield the page of all commands, with every flag."""
    from typer import Context
    from typer.main import get_command

    from stream_llsvm.cli.app import COMMANDS, app

    group: Any = get_command(app)
    yield "# Commands\n"
    yield "`stream-llsvm COMMAND --help` prints the same.\n"
    for name, does in COMMANDS.items():
        command = group.get_command(None, name)
        yield f"## `{name}`\n\n{does}\n\n```\n{command.epilog.removeprefix('Example: ')}\n```\n"
        yield "| flag or argument | what it means |"
        yield "| --- | --- |"
        context = Context(command, info_name=name)
        for parameter in command.get_params(context):
            hidden = getattr(parameter, "hidden", False)
            if not hidden and (record := parameter.get_help_record(context)) is not None:
                yield f"| `{_cell(record[0])}` | {_cell(record[1])} |"
        yield ""


def pipeline_keys() -> Iterator[str]:
    """Yield the page of all keys of a pipeline file, section by section."""
    from stream_llsvm.cli.options import SECTIONS

    yield "# Keys of a pipeline file\n"
    yield "`stream-llsvm run pipeline.toml` reads them; most have a flag of the same meaning.\n"
    for section, keys in SECTIONS.items():
        yield f"## `[{section}]`\n"
        if not keys:
            yield "Any names; see [what may be in a record](../records.md).\n"
            continue
        yield "| key | flag | what it means | for |"
        yield "| --- | --- | --- | --- |"
        for name, key in keys.items():
            flag = f"`{key.flag}`" if key.flag else ""
            yield f"| `{name}` | {flag} | {_cell(key.help)} | {', '.join(key.only)} |"
        yield ""


def addresses() -> Iterator[str]:
    """Yield the page of a server's HTTP API, as its own description has it."""
    from stream_llsvm.serve.openapi import described

    yield "# The HTTP API of `serve`\n"
    yield "What a server answers, as it describes itself under `/openapi.json`."
    yield "[Serve](../serve.md) shows how it is used, and who may ask."
    yield "`{name}` is that of a model; without one the first is meant.\n"
    meanings: dict[str, set[str]] = {}
    for path, methods in described(["default"])["paths"].items():
        for method in ("get", "post"):
            if (said := methods.get(method)) is None:
                continue
            yield f"## `{method.upper()} {path}`\n\n{said['summary']}.\n"
            yield from _body(said.get("requestBody", {}).get("content", {}))
            yield f"It answers {', '.join(said['responses'])}.\n"
            for status, answer in said["responses"].items():
                meanings.setdefault(status, set()).add(answer["description"])
    yield "## What a status means\n"
    yield 'The body of an error is `{"error": "..."}`: what is wrong, where, and what to do.\n'
    yield "| status | what |"
    yield "| --- | --- |"
    for status, meaning in sorted(meanings.items()):
        yield f"| {status} | {_cell('; '.join(sorted(meaning)))} |"


def _body(content: dict[str, Any]) -> Iterator[str]:
    """Yield what is to be sent, key by key."""
    if not content:
        return
    yield "| sent as | what |"
    yield "| --- | --- |"
    for kind, sent in content.items():
        schema = sent["schema"]
        if schema["type"] != "object":
            yield f"| `{kind}` | a JSON object a line |"
            continue
        needed = schema.get("required", ())
        for key, value in schema["properties"].items():
            must = ", needed" if key in needed else ""
            yield f"| `{kind}`: `{key}` | {_kind(value)}{must} |"
    yield ""


def _kind(schema: dict[str, Any]) -> str:
    """Return in words what a value may be."""
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    kinds = schema.get("type", "anything")
    if kinds == "array":
        most = f", at most {schema['maxItems']:,}" if "maxItems" in schema else ""
        return f"a list of {_kind(schema.get('items', {}))}{most}"
    if kinds == "object" and "properties" in schema:
        inside = (f"`{key}`: {_kind(one)}" for key, one in schema["properties"].items())
        return f"{{{', '.join(inside)}}}"
    return (
        _WORDS.get(kinds, kinds)
        if isinstance(kinds, str)
        else " or ".join(_WORDS.get(one, one) for one in kinds)
    )


def _cell(text: str) -> str:
    """Return a text as a table's cell takes it."""
    return " ".join(text.split()).replace("|", "\\|")


def build(folder: Path) -> Path:
    """Make the site there anew, and return its first page."""
    source, site = folder / "pages", folder / "html"
    for old in (source, site):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    gather(source)
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", source, site],
        check=True,
        cwd=ROOT,
    )
    return site / "index.html"


def main() -> None:
    """Make the site and say where it is."""
    try:
        first = build(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else BUILT)
    except subprocess.CalledProcessError:
        raise SystemExit("the site was not made: see above") from None
    print(f"open {first}")


if __name__ == "__main__":
    main()
