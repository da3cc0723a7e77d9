"""Each numbered equation and algorithm of the papers is found in the code by searching for it.

They are cited as LL(11) or LL Algorithm 1: LL is Ladicky & Torr 2011, SAPL Mao et al. 2015, L3
Zantedeschi et al. 2017, LAS Zaidi & Squire 2010. The lecture on Pegasos numbers nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "stream_llsvm"

#: How many numbered equations and algorithms each paper has.
PAPERS = {"LL": (17, 1), "SAPL": (21, 1), "L3": (9, 0), "LAS": (1, 1)}

#: Where what matters most is computed: the file must cite it.
COMPUTED = {
    "LL(1)": "members/anchors/codes.py",
    "LL(8)": "members/anchors/kernel.py",
    "LL(10)": "optimum.py",
    "LL(11)": "members/anchors/machines.py",
    "LL(12)": "members/anchors/machines.py",
    "LL(13)": "members/anchors/steps.py",
    "LL(15)": "learners/lcc.py",
    "LL(16)": "members/anchors/kernel.py",
    "LL(17)": "optimum.py",
    "LL Algorithm 1": "members/anchors/kernel.py",
    "SAPL(2)": "members/anchors/codes.py",
    "SAPL(4)": "kernels/losses.py",
    "SAPL(13)": "members/anchors/codes.py",
    "SAPL(16)": "members/anchors/steps.py",
    "SAPL(17)": "members/anchors/machines.py",
    "SAPL(18)": "members/anchors/machines.py",
    "SAPL(19)": "members/anchors/steps.py",
    "SAPL(20)": "optimum.py",
    "SAPL(21)": "kernels/losses.py",
    "SAPL Algorithm 1": "model/warm_start.py",
    "L3(7)": "members/family/landmarks/kernel.py",
    "LAS(1)": "members/family/local_svm/smo.py",
    "LAS Algorithm 1": "members/family/local_svm/kernel.py",
}
_CITED = re.compile(r"\b(LL|SAPL|L3|LAS)\s*(?:\((\d+)\)|Algorithm (\d+))")


def cited_in(path: Path) -> set[str]:
    found = set()
    for paper, equation, algorithm in _CITED.findall(path.read_text(encoding="utf-8")):
        found.add(f"{paper}({equation})" if equation else f"{paper} Algorithm {algorithm}")
    return found


def all_of(paper: str) -> set[str]:
    equations, algorithms = PAPERS[paper]
    return {f"{paper}({n})" for n in range(1, equations + 1)} | {
        f"{paper} Algorithm {n}" for n in range(1, algorithms + 1)
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_each_is_cited_and_no_other(paper: str) -> None:
    cited = set().union(*(cited_in(path) for path in PACKAGE.rglob("*.py")))
    told = {name for name in cited if re.match(rf"{paper}[ (]", name)}
    assert all_of(paper) - told == set(), "not in the code"
    assert told - all_of(paper) == set(), "in no paper"


@pytest.mark.parametrize(("name", "file"), COMPUTED.items(), ids=COMPUTED)
def test_what_is_computed_is_cited_there(name: str, file: str) -> None:
    assert name in cited_in(PACKAGE / file)


def test_citations_can_be_searched_for_one_by_one() -> None:
    for path in PACKAGE.rglob("*.py"):
        joint = re.findall(r"\b(?:LL|SAPL|L3|LAS)\(\d+[,-].*?\)", path.read_text(encoding="utf-8"))
        assert not joint, f"{path}: write LL(11), LL(12)"
