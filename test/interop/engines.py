"""Opens the Iceberg tables of a data folder with every engine, and compares keys and rows with what the mirror holds.

    engines.py DATA_DIR base|deltas             the tables are the mirror
    engines.py DATA_DIR remember                picks a person and prints the uuid; keeps the keys of the mirror
    engines.py DATA_DIR erasure UUID            the tables are the mirror without the person, and no file of them names the person
"""

import glob
import importlib.util
import json
import os
import sqlite3
import sys

folder, step, *person = sys.argv[1:]
folder = os.path.abspath(folder)
# ClickHouse reads files below the working folder only.
os.chdir("/")
keys = {"persons": "person_uuid", "recordings": "id", "distinct_ids": "distinct_id", "deletions": "key"}
tables = [name for name in keys if os.path.exists(f"{folder}/snapshots/{name}/metadata/version-hint.text")]
kept = f"{folder}/../kept.json"


def table_of(name):
    return os.path.abspath(f"{folder}/snapshots/{name}")


def metadata_of(name):
    with open(f"{table_of(name)}/metadata/version-hint.text") as hint:
        return f"{table_of(name)}/metadata/v{hint.read()}.metadata.json"


def duckdb(name, key):
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for extension in ["parquet", "avro", "iceberg"]:
        home = os.path.dirname(importlib.import_module(f"duckdb_extension_{extension}").__file__)
        [path] = glob.glob(f"{home}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{path}'")
    return [row[0] for row in connection.execute(f"SELECT {key} FROM iceberg_scan('{table_of(name)}')").fetchall()]


def pyiceberg(name, key):
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(metadata_of(name)).scan(selected_fields=(key,)).to_arrow()[key].to_pylist()


def polars(name, key):
    import polars

    return polars.scan_iceberg(metadata_of(name)).select(key).collect()[key].to_list()


def clickhouse(name, key):
    import chdb

    found = chdb.query(f"SELECT {key} FROM icebergLocal('{table_of(name)}')", "JSONCompactStrings")
    return [row[0] for row in json.loads(str(found))["data"]]


session = None


def spark(name, key):
    global session
    if session is None:
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.jars.packages", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
    return [row[0] for row in session.read.format("iceberg").load(table_of(name)).select(key).collect()]


engines = [duckdb, pyiceberg, polars, clickhouse]
if importlib.util.find_spec("pyspark"):
    engines.append(spark)


def mirrored(name):
    with sqlite3.connect(f"file:{folder}/mirror.db?mode=ro", uri=True) as mirror:
        sql = {
            "persons": "SELECT uuid FROM persons",
            "recordings": "SELECT id FROM recordings",
            "distinct_ids": "SELECT distinct_id FROM person_distinct_ids",
            "deletions": "SELECT key FROM deletions WHERE seq IN (SELECT max(seq) FROM deletions GROUP BY dataset, key)",
        }[name]
        return sorted(row[0] for row in mirror.execute(sql))


if step == "remember":
    # The least key is a bound.
    person = [mirrored("persons")[0]]
    print(person[0])
    left = {name: mirrored(name) for name in tables}
    with open(kept, "w") as file:
        json.dump(left, file)
    sys.exit(0)

expected = {name: mirrored(name) for name in tables}
if step == "erasure":
    # What the service has deleted meanwhile is erased by the same run. The feed of deletions is published by the next export only.
    with open(kept) as file:
        expected["deletions"] = json.load(file)["deletions"]
    if person[0] in expected["persons"]:
        sys.exit("the mirror still has the person")
failed = not tables
for name in tables:
    for engine in engines:
        try:
            found = sorted(engine(name, keys[name]))
            verdict = f"{len(found)} rows" if found == expected[name] else f"WRONG: {len(found)} rows, expected {len(expected[name])}"
        except Exception as error:  # an engine that cannot read is what is looked for
            verdict = f"FAILED: {str(error)[:300]}"
        failed = failed or not verdict.endswith("rows") or verdict.startswith("WRONG")
        print(f"{step:8} {name:13} {engine.__name__:11} {verdict}")
if step == "erasure":
    for path in glob.glob(f"{folder}/snapshots/*/metadata/*"):
        with open(path, "rb") as file:
            if "/deletions/" not in path and person[0].encode() in file.read():
                failed = True
                print(f"{path} names the erased person")
sys.exit(1 if failed else 0)
