"""Types the lines of a loading page as they stand, and holds what was loaded against the mirror.

loading.py PAGE DATA_DIR: runs in a folder of its own, where `analytics-mirror` is the program on DATA_DIR.
loading.py remove DATA_DIR: removes some persons from the mirror, as a merge at the service does.
"""

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import urllib.request

page, data = map(pathlib.Path, sys.argv[1:])

if page.name == 'remove':
    db = sqlite3.connect(data / 'mirror.db')
    at = db.execute("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").fetchone()[0]
    for row, uuid in db.execute('SELECT row_key, uuid FROM persons ORDER BY uuid LIMIT 7').fetchall():
        for table in ('distinct_id_owners', 'distinct_ids_lost'):
            db.execute(f'DELETE FROM {table} WHERE person_row_key = ?', (row,))
        db.execute('DELETE FROM persons WHERE row_key = ?', (row,))
        seq = db.execute("INSERT INTO changes (dataset, key, op, at) VALUES ('persons', ?, 'delete', ?)", (uuid, at)).lastrowid
        db.execute("INSERT INTO deletions (seq, dataset, key, person_uuid, reason, deleted_at) VALUES (?1, 'persons', ?2, ?2, 'merged', ?3)", (seq, uuid, at))
    db.commit()
    sys.exit()

blocks = re.findall(r'^```(\w+)\n(.*?)^```$', page.read_text(), re.M | re.S)
engine = page.stem.removeprefix('load-')

mirror = sqlite3.connect(f'file:{data}/mirror.db?mode=ro', uri=True)
wanted = {
    'persons': set(mirror.execute('SELECT uuid, name, json_array_length(distinct_ids) FROM persons')),
    'recordings': set(mirror.execute('SELECT id, person_uuid, recording_duration FROM recordings')),
}
columns = {
    'persons': ('person_uuid', 'name', 'distinct_ids'),
    'recordings': ('id', 'person_uuid', 'recording_duration'),
}


def hold(dataset, rows):
    """Rows as tuples of `columns`. What a list has is counted."""
    counted = [tuple(len(value) if hasattr(value, '__len__') and not isinstance(value, str) else value for value in row) for row in rows]
    assert len(counted) == len(wanted[dataset]), f'{engine}: {len(counted)} {dataset}, not {len(wanted[dataset])}'
    assert set(counted) == wanted[dataset], f'{engine}: other {dataset} than the mirror has'
    print(f'{engine}: {len(counted)} {dataset} are the mirror')


def select(dataset, table):
    return f"SELECT {', '.join(columns[dataset])} FROM {table}"


def of_frame(dataset, frame):
    """Rows of a frame. pandas has NaN in place of null, which is the one value that is not itself."""
    lists = [frame[name].to_list() for name in columns[dataset]]
    return [tuple(value if hasattr(value, '__len__') or value == value else None for value in row) for row in zip(*lists)]


def hold_duckdb(file):
    import duckdb

    with duckdb.connect(file, read_only=True) as warehouse:
        for dataset in columns:
            hold(dataset, warehouse.execute(select(dataset, f'mirror.{dataset}')).fetchall())


def hold_postgres():
    for dataset in columns:
        sql = f"SELECT json_build_array({', '.join(columns[dataset])}) FROM mirror.{dataset}"
        answer = subprocess.check_output(['psql', '-qAt', os.environ['LOAD_POSTGRES'], '-c', sql], text=True)
        hold(dataset, [tuple(json.loads(line)) for line in answer.splitlines()])


def hold_clickhouse():
    for dataset in columns:
        # Integers of 64 bits come as texts.
        sql = select(dataset, f'mirror.{dataset}').replace('recording_duration', 'toInt32(recording_duration)')
        address = os.environ['LOAD_CLICKHOUSE'].replace('clickhouse', 'http', 1)
        with urllib.request.urlopen(address, f'{sql} FORMAT JSONCompactEachRow'.encode()) as answer:
            hold(dataset, [tuple(json.loads(line)) for line in answer.read().decode().splitlines()])


def run_load():
    """The addresses of the page are those of servers that are not there."""
    places = {
        'postgres://loader@db.example.com/warehouse?sslmode=verify-full': os.environ['LOAD_POSTGRES'],
        'clickhouse://loader@ch.example.com:8443': os.environ['LOAD_CLICKHOUSE'],
    }
    for _language, text in blocks:
        for named, there in places.items():
            text = text.replace(named, there)
        subprocess.run(['sh', '-euc', text], check=True)
    hold_postgres()
    hold_duckdb('warehouse.duckdb')
    hold_clickhouse()


def run_polars():
    for _language, text in blocks:
        names = {}
        exec(compile(text, str(page), 'exec'), names)
        assert len(names['emails']) > 0
        for dataset in columns:
            hold(dataset, of_frame(dataset, names[dataset]))


{'load': run_load, 'polars': run_polars}[engine]()
