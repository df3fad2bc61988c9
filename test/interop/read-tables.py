"""Reads the folders of tables that standard input names, one to a line, and prints what pyiceberg and DuckDB find: each a list of rows for
each snapshot, by its time, and one for now."""

import glob
import importlib
import json
import os
import sys

import duckdb
from pyiceberg.table import StaticTable

connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
connection.execute("SET TimeZone = 'UTC'")
for extension in ["parquet", "avro", "iceberg"]:
    home = os.path.dirname(importlib.import_module(f"duckdb_extension_{extension}").__file__)
    [path] = glob.glob(f"{home}/**/*.duckdb_extension", recursive=True)
    connection.execute(f"LOAD '{path}'")
for line in sys.stdin:
    folder = line.rstrip("\n")
    with open(f"{folder}/metadata/version-hint.text") as hint:
        metadata = f"{folder}/metadata/v{hint.read()}.metadata.json"
    table = StaticTable.from_metadata(metadata)
    times = [entry.timestamp_ms for entry in table.history()]
    # As of each time at which a snapshot was made, and now.
    then = [table.scan(snapshot_id=table.snapshot_as_of_timestamp(time).snapshot_id) for time in times]
    scan = "SELECT * FROM iceberg_scan($1"
    asked = [(f"{scan}, snapshot_from_timestamp = make_timestamp({time}000))", [folder]) for time in times]
    found = [
        [each.to_arrow().to_pylist() for each in [*then, table.scan()]],
        [connection.sql(sql, params=given).to_arrow_table().to_pylist() for sql, given in [*asked, (f"{scan})", [folder])]],
    ]
    # Times in microseconds, as the tests have them.
    print(json.dumps(found, default=lambda time: round(time.timestamp() * 1e6)), flush=True)
