"""The catalog of `tools.mutations` fits the sources; docs/mutations.md says what it finds."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.tier import is_in_quick_tier
from tools.mutations.catalog import CATALOG
from tools.mutations.mutation import DoesNotApply, Mutation
from tools.mutations.results import format_summary, format_table, read_table, write_table
from tools.mutations.tree import ROOT
from tools.mutations.trial import Trial


@pytest.mark.parametrize("mutation", CATALOG, ids=lambda mutation: mutation.name)
def test_a_mutation_applies_once_and_compiles(mutation: Mutation) -> None:
    path = mutation.path(ROOT)
    source = path.read_text()
    mutated = mutation.mutate(source)
    assert mutated != source
    compile(source, str(path), "exec")
    compile(mutated, str(path), "exec")
    assert mutation.areas
    for area in mutation.areas:
        assert (ROOT / "tests" / area).exists(), f"{mutation.name} names tests/{area}"


def test_names_are_unique() -> None:
    assert [
        name for name, count in Counter(each.name for each in CATALOG).items() if count > 1
    ] == []


def test_a_mutation_whose_text_is_gone_is_named() -> None:
    mutation = Mutation("some-name", "x.py", "old", "new", "", ("log",))
    for source in ("", "old old"):
        with pytest.raises(DoesNotApply, match=r"some-name: .* times in src/barnabas/x\.py"):
            mutation.mutate(source)


def test_a_table_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    found, survived = CATALOG[0].name, CATALOG[1].name
    results = {
        found: Trial("tests/x.py::test[a | b (c)]", 3, "quick"),
        survived: Trial(None, 60, "all", "tests/log took longer than 240 s"),
    }
    write_table(file, results)
    assert read_table(file) == results
    file.write_text(f"# Mutations\n\n{file.read_text()}\nMore.\n")
    write_table(file, results)
    page = file.read_text()
    assert page.startswith("# Mutations\n")
    assert page.endswith("\nMore.\n")
    assert page.count(format_table(results)) == 1


def test_a_summary_counts_what_each_tier_finds() -> None:
    outcomes = [("quick", "tests/a.py"), ("all", "tests/b.py"), ("all", None)]
    results = {
        mutation.name: Trial(found_by, 1, tier)
        for mutation, (tier, found_by) in zip(CATALOG, outcomes, strict=False)
    }
    assert format_summary(results) == (
        f"Of {len(CATALOG)} mutations 3 were tried. "
        "`make test` finds 1, `make test-all` 2; 1 survived.\n"
    )


def test_what_make_test_is_said_to_find_it_runs() -> None:
    found = read_table(ROOT / "docs/mutations.md").values()
    by = [each.found_by for each in found if each.tier == "quick" and each.found_by]
    assert len(by) >= 50
    assert [node_id for node_id in by if not is_in_quick_tier(node_id)] == []
