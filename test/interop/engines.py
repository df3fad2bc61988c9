"""Opens the Iceberg tables of a data folder with every engine, and compares keys and rows with what the mirror holds.

    engines.py DATA_DIR base|deltas             the tables are the mirror
    engines.py DATA_DIR note                    notes what the mirror holds, and the times at which the newest snapshots of the tables were made
    engines.py DATA_DIR remember                picks a person and prints the uuid; keeps the keys of the mirror
    engines.py DATA_DIR erasure UUID            the tables are the mirror without the person, also as of each time that was noted, without
                                                all who were erased; and no file of them names the person

With the variables TABLES (s3://bucket/prefix), AWS_ENDPOINT_URL and OBJECTS (the folder in which the store keeps what is below that
prefix), the tables are read from a bucket. With CATALOG (an address) and NAMESPACE, pyiceberg also finds them through a REST catalog;
with TRINO (an address), Trino does, as its catalog `lake`.
"""

import glob
import importlib.util
import json
import os
import sqlite3
import sys
from datetime import datetime, timezone

folder, step, *person = sys.argv[1:]
folder = os.path.realpath(folder)
# ClickHouse reads files below the working folder only.
os.chdir("/")
root = os.environ.get("TABLES", f"{folder}/snapshots")
objects = os.environ.get("OBJECTS", f"{folder}/snapshots")
is_bucket = root.startswith("s3://")
endpoint, key_id, secret = (os.environ.get(name, "") for name in ["AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
storage = {"s3.endpoint": endpoint, "s3.access-key-id": key_id, "s3.secret-access-key": secret, "s3.region": "us-east-1"}
keys = {"persons": "person_uuid", "recordings": "id", "playlists": "short_id", "distinct_ids": "distinct_id", "playlist_recordings": "recording_id", "deletions": "key", "passes": "pass_id"}
unpublished = [name for name in keys if not os.path.exists(f"{folder}/snapshots/{name}")]
if unpublished:
    sys.exit(f"not published: {', '.join(unpublished)}")
kept = f"{folder}/../kept.json"
noted = f"{folder}/../noted-{os.path.basename(root)}-{is_bucket}.json"


def table_of(name):
    return f"{root}/{name}"


def metadata_of(name):
    from pyiceberg.io import load_file_io

    with load_file_io(storage if is_bucket else {}).new_input(f"{table_of(name)}/metadata/version-hint.text").open() as hint:
        return f"{table_of(name)}/metadata/v{hint.read().decode()}.metadata.json"


def static_table(name):
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(metadata_of(name), storage if is_bucket else {})


def duckdb(name, key, at=None):
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for extension in ["parquet", "avro", "httpfs", "iceberg"]:
        home = os.path.dirname(importlib.import_module(f"duckdb_extension_{extension}").__file__)
        [path] = glob.glob(f"{home}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{path}'")
    if is_bucket:
        place = endpoint.removeprefix("http://")
        connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{key_id}', SECRET '{secret}', REGION 'us-east-1', ENDPOINT '{place}', URL_STYLE 'path', USE_SSL false)"
        )
    then = f", snapshot_from_timestamp = make_timestamp({at}000)" if at else ""
    return [row[0] for row in connection.execute(f"SELECT {key} FROM iceberg_scan('{table_of(name)}'{then})").fetchall()]


def pyiceberg(name, key, at=None):
    table = static_table(name)
    # Every reader follows the same addresses, which have to be those of the place that is read.
    if table.location() != table_of(name):
        raise ValueError(f"the table says that it lies in {table.location()}")
    snapshot = table.snapshot_as_of_timestamp(at).snapshot_id if at else None
    return table.scan(selected_fields=(key,), snapshot_id=snapshot).to_arrow()[key].to_pylist()


def polars(name, key, at=None):
    import polars

    options = storage if is_bucket else None
    snapshot = static_table(name).snapshot_as_of_timestamp(at).snapshot_id if at else None
    return polars.scan_iceberg(metadata_of(name), storage_options=options, snapshot_id=snapshot).select(key).collect()[key].to_list()


def clickhouse(name, key, at=None):
    import chdb

    place = table_of(name).replace("s3://", f"{endpoint}/")
    table = f"icebergS3('{place}/', '{key_id}', '{secret}')" if is_bucket else f"icebergLocal('{place}')"
    then = f" SETTINGS iceberg_timestamp_ms = {at}" if at else ""
    found = chdb.query(f"SELECT {key} FROM {table}{then}", "JSONCompactStrings")
    return [row[0] for row in json.loads(str(found))["data"]]


session = None


def spark(name, key, at=None):
    global session
    if session is None:
        from pyspark.sql import SparkSession

        packages = ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
        config = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.driver.host": "127.0.0.1"}
        if is_bucket:
            packages += ["org.apache.hadoop:hadoop-aws:3.4.2"]
            config |= {
                "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
                "spark.hadoop.fs.s3a.endpoint": endpoint,
                "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
                "spark.hadoop.fs.s3a.path.style.access": "true",
                "spark.hadoop.fs.s3a.access.key": key_id,
                "spark.hadoop.fs.s3a.secret.key": secret,
            }
        builder = SparkSession.builder.master("local[1]").config("spark.jars.packages", ",".join(packages))
        session = builder.config(map=config).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    then = {"timestampAsOf": datetime.fromtimestamp(at / 1000, timezone.utc).isoformat(" ", "milliseconds")} if at else {}
    return [row[0] for row in session.read.format("iceberg").options(**then).load(table_of(name)).select(key).collect()]


def catalog(name, key):
    from pyiceberg.catalog import load_catalog

    table = load_catalog("rest", uri=os.environ["CATALOG"], **storage).load_table((os.environ["NAMESPACE"], name))
    return table.scan(selected_fields=(key,)).to_arrow()[key].to_pylist()


def trino(name, key):
    import urllib.request

    sql = f'SELECT {key} FROM lake."{os.environ["NAMESPACE"]}".{name}'
    asked = urllib.request.Request(f"{os.environ['TRINO']}/v1/statement", sql.encode(), {"X-Trino-User": "engines"})
    rows = []
    while asked:
        with urllib.request.urlopen(asked) as answer:
            page = json.load(answer)
        if "error" in page:
            raise ValueError(page["error"]["message"])
        rows += page.get("data", [])
        asked = page.get("nextUri")
    return [row[0] for row in rows]


engines = [duckdb, pyiceberg, polars, clickhouse]
if "CATALOG" in os.environ:
    engines.append(catalog)
if "TRINO" in os.environ:
    engines.append(trino)
if importlib.util.find_spec("pyspark"):
    engines.append(spark)


def mirrored(name):
    with sqlite3.connect(f"file:{folder}/mirror.db?mode=ro", uri=True) as mirror:
        sql = {
            "persons": "SELECT uuid FROM persons",
            "recordings": "SELECT id FROM recordings",
            "playlists": "SELECT short_id FROM playlists",
            "playlist_recordings": "SELECT recording_id FROM playlist_recordings",
            "distinct_ids": "SELECT distinct_id FROM person_distinct_ids",
            "deletions": "SELECT key FROM deletions WHERE seq IN (SELECT max(seq) FROM deletions GROUP BY dataset, key)",
            "passes": "SELECT id FROM passes WHERE verdict IS NOT NULL AND reason IS NOT 'superseded'",
        }[name]
        # Engines give large integers as texts or as numbers.
        return sorted(str(row[0]) for row in mirror.execute(sql))


def merged(name):
    with sqlite3.connect(f"file:{folder}/mirror.db?mode=ro", uri=True) as mirror:
        sql = "SELECT key FROM deletions WHERE dataset = ? AND reason = 'merged'"
        return [row[0] for row in mirror.execute(sql, [name])]


def erased(name):
    with sqlite3.connect(f"file:{folder}/mirror.db?mode=ro", uri=True) as mirror:
        sql = "SELECT key FROM deletions WHERE dataset = ? AND reason IN ('erased', 'deleted')"
        return {row[0] for row in mirror.execute(sql, [name])}


def moments():
    if not os.path.exists(noted):
        return {}
    with open(noted) as file:
        return json.load(file)


if step == "note":
    past = moments()
    for name in ["persons", "recordings"]:
        newest = static_table(name).history()[-1].timestamp_ms
        past.setdefault(name, {})[str(newest)] = mirrored(name)
    with open(noted, "w") as file:
        json.dump(past, file)
    sys.exit(0)

if step == "remember":
    # The least key is a bound. The person has been there all the time.
    person = [min(set(mirrored("persons")).intersection(*moments()["persons"].values()))]
    print(person[0])
    left = {name: mirrored(name) for name in keys}
    with open(kept, "w") as file:
        json.dump(left, file)
    sys.exit(0)

expected = {name: mirrored(name) for name in keys}
if step == "erasure":
    # What the service has deleted meanwhile is erased by the same run. What it has merged leaves with the next export, which also
    # publishes the feed of deletions.
    with open(kept) as file:
        before = json.load(file)
    expected["deletions"] = before["deletions"]
    for name in ["persons", "recordings"]:
        expected[name] = sorted(set(expected[name]) | set(before[name]).intersection(merged(name)))
    if person[0] in expected["persons"]:
        sys.exit("the mirror still has the person")
failed = False
for name in keys:
    for engine in engines:
        try:
            found = sorted(map(str, engine(name, keys[name])))
            verdict = f"{len(found)} rows" if found == expected[name] else f"WRONG: {len(found)} rows, expected {len(expected[name])}"
        except Exception as error:  # an engine that cannot read is what is looked for
            verdict = f"FAILED: {str(error)[:300]}"
        failed = failed or not verdict.endswith("rows") or verdict.startswith("WRONG")
        print(f"{'bucket' if is_bucket else 'folder'} {step:8} {name:13} {engine.__name__:11} {verdict}", flush=True)
if step == "erasure":
    gone = {name: erased(name) for name in ["persons", "recordings"]}
    for name, past in moments().items():
        for engine in [duckdb, pyiceberg, polars, clickhouse, *(one for one in engines if one.__name__ == "spark")]:
            wrong = []
            for at, then in past.items():
                try:
                    found = sorted(map(str, engine(name, keys[name], int(at))))
                    if found != sorted(set(then) - gone[name]):
                        wrong.append(f"{at}: {len(found)} rows, expected {len(set(then) - gone[name])}")
                except Exception as error:
                    wrong.append(f"{at}: {str(error)[:300]}")
            failed = failed or len(wrong) > 0
            without = sum(len(set(then) & gone[name]) for then in past.values())
            print(f"{'bucket' if is_bucket else 'folder'} past     {name:13} {engine.__name__:11} {len(past)} times, {without} rows erased {' '.join(wrong)}", flush=True)
    for path in glob.glob(f"{objects}/*/metadata/*"):
        with open(path, "rb") as file:
            if "/deletions/" not in path and person[0].encode() in file.read():
                failed = True
                print(f"{path} names the erased person")
sys.exit(1 if failed else 0)
