"""Help, completion, and missing packages."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mdt_fast as mdt
from helpers.commands import CLUSTER, CLUSTER_FILES, COMMANDS, EMBED, names_in

click = pytest.importorskip("click")
from mdt_fast._cli.main import cli  # noqa: E402


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_examples_of_help_are_valid(run, command):
    done = run(*filter(None, [command]), "--help")
    assert (done.code, done.err) == (0, "")
    examples = re.findall(r"^ +mdt-fast (\w+)(.*)$", done.out, re.MULTILINE)
    assert examples
    assert {name for name, _ in examples} <= ({command} if command else set(COMMANDS))
    for name, argv in examples:
        # make_context refuses unknown options.
        # It needs the parent context: click keeps the help options of the first one.
        parent = click.Context(cli, **cli.context_settings)
        cli.commands[name].make_context(name, shlex.split(argv), parent=parent)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(run, name):
    assert re.search(rf"^  {name} +\w", run("-h").out, re.MULTILINE)
    text = run(name, "-h").out
    options = [option for option in cli.commands[name].params if option.param_type_name == "option"]
    assert options
    for option in options:
        assert option.help
        assert all(spelling in text for spelling in option.opts)


def test_version(run):
    done = run("--version")
    assert (done.code, done.out) == (0, f"mdt-fast, version {mdt.__version__}\n")


def test_unknown_command_is_named(run):
    done = run("clusters")
    assert (done.code, done.out) == (2, "")
    assert "No such command 'clusters'" in done.err


def test_shell_completion(run, monkeypatch):
    monkeypatch.setenv("_MDT_FAST_COMPLETE", "bash_source")
    done = run()
    assert done.code == 0
    assert re.search(r"complete .* mdt-fast$", done.out, re.MULTILINE)
    monkeypatch.setenv("_MDT_FAST_COMPLETE", "bash_complete")
    for typed, expected in (("mdt-fast cl", ["plain,cluster"]), ("mdt-fast embed --strategy m", ["plain,mean"])):
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
        assert run().out.split() == expected


def run_without(module, folder, *argv):
    """Call the command line where a package is not installed."""
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError("No module named " + name, name=name)
sys.meta_path.insert(0, Missing())
from mdt_fast._cli import main
main()
"""
    command = [sys.executable, "-c", script, *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


def test_message_without_click(folder):
    done = run_without("click", folder, "--help")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr == "mdt-fast: the command line needs click: pip install 'mdt_fast[cli]'\n"


@pytest.mark.parametrize("argv", [CLUSTER[:4], EMBED[:2], ["demo"]], ids=lambda argv: argv[0])
def test_message_without_matplotlib(folder, argv):
    done = run_without("matplotlib", folder, *argv, "-o", "out")
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert re.match(r"mdt-fast: .* needs matplotlib: pip install 'mdt_fast\[plot\]'\n$", done.stderr)
    assert not Path("out").exists()


def test_results_without_matplotlib(folder):
    done = run_without("matplotlib", folder, *CLUSTER[:4], "--no-report", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert names_in("out") == [name for name in CLUSTER_FILES if name != "report.html"]
