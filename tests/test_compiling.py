from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from transom.compiling import source_digest

SOLVE = "from transom import Knapsack, solve; print(solve(Knapsack([5, 4, 3], [3, 2, 2], 4), 'dp').value)"


def test_the_digest_depends_on_the_sources_alone() -> None:
    code = "from transom.compiling import source_digest; print(source_digest())"
    for seed in ("0", "1"):
        printed = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert printed.stdout.strip() == source_digest()


def test_compiled_code_is_kept_under_the_digest(tmp_path: Path) -> None:
    run = [sys.executable, "-c", SOLVE]
    done = subprocess.run(run, capture_output=True, text=True, env={"XDG_CACHE_HOME": str(tmp_path)}, check=True)
    assert done.stdout == "7\n"
    assert list((tmp_path / "transom" / source_digest()).rglob("*.nbi"))


def test_without_a_folder_to_write_to_it_works_all_the_same(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    run = [sys.executable, "-c", SOLVE]
    done = subprocess.run(run, capture_output=True, text=True, env={"XDG_CACHE_HOME": str(nowhere)}, check=True)
    assert done.stdout == "7\n"
