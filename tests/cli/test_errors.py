"""What cannot be run is refused before anything runs: one clear line, exit status 2, nothing written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ensemble import cli

SMALL = Path(cli.__file__).parents[1] / "recipes" / "enso_small.yaml"


def status(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["ensemble", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


CASES = {
    "an unknown recipe": (["run", "ensoo"], "did you mean enso"),
    "a recipe that is not there": (["run", "no/such.yaml"], "does not exist"),
    "an unknown model": (["run", "enso_small", "--set", "models=[climatologie]"], "did you mean climatology"),
    "a model file that is not there": (["run", "enso_small", "--set", "models=[./mine.py]"], "mine.py does not exist"),
    "an unknown setting": (["run", "enso_small", "--set", "models.lim.mode=3"], "did you mean modes?"),
    "a setting of the wrong type": (["run", "enso_small", "--set", "models.lim.modes=many"], "models.lim.modes"),
    "a setting that makes no sense": (["run", "enso_small", "--set", "models.lim.modes=0"], "modes"),
    "an unknown key": (["run", "enso_small", "--set", "model=[lim]"], "did you mean models"),
    "an unknown score": (["run", "enso_small", "--set", "scores=[rmsd]"], "did you mean rmse"),
    "an unknown combination": (["run", "enso_small", "--set", "combine=[meen]"], "did you mean mean"),
    "a combination without a stranger": (["run", "enso_small", "--set", "combine.mean.without=[limm]"], "did you mean lim"),
    "an unknown name under --only": (["run", "enso_small", "--only", "limm"], "did you mean lim"),
    "a path under --set that leads nowhere": (["run", "enso_small", "--set", "models.limm.modes=3"], "did you mean lim"),
    "--set without a value": (["run", "enso_small", "--set", "seed"], "expected path=value"),
    "an unknown dataset": (["run", "enso_small", "--set", "data=hadist"], "did you mean hadisst"),
    "an unknown variable": (["run", "enso_small", "--set", "target=sts"], "did you mean sst"),
    "a bad date": (["run", "enso_small", "--set", "train=[1991-13, 2008-12]"], "are not dates"),
    "dates that are no dates": (["run", "enso_small", "--set", "train=[early, late]"], "are not dates"),
    "a period that ends before it begins": (["run", "enso_small", "--set", "test=[2021-01, 2017-01]"], "ends before it begins"),
    "a period beyond the data": (["run", "enso_small", "--set", "test=[2017-01, 2031-12]"], "beyond the data"),
    "periods that overlap": (["run", "enso_small", "--set", "test=[2011-06, 2021-12]"], "leak"),
    "leads beyond a period": (["run", "enso_small", "--set", "leads.to=99"], "no forecast with leads up to 99 fits"),
    "an empty period": (["run", "enso_small", "--set", "test=[2021-12, 2021-12]"], "no forecast"),
    "a lead before the first": (["run", "enso_small", "--set", "leads.from=0"], "leads"),
    "no models": (["run", "enso_small", "--set", "models=[]"], "models"),
    "two models of one name": (["run", "enso_small", "--set", "models=[lim, lim]"], "two are called lim"),
    "a name that cannot be one": (
        ["run", "enso_small", "--set", "models=[{a/b: {model: lim}}]", "--set", "combine=[]"],
        "cannot be a name",
    ),
    "a cluster class that is not there": (["run", "enso_small", "--set", "cluster={no_such.Cluster: {}}"], "cannot be imported"),
    "a missing key": (["check", "{folder}/without.yaml"], "target"),
    "a file that is not YAML": (["check", "{folder}/broken.yaml"], "not YAML"),
    "a model file that is no Python": (["run", "enso_small", "--set", "models=[{folder}/bad.py]", "--set", "combine=[]"], "bad.py, line 1"),
    "a model that is no dataclass": (["run", "enso_small", "--set", "models=[{folder}/loose.py]", "--set", "combine=[]"], "no dataclass"),
    "a file that is no mapping": (["check", "{folder}/list.yaml"], "mapping"),
    "a region with a stranger": (["run", "enso_small", "--set", "regions.nino34.latitud=[0, 1]"], "latitud"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_one_line_and_status_2(
    case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = SMALL.read_text()
    (tmp_path / "without.yaml").write_text(text.replace("target: sst\n", ""))
    (tmp_path / "broken.yaml").write_text("data: [hadisst")
    (tmp_path / "list.yaml").write_text("- hadisst")
    (tmp_path / "bad.py").write_text("class Bad(:")
    (tmp_path / "loose.py").write_text("from ensemble import Model, Untrained\n\nclass Loose(Untrained, Model):\n    forecast = None\n")
    before = sorted(tmp_path.rglob("*"))
    words, said = CASES[case]
    assert status(monkeypatch, *(word.replace("{folder}", str(tmp_path)) for word in words)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert error.startswith("ensemble: ")
    assert said in error
    assert "Traceback" not in error
    assert sorted(tmp_path.rglob("*")) == before


def test_a_scheduler_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert status(monkeypatch, "run", "enso_small", "--only", "persistence", "--out", out, "--scheduler", "carrier-pigeon://here") == 2
    assert "nothing answers at carrier-pigeon://here" in capsys.readouterr().err


def test_a_finished_run_is_never_overwritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text("{}")
    assert status(monkeypatch, "run", "enso_small", "--out", str(tmp_path)) == 2
    assert "finished run" in capsys.readouterr().err


def test_a_model_that_fails_gives_status_3_and_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.py").write_text(
        "from dataclasses import dataclass\nfrom ensemble import Model, Untrained\n\n"
        "@dataclass(frozen=True)\nclass Bad(Untrained, Model):\n"
        "    def forecast(self, *_):\n        raise RuntimeError('the ocean ran dry')\n"
    )
    models = f"models=[climatology, persistence, {tmp_path / 'bad.py'}]"
    words = ["run", "enso_small", "--workers", "0", "--out", str(tmp_path / "out"), "--set", models, "--set", "combine=[]"]
    assert status(monkeypatch, *words) == 3
    assert "failed: bad in hindcast: RuntimeError: the ocean ran dry" in capsys.readouterr().out


def test_what_init_lays_out_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "init", str(tmp_path / "study")) == 0
    monkeypatch.chdir(tmp_path / "study")
    assert status(monkeypatch, "run", "study.yaml", "--workers", "0", "--out", "out", "--set", "leads.to=2") == 0
    assert "my_model" in capsys.readouterr().out
    assert status(monkeypatch, "init", ".") == 2


@pytest.mark.parametrize("words", [["models"], ["data"], ["models", "show", "lim"], ["data", "show", "hadisst"], ["check", "enso"]])
def test_what_is_there_can_be_looked_at(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, *words) == 0
    said = capsys.readouterr().out
    assert {"models": "damped_persistence", "data": "hadisst", "show": "doi", "check": "85 starts"}[
        words[1] if words[1:2] == ["show"] else words[0]
    ] in said
