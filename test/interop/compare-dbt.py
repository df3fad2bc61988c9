"""Whether the tables that dbt's models have made are the mirror: `compare-dbt.py DATA_DIR WAREHOUSE`, with what `snapshots --sql duckdb`
prints on standard input. Rows are those that its statements make, keys are those of the mirror."""

import sqlite3
import sys

import duckdb

folder, warehouse = sys.argv[1:]
connection = duckdb.connect()
connection.execute(sys.stdin.read())
connection.execute(f"ATTACH '{warehouse}' AS consumer (READ_ONLY)")
with sqlite3.connect(f"file:{folder.replace('?', '%3f')}/mirror.db?mode=ro", uri=True) as mirror:
    for name, key, sql in [
        ("persons", "person_uuid", "SELECT uuid FROM persons"),
        ("recordings", "id", "SELECT id FROM recordings"),
    ]:
        made, wanted = f"FROM consumer.{name}", f"FROM memory.{name}"
        for one, other, what in [(made, wanted, "should not have"), (wanted, made, "lacks")]:
            [(rows,)] = connection.sql(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchall()
            if rows:
                sys.exit(f"the table {name} {what} {rows} rows")
        keys = [row[0] for row in connection.sql(f"SELECT {key} {made}").fetchall()]
        held = [row[0] for row in mirror.execute(sql)]
        if sorted(keys) != sorted(held):
            sys.exit(f"the table {name} has {len(keys)} rows, the mirror {len(held)}, or others")
