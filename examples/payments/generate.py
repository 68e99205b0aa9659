"""Three hours of card payments as JSON lines, among them one stolen card that is used in three countries within a few
minutes. Run it, then `weft run`."""

from __future__ import annotations

import argparse
import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
HOURS = 3
MERCHANTS = [f"merchant-{number:02}" for number in range(1, 13)]
COUNTRIES = ["DE", "FR", "NL", "IT", "ES"]


def payments(rows: int, chance: random.Random) -> list[tuple[datetime, dict[str, object]]]:
    """Payments with their time of arrival: up to half a minute after their time."""
    found = [(chance.uniform(0, HOURS * 3600), f"card-{chance.randrange(rows // 8):04}", chance.choice(COUNTRIES))
             for _ in range(rows)]
    # The stolen card: thirty payments between 10:20 and 10:26.
    found += [(80 * 60 + chance.uniform(0, 360), "card-stolen", chance.choice(COUNTRIES[:3])) for _ in range(30)]
    made = []
    for second, card, country in found:
        at = START + timedelta(seconds=round(second, 3))
        merchant = chance.choices(MERCHANTS, [1 / rank for rank in range(1, len(MERCHANTS) + 1)])[0]
        declined = chance.random() < (0.3 if merchant == MERCHANTS[-1] else 0.04)
        made.append((at + timedelta(seconds=chance.uniform(0, 30)), {
            "at": at.isoformat(), "card": card, "merchant": merchant, "country": country,
            "amount": round(chance.lognormvariate(3.2, 1), 2), "status": "declined" if declined else "approved"}))
    return sorted(made, key=lambda one: one[0])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=6_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path(__file__).parent / "in")
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    files: dict[int, list[str]] = {}
    for arrival, payment in payments(chosen.rows, random.Random(chosen.seed)):
        files.setdefault((arrival - START) // timedelta(minutes=10), []).append(json.dumps(payment))
    for number, lines in files.items():
        path = chosen.out / f"payments-{number:02}.json"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # Spark takes files in the order of their times, and these were all made at once.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


if __name__ == "__main__":
    main()
