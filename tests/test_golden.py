"""The golden runner itself: whatever is wrong with a file or an answer, the test fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import Block, GoldenError, check, golden_files, read_blocks

GOOD = "-- proves that letters become upper case\na\n----\nA\n====\nb\nc\n----\nB\nC\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "case.sql"
    path.write_text(text)
    return path


def test_blocks_are_read_with_their_lines(tmp_path: Path) -> None:
    assert read_blocks(write(tmp_path, GOOD)) == [Block("a", "A", 2), Block("b\nc", "B\nC", 6)]


def test_right_answers_pass(tmp_path: Path) -> None:
    check(write(tmp_path, GOOD), str.upper)


def test_a_wrong_answer_fails_and_says_where(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(AssertionError) as failure:
        check(path, lambda text: text.upper().replace("C", "D"))
    assert f"{path}:6" in str(failure.value)
    assert "- C" in str(failure.value) and "+ D" in str(failure.value)
    assert f"{path}:2" not in str(failure.value)


def test_a_crash_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        check(write(tmp_path, GOOD), lambda text: str(1 // 0))


@pytest.mark.parametrize("text", [
    "",
    "a\n----\nA\n",
    "-- x\na\n----\nA\n",
    "-- proves that nothing passes as nothing\n",
    "-- proves that an answer may not be missing\na\n",
    "-- proves that an answer may not be missing\na\n----\nA\n====\nb\n",
    "-- proves that a text may not be missing\n\n----\nA\n",
    "-- proves that separators are exact\na\n-----\nA\n",
    "-- proves that separators are exact\na\n---- error\nA\n",
    "-- proves that separators are exact\na\n----\nA\n=====\nb\n----\nB\n",
    "-- proves that one block has one answer\na\n----\nA\n----\nB\n",
])
def test_what_is_no_golden_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(GoldenError):
        check(write(tmp_path, text), str.upper)


def test_an_empty_folder_is_refused() -> None:
    with pytest.raises(GoldenError):
        golden_files("no-such-folder")


def test_rewrite_writes_what_came_out_and_keeps_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    check(path, lambda text: text + text, rewrite=True)
    assert path.read_text() == GOOD.replace("A\n", "aa\n").replace("B\nC", "b\ncb\nc")
    check(path, lambda text: text + text)
    check(path, str.upper, rewrite=True)
    assert path.read_text() == GOOD
