"""Two days of arrivals in an emergency department as CSV: busier in the evening, slower for those who can wait. Run it,
then `weft run`."""

from __future__ import annotations

import argparse
import csv
import math
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 5, tzinfo=UTC)
HOURS = 48
WARDS = ["surgery", "medicine", "children", "heart"]
COLUMNS = ["seen_at", "ward", "age", "triage", "wait_minutes", "admitted"]


def arrivals(rows: int, chance: random.Random) -> list[tuple[datetime, list[object]]]:
    """Patients with the moment they are entered, up to ten minutes after they were seen; some never were."""
    made: list[tuple[datetime, list[object]]] = []
    while len(made) < rows:
        hour = chance.uniform(0, HOURS)
        if chance.random() > 0.55 + 0.45 * math.sin((hour % 24 - 13) / 24 * 2 * math.pi):
            continue
        seen_at = START + timedelta(seconds=round(hour * 3600))
        triage = chance.choices([1, 2, 3, 4, 5], [3, 12, 40, 35, 10])[0]
        ward = chance.choices(WARDS, [3, 5, 2, 2])[0]
        age = chance.randrange(0, 18) if ward == "children" else min(98, max(18, round(chance.gauss(55, 22))))
        usual = 8 * triage * (1.5 if hour % 24 > 17 else 1)
        wait = "" if chance.random() < 0.02 else round(chance.gammavariate(2, usual))
        admitted = str(chance.random() < (0.9, 0.6, 0.3, 0.1, 0.05)[triage - 1]).lower()
        made.append((seen_at + timedelta(seconds=chance.randrange(600)),
                     [seen_at.isoformat(), ward, age, triage, wait, admitted]))
    return sorted(made, key=lambda one: one[0])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path(__file__).parent / "in")
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    files: dict[int, list[list[object]]] = {}
    for entered, patient in arrivals(chosen.rows, random.Random(chosen.seed)):
        files.setdefault((entered - START) // timedelta(hours=3), []).append(patient)
    for number, patients in files.items():
        path = chosen.out / f"arrivals-{number:02}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *patients])
        # Spark takes files in the order of their times, and these were all made at once.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


if __name__ == "__main__":
    main()
