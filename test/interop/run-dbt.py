"""Runs the dbt projects whose folders standard input names, one to a line, and prints the rows of their models, as the tests have them."""

import contextlib
import json
import os
import sys

import duckdb
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner

asked = [
    "SELECT person_uuid, name, CAST(to_json(distinct_ids) AS VARCHAR), CAST(epoch_ms(changed_at) AS VARCHAR) FROM persons ORDER BY ALL",
    "SELECT id, person_uuid, CAST(click_count AS VARCHAR), CAST(epoch_ms(changed_at) AS VARCHAR) FROM recordings ORDER BY ALL",
]
runner = dbtRunner()
for line in sys.stdin:
    folder = line.rstrip("\n")
    os.chdir(folder)
    with contextlib.redirect_stdout(sys.stderr):
        result = runner.invoke(["--quiet", "build", "--project-dir", folder, "--profiles-dir", folder])
    if not result.success:
        sys.exit(f"dbt failed: {result.exception or [each.message for each in result.result]}")
    DuckDBConnectionManager.close_all_connections()
    with duckdb.connect(f"{folder}/consumer.duckdb", read_only=True) as consumer:
        print(json.dumps([consumer.sql(sql).fetchall() for sql in asked]), flush=True)
