# SPDX-License-Identifier: GPL-2.0-or-later
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab import units
from irqlab.check import catalogue
from irqlab.setup.paths import cache_dir
from tools import corpus
from tools.corpus import CorpusError, Edit, Fault, Kept

FAULTS = corpus.load()
TEXT = """\
static int other(int n);

static int
work(struct thing *thing,
     int n)
{
	first(thing);
	second(thing);

	if (n)
		third(thing);
	third(thing);
	return other(n);
}

static int other(int n)
{
	first(NULL);
	return n;
}
"""


def edited(**keys: Any) -> str:
    return corpus.edited(TEXT, Edit("work", **keys), "a: b.c")


def body(text: str) -> list[str]:
    """The statements of work()."""
    return [line.strip() for line in text.partition("{\n")[2].partition("\n}")[0].splitlines() if line.strip()]


def fault(name: str = "one", edits: tuple[Edit, ...] = ()) -> Fault:
    return Fault(name, "e100", corpus.KINDS[0], "0123456789ab", True, "e100: it works", "i82557b", "life", "Because.", edits)


def test_what_is_deleted_takes_its_line_with_it() -> None:
    assert edited(find="second(thing);") == TEXT.replace("\tsecond(thing);\n", "")
    assert edited(find="third(thing);", times=2) == TEXT.replace("\t\tthird(thing);\n\tthird(thing);\n", "")


def test_a_text_is_replaced() -> None:
    assert body(edited(find="first", put="zeroth"))[0] == "zeroth(thing);"
    assert body(edited(find="third(thing);", nth=2, put="last();"))[-2:] == ["last();", "return other(n);"]


def test_from_one_text_to_another() -> None:
    assert body(edited(find="if (n)", until="third(thing);"))[2:] == ["third(thing);", "return other(n);"]


def test_a_statement_is_moved() -> None:
    assert body(edited(find="first(thing);", after="second(thing);"))[:2] == ["second(thing);", "first(thing);"]
    assert body(edited(find="first(thing);", before="return other"))[-2:] == ["first(thing);", "return other(n);"]
    assert edited(find="first(thing);", after="second(thing);").count("\tfirst(thing);\n") == 1


def test_only_the_function_is_changed() -> None:
    assert "first(NULL);" in edited(find="first(thing);")
    assert corpus.edited(TEXT, Edit("other", find="n;", put="0;"), "").endswith("return 0;\n}\n")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"find": "fourth"}, "work() has 'fourth' 0 times, not 1"),
        ({"find": "third(thing);"}, "work() has 'third(thing);' 2 times, not 1"),
        ({"find": "first(thing);", "times": 2}, "work() has 'first(thing);' 1 times, not 2"),
        ({"find": "first(thing);", "until": "fourth"}, "work() has no 'fourth' after 'first(thing);'"),
        ({"find": "first(thing);", "before": "third"}, "work() has 'third' 2 times, not once"),
    ],
)
def test_an_edit_that_does_not_fit(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(f"a: b.c: {said}")):
        edited(**keys)


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(CorpusError, match=r"a: b\.c has 0 definitions of absent\(\)"):
        corpus.edited(TEXT, Edit("absent", "x"), "a: b.c")


def test_the_files_of_a_driver(tmp_path: Path) -> None:
    directory = tmp_path / "drivers/net/ethernet/intel"
    directory.mkdir(parents=True)
    (directory / "e100.c").write_text('#include <linux/pci.h>\n#include "a.h"\n\nint run(void)\n{\n\tstop();\n}\n')
    (directory / "a.h").write_text('#include "b.h"\n')
    (directory / "b.h").touch()
    (directory / "e100_other.c").touch()
    found = corpus.sources(fault(edits=(Edit("run", "stop();"),)), tmp_path)
    assert list(found) == ["e100.c", "a.h", "b.h"]
    assert found["e100.c"].endswith("{\n}\n")
    with pytest.raises(CorpusError, match=r"one: e100 has no file c\.c"):
        corpus.sources(fault(edits=(Edit("run", "stop();", file="c.c"),)), tmp_path)


def declared(tmp_path: Path, **keys: str) -> list[Fault]:
    known = {
        "driver": '"e100"', "kind": '"suspend"', "commit": '""', "commit_seen": "false", "subject": '"x"', "nic": '"i82557b"',
        "row": '"power"', "cause": '"x"',
    }  # fmt: skip
    lines = [f"{key} = {value}" for key, value in (known | keys).items()]
    (tmp_path / "a.toml").write_text("\n".join([*lines, "[[edit]]", 'function = "f"', 'find = "x"']))
    return corpus.load(tmp_path)


def test_a_declaration_is_checked(tmp_path: Path) -> None:
    assert [(one.name, one.edits) for one in declared(tmp_path)] == [("a", (Edit("f", "x"),))]
    for key, value in (("driver", '"e10"'), ("kind", '"bad luck"'), ("row", '"luck"'), ("nic", '"rtl8139"')):
        with pytest.raises(CorpusError, match=rf"a\.toml: {key} = .*; allowed are"):
            declared(tmp_path, **{key: value})
    with pytest.raises(CorpusError, match="unexpected keyword argument 'more'"):
        declared(tmp_path, more="1")
    with pytest.raises(CorpusError, match=r"a\.toml"):
        declared(tmp_path, row="power")


