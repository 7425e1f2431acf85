"""The notebooks run from the first cell to the last, in a kernel with its own event loop, and say what they promise."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]


def executed(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs), "the figures are shown"
    return "\n".join(output.get("text", "") + str(output.get("data", {}).get("text/plain", "")) for output in outputs)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    said = executed(Path(shutil.copy(path, tmp_path)))
    assert "dashboard: http" in said
    assert "fading" in said


def test_the_notebook_that_init_lays_out_runs(tmp_path: Path) -> None:
    template = ROOT / "ensemble" / "cli" / "template"
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    recipe = tmp_path / "study.yaml"
    recipe.write_text(recipe.read_text().replace("to: 12", "to: 2"))
    assert "my_model" in executed(tmp_path / "study.ipynb")
    assert (tmp_path / "results" / "report.html").exists()
