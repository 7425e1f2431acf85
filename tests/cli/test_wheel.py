"""A wheel in a fresh environment, used from a folder that has its own `models` and `data` packages."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment with the wheel in it; what it depends on is borrowed from this one."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    scripts = folder / "bin"
    place = subprocess.run(
        [scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True
    ).stdout.strip()
    install = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    Path(place, "borrowed.pth").write_text(sysconfig.get_path("purelib"))  # its own .pth files, the editable install's, are not read
    return scripts


def test_the_wheel_carries_models_data_recipes_templates_and_types(wheel: Path) -> None:
    held = zipfile.ZipFile(wheel).namelist()
    for folder in ("models", "data"):
        for path in (ROOT / folder).glob("*.py"):
            assert f"ensemble/_shipped/{folder}/{path.name}" in held
    for name in ("py.typed", "recipes/enso.yaml", "cli/template/study.yaml", "cli/template/models/my_model.py", "report/report.html.j2"):
        assert f"ensemble/{name}" in held
    assert not [name for name in held if not name.startswith(("ensemble/", "mpsd_ensemble-"))]


def test_it_runs_in_a_folder_with_models_and_data_of_its_own(fresh: Path, tmp_path: Path) -> None:
    for name in ("models", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong package was imported')")
    own = (ROOT / "ensemble" / "cli" / "template" / "models" / "my_model.py").read_text()
    (tmp_path / "models" / "mine.py").write_text(own.replace("class MyModel", "class Mine"))
    recipe = (ROOT / "ensemble" / "recipes" / "enso_small.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(recipe.replace("  - lim\n", "  - lim\n  - ./models/mine.py: {months: 4}\n"))
    command = [fresh / "ensemble", "run", "mine.yaml", "--out", "out", "--workers", "1", "--only", "climatology,persistence,lim,mine"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "mine" in run.stdout
    assert (tmp_path / "out" / "run.json").exists()
    where = subprocess.run(
        [fresh / "python", "-c", "import ensemble; print(ensemble.__file__)"], cwd=tmp_path, capture_output=True, text=True
    )
    assert where.stdout.startswith(str(fresh.parent))


def test_the_help_imports_neither_dask_nor_jax(fresh: Path, tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['ensemble', '--help']\nfrom ensemble.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "assert not {'dask', 'distributed', 'jax', 'xarray'} & set(sys.modules)"
    subprocess.run([fresh / "python", "-c", code], cwd=tmp_path, check=True, capture_output=True)