def test_each_kind_is_covered() -> None:
    counts = Counter(one.kind for one in FAULTS)
    assert all(counts[kind] >= 2 for kind in corpus.KINDS)
    assert counts[corpus.CONTROL] >= 3
    assert len(FAULTS) - counts[corpus.CONTROL] >= 24


@pytest.mark.parametrize("one", FAULTS, ids=lambda one: one.name)
def test_a_declaration_is_complete(one: Fault) -> None:
    assert re.fullmatch(r"[0-9a-f]{12}|", one.commit)
    assert one.commit or not one.commit_seen
    assert one.subject
    assert len(one.cause.split()) > (5 if one.cause.startswith("As ") or one.is_control else 25)
    assert one.driver in one.name
    assert one.edits
    assert all(len(edit.find) < 90 for edit in one.edits)


@pytest.mark.parametrize("one", FAULTS, ids=lambda one: one.name)
def test_the_edits_fit_the_source(one: Fault) -> None:
    trees = list((cache_dir() / "sources/trees").glob(f"linux-source-{corpus.SERIES}_*"))
    if not trees:
        pytest.skip(f"no source of Linux {corpus.SERIES} in the cache: `tools.corpus --build` fetches it")
    plain = corpus.sources(corpus.unchanged([one])[0], trees[0])
    assert corpus.sources(one, trees[0]) != plain


def document(*rows: tuple[str, str, float]) -> dict[str, Any]:
    return {
        "rows": [
            {"name": name, "status": status, "seconds": seconds, "ended_s": None, "said": "3 of 0x5f lost", "kinds": ["b", "a|"]}
            for name, status, seconds in rows
        ]
    }


def test_what_is_kept_of_a_checklist() -> None:
    rows = (("ring-down", "fail", 10.0), ("power-wake", "not covered", 0.0), ("frames-own", "fail", 5.0))
    kept = corpus.kept_of("one", "5m", document(("life-up", "pass", 2.4), *rows))
    assert kept.said == "# of # lost|# of # lost"
    assert kept.kinds == "a/ ~ b|a/ ~ b"
    assert (kept.failed, kept.after_s, kept.not_covered, kept.error) == ("ring-down frames-own", "12 17", "power-wake", "")


def test_rows_have_their_part_of_the_budget() -> None:
    whole = sum(row.share for row in catalogue.rows() if not row.deep)
    mine = sum(row.share for row in catalogue.rows() if row.name.startswith("races"))
    assert corpus.part_s("10m", "races") == pytest.approx(600 * mine / whole)
    assert corpus.part_s("10m", "") == 600
    assert corpus.part_s("10s", "polling") == units.LEAST_S


def kept(name: str, failed: str = "", after_s: str = "", error: str = "") -> Kept:
    said = "|".join(f"{row} says {name if '!' in after_s else 'so'}" for row in failed.split())
    return Kept(name, "c", "5m", "", failed, after_s.replace("!", ""), said, error=error)


def test_found_is_what_fails_only_with_the_fault() -> None:
    plain = corpus.unchanged([fault()])[0].name
    both = {"one": kept("one", "life-up ring-down", "3 20"), plain: kept(plain, "life-up", "3")}
    assert corpus.found(fault(), both) == [("ring-down", 20, False)]
    both["one"] = kept("one", "life-up", "!3")
    assert corpus.found(fault(), both) == [("life-up", 3, True)]
    for mine, theirs, found in (("a ~ b", "a", [("life-up", 3, False)]), ("a", "a ~ b", []), ("a", "a", [])):
        both = {
            "one": replace(kept("one", "life-up", "!3"), kinds=mine),
            plain: replace(kept(plain, "life-up", "3"), kinds=theirs),
        }
        assert corpus.found(fault(), both) == found
    with pytest.raises(CorpusError, match="the unchanged driver was not checked"):
        corpus.found(fault(), {"one": both["one"]})
    with pytest.raises(CorpusError, match="exit code 2"):
        corpus.found(fault(), both | {"one": kept("one", error="exit code 2")})


def test_the_table_counts_what_was_found() -> None:
    plain = corpus.unchanged([fault()])[0].name
    results = {
        "one": kept("one", "ring-down", "20"), "two": kept("two"), "four": kept("four", "life-up", "3"),
        plain: kept(plain, "life-up", "3"),
    }  # fmt: skip
    lines = corpus.table([fault(), fault("two"), fault("three"), fault("four")], results)
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "one lost wake-up all ring-down (20 s)",
        "two lost wake-up all nothing",
        "three lost wake-up - (not checked)",
        "four lost wake-up all nothing; as without it: life-up",
        "1 of 4 faults found; 0 more by a row that fails without them, too, and says something else",
        f"{plain} unchanged - life-up",
    ]
