"""A lake of tables that hold the people of a mirror: made before an erasure, and searched after the job of docs/erase-lake.md.

    lake.py make DATA_DIR LAKE           makes the tables of the page, and prints the person to erase
    lake.py job PAGE DATA_DIR LAKE       types the lines of the page as they stand, with these folders
    lake.py search DATA_DIR LAKE UUID    no file, decoded, has anything of the person, and the rows of others are all there
    lake.py certificate DATA_DIR UUID    the certificate of the person names the lake, and when its word was recorded
"""

import glob
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import zlib

step, *given = sys.argv[1:]
columns = {"visits": "person_uuid", "replays": "recording_id", "clicks": "distinct_id", "ids": "distinct_id"}


def session(lake):
    from pyspark.sql import SparkSession

    config = {
        "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": lake,
    }
    spark = SparkSession.builder.config(map=config).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def rows_of(spark):
    return {table: sorted(row[0] for row in spark.table(f"lake.own.{table}").select(column).collect()) for table, column in columns.items()}


def mirrored(data, sql):
    with sqlite3.connect(f"file:{data}/mirror.db?mode=ro", uri=True) as mirror:
        return mirror.execute(sql).fetchall()


def make(data, lake):
    spark = session(lake)
    for name in ["persons", "recordings", "distinct_ids"]:
        spark.read.format("iceberg").load(f"{data}/snapshots/{name}").createOrReplaceTempView(name)
    # One who is still at the service.
    listed = "SELECT uuid FROM persons WHERE rowid NOT IN (SELECT row_key FROM suspects WHERE dataset = 'persons')"
    [(person,)] = mirrored(data, f"SELECT person_uuid FROM recordings WHERE person_uuid IN ({listed}) GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
    alone = f"IF(person_uuid = '{person}', 0, 1) AS part"
    merges = "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    # The person's rows are files of their own in two tables, so that manifests have keys as bounds. One of them has one manifest.
    spark.sql(f"CREATE TABLE lake.own.visits USING iceberg PARTITIONED BY (part) AS SELECT person_uuid, name, 1 AS visit, {alone} FROM persons")
    spark.sql(f"INSERT INTO lake.own.visits SELECT person_uuid, name, 2, {alone} FROM persons")
    spark.sql(f"CREATE TABLE lake.own.ids USING iceberg PARTITIONED BY (part) AS SELECT distinct_id, person_uuid, {alone} FROM distinct_ids")
    spark.sql(f"CREATE TABLE lake.own.clicks USING iceberg {merges} AS SELECT distinct_id, 1 AS click FROM distinct_ids")
    spark.sql("INSERT INTO lake.own.clicks SELECT distinct_id, 2 FROM distinct_ids")
    spark.sql("CREATE TABLE lake.own.replays USING iceberg AS SELECT id AS recording_id, person_uuid FROM recordings")
    owners = mirrored(data, "SELECT distinct_id, person_uuid FROM person_distinct_ids")
    pathlib.Path(f"{lake}.json").write_text(json.dumps({"rows": rows_of(spark), "owners": owners}))
    print(person)


def job(page, data, lake):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
    [program] = [text for language, text in blocks if language == "python"]
    [lines] = [text for language, text in blocks if language == "sh"]
    pathlib.Path("erase_lake.py").write_text(program)
    typed = lines.replace("/data/lake", lake).replace("/data/snapshots", f"{data}/snapshots")
    subprocess.run(["bash", "-euo", "pipefail", "-c", typed], check=True)
    print(f"acknowledged: {pathlib.Path('erased.txt').read_text().split()}")


def long_of(file):
    value = shift = 0
    while True:
        byte = file.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1)


def avro_bytes(path):
    """What an Avro file holds, without its compression."""
    with open(path, "rb") as file:
        assert file.read(4) == b"Obj\x01", path
        head = {}
        while (entries := long_of(file)) != 0:
            for _ in range(entries):
                name = file.read(long_of(file))
                head[name] = file.read(long_of(file))
        assert head[b"avro.codec"] == b"deflate", head[b"avro.codec"]
        content = b"".join(head.values())
        file.read(16)
        while file.peek(1):
            long_of(file)
            content += zlib.decompress(file.read(long_of(file)), -15)
            file.read(16)
    return content


def search(data, lake, uuid):
    import pyarrow.parquet as parquet

    before = json.loads(pathlib.Path(f"{lake}.json").read_text())
    gone = {key for (key,) in mirrored(data, "SELECT key FROM deletions WHERE request_id IS NOT NULL")}
    assert uuid in gone
    gone |= {distinct_id for distinct_id, owner in before["owners"] if owner in gone}
    # Bounds of texts have 16 characters. What is shorter may be a part of others' values, and stands between quotes as a row.
    needles = {value[:16].encode() for value in gone if len(value) >= 16} | {json.dumps(value).encode() for value in gone}
    files = [path for path in glob.glob(f"{lake}/own/**/*", recursive=True, include_hidden=True) if os.path.isfile(path)]
    for path in files:
        content = pathlib.Path(path).read_bytes()
        if path.endswith(".parquet"):
            content += json.dumps(parquet.read_table(path, partitioning=None).to_pylist()).encode()
        elif path.endswith(".avro"):
            content = avro_bytes(path)
        found = [needle for needle in needles if needle in content]
        assert not found, f"{path} holds {found}"
    after = rows_of(session(lake))
    for table, values in before["rows"].items():
        wanted = [value for value in values if value not in gone]
        assert after[table] == wanted, f"{table}: {len(after[table])} rows, expected {len(wanted)}"
        assert len(wanted) < len(values), f"{table} had nothing of the person"
        print(f"lake: {table} had {len(values)} rows, and has the {len(wanted)} of others")
    print(f"lake: {len(files)} files have nothing of {len(gone)} keys and ids")


def certificate(data, uuid):
    [(request,)] = mirrored(data, f"SELECT request_id FROM deletions WHERE dataset = 'persons' AND key = '{uuid}'")
    text = pathlib.Path(f"{data}/reports/certificates/{request}-g1.json").read_text()
    [consumer] = json.loads(text)["consumers"]
    assert consumer["consumer"] == "lake" and consumer["acknowledged_at"], consumer
    print(f"certificate: {consumer}")


{"make": make, "job": job, "search": search, "certificate": certificate}[step](*given)
