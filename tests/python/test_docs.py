"""What the documents show runs, and what they point to exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = {".venv", "build", ".git", ".pytest_cache", "node_modules"}
DOCUMENTS = sorted(path for path in ROOT.rglob("*.md") if not SKIPPED.intersection(path.relative_to(ROOT).parts[:-1]))


def fences(path: Path, language: str) -> list[tuple[int, str]]:
    """(line, text) of each ```language block."""
    text = path.read_text()
    return [
        (text[: match.start()].count("\n") + 1, match.group(1))
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    ]


def anchors(path: Path) -> set[str]:
    """The anchors GitHub gives to the headings of a document."""
    headings = re.findall(
        r"^#+\s+(.*)$", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL), flags=re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_python_of_the_readme_runs(tmp_path):
    """All blocks in order, in one fresh interpreter: what a reader does."""
    blocks = fences(ROOT / "README.md", "python")
    if not blocks:
        pytest.skip("README.md has no python block")
    script = tmp_path / "readme.py"
    script.write_text("\n".join(text for _, text in blocks))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_of_the_documents_compiles(path):
    for line, text in fences(path, "python"):
        compile(text, f"{path.relative_to(ROOT)}:{line}", "exec")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    links = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", text)
    links += re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    for link in links:
        if re.match(r"[a-z]+:", link):  # http, mailto
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{link} does not exist"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{link}: {file.name} has no heading '{anchor}'"


def test_commands_of_the_readme_exist():
    """`make x` in the README is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for line, text in fences(ROOT / "README.md", "(?:sh|bash|shell|console)"):
        for target in re.findall(r"^\$? ?make ([a-z]+)", text, flags=re.MULTILINE):
            assert target in targets, f"README.md:{line}: make {target}"
