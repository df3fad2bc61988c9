"""What many would write: requests, the pages one after the other, and INSERT OR REPLACE into sqlite3. Takes the address; prints what it
has used, as JSON, and how many persons it has of those that were not deleted meanwhile."""

import json
import resource
import sqlite3
import sys
import tempfile

import requests

(origin,) = sys.argv[1:]
db = sqlite3.connect(f"{tempfile.mkdtemp()}/x.db")
db.execute("CREATE TABLE persons (uuid TEXT PRIMARY KEY, id INTEGER, name TEXT, distinct_ids TEXT, properties TEXT, created_at TEXT)")
session = requests.Session()
offset = 0
rows = 0
while True:
    page = session.get(f"{origin}/api/environments/1/persons/", params={"limit": 1000, "offset": offset}).json()
    db.executemany(
        "INSERT OR REPLACE INTO persons VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                person["uuid"],
                person["id"],
                person["name"],
                json.dumps(person["distinct_ids"]),
                json.dumps(person["properties"]),
                person["created_at"],
            )
            for person in page["results"]
        ],
    )
    db.commit()
    rows += len(page["results"])
    offset += 1000
    if page["next"] is None:
        break
used = resource.getrusage(resource.RUSAGE_SELF)
gone = session.get(f"{origin}/gone").json()
print(json.dumps({
    "rows": rows,
    "kept": db.execute("SELECT count(*) FROM persons WHERE id > ?", [gone]).fetchone()[0],
    "cpuMs": 1000 * (used.ru_utime + used.ru_stime),
    "peakRssBytes": 1024 * used.ru_maxrss,
    "writtenBytes": 512 * used.ru_oublock,
}))
