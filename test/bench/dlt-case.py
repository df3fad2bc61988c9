"""dlt over the server of the bench: the address, and `duckdb` or `parquet`. Prints what it has used, as JSON, and how many
persons it has of those that were not deleted meanwhile (in DuckDB)."""

import json
import os
import resource
import sys
import tempfile
import time
import urllib.request

import dlt
from dlt.sources.rest_api import rest_api_source

origin, into = sys.argv[1:]
folder = tempfile.mkdtemp()
source = rest_api_source({
    "client": {
        "base_url": f"{origin}/api/environments/1/",
        "paginator": {"type": "offset", "limit": 1000, "total_path": "count"},
    },
    "resources": [{
        "name": "persons",
        "endpoint": {"path": "persons/", "data_selector": "results"},
        "primary_key": "uuid",
        "write_disposition": "merge" if into == "duckdb" else "append",
    }],
})
# Nested values stay JSON in one column, as in the mirror.
source.max_table_nesting = 0
if into == "duckdb":
    destination = dlt.destinations.duckdb(os.path.join(folder, "x.duckdb"))
else:
    destination = dlt.destinations.filesystem(bucket_url=f"file://{folder}/out")
pipeline = dlt.pipeline(
    pipeline_name=f"bench{time.time_ns()}", destination=destination, dataset_name="bench", pipelines_dir=folder
)
pipeline.run(source, loader_file_format="parquet")
rows = pipeline.last_trace.last_normalize_info.row_counts["persons"]
kept = 0
if into == "duckdb":
    gone = int(urllib.request.urlopen(f"{origin}/gone").read())
    with pipeline.sql_client() as client:
        kept = client.execute_sql(f"SELECT count(*) FROM persons WHERE id > {gone}")[0][0]
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({
    "rows": rows,
    "kept": kept,
    "cpuMs": 1000 * sum(each.ru_utime + each.ru_stime for each in (own, children)),
    "peakRssBytes": 1024 * max(own.ru_maxrss, children.ru_maxrss),
    "writtenBytes": 512 * (own.ru_oublock + children.ru_oublock),
}))
