"""The shop's orders, in a small SQLite file that is made on first use."""

import sqlite3
from contextlib import closing
from pathlib import Path

from yaoci import Failed

DATABASE = Path(__file__).parent.parent / ".yaoci" / "orders.db"
COLUMNS = ("id", "status", "carrier", "expected", "date")
ORDERS = [
    ("A42", "on its way", "DHL", "2026-12-03", None),
    ("A5", "delivered", None, None, "2026-10-02"),
    ("A7", "packing", None, None, None),
    ("A310", "on its way", "UPS", "2026-11-20", None),
]


def find(id: str) -> dict[str, str]:
    """Find one order by its number."""
    with closing(_open()) as database:
        row = database.execute("SELECT * FROM orders WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise Failed.of("missing", f"no order {id}")
    return {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}


def _open() -> sqlite3.Connection:
    DATABASE.parent.mkdir(exist_ok=True)
    database = sqlite3.connect(DATABASE, timeout=10)
    with database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT, carrier TEXT, expected TEXT, date TEXT)"
        )
        database.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?)", ORDERS)
    return database
