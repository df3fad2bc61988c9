"""A ClickHouse server's HTTP door over chdb, for tests: clickhouse-server.py FOLDER prints its port. One statement at a time."""

import re
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from chdb import session

warehouse = session.Session(sys.argv[1])


class Door(BaseHTTPRequestHandler):
    def do_POST(self):
        given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        statement = given.pop('query', None)
        given.pop('wait_end_of_query', None)
        try:
            for name, value in given.items():
                warehouse.query(f"SET {name} = '{value}'")
            sql = body.decode() if statement is None else f'{statement}\n{body.decode()}'
            answer, status = warehouse.query(sql).bytes() or b'', 200
        except Exception as error:
            code = re.search(r'Code: (\d+)', str(error))
            print(str(error)[:500], file=sys.stderr, flush=True)
            answer, status = f'Code: {code and code[1]}. DB::Exception'.encode(), 500
        self.send_response(status)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = HTTPServer(('127.0.0.1', 0), Door)
print(server.server_port, flush=True)
server.serve_forever()
