"""Reads the folders of tables that standard input names, one to a line, and prints what pyiceberg and DuckDB find: two lists of rows."""

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
    found = [
        StaticTable.from_metadata(metadata).scan().to_arrow().to_pylist(),
        connection.sql("SELECT * FROM iceberg_scan($1)", params=[folder]).to_arrow_table().to_pylist(),
    ]
    # Times in microseconds, as the tests have them.
    print(json.dumps(found, default=lambda time: round(time.timestamp() * 1e6)), flush=True)
