"""An agent of the Data Rights Protocol 1.0 beside a worker: it signs with libsodium, and hears of its requests by callbacks, whose
signatures the library of Standard Webhooks verifies. `agent.py key SEED` prints the agent's key for the directory (base64);
`agent.py run URL SEED PORT SECRET` plays the agent."""

import base64
import http.server
import json
import queue
import sys
import threading
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

from nacl.encoding import Base64Encoder
from nacl.signing import SigningKey
from standardwebhooks.webhooks import Webhook

AGENT, BUSINESS = "TEST_AGENT", "TEST_SHOP"


def call(method, url, body=None, token=None):
    """Status and JSON of an answer."""
    request = urllib.request.Request(url, data=body, method=method)
    if body is not None:
        request.add_header("Content-Type", "text/plain")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = error.read()
        return error.code, json.loads(text) if text else None


def signed(key, business=BUSINESS, minutes=10, **more):
    """A message in combined mode: the signature, then what was signed, in base64."""
    now = datetime.now(timezone.utc)
    claims = {
        "agent-id": AGENT,
        "business-id": business,
        "issued-at": now.isoformat(),
        "expires-at": (now + timedelta(minutes=minutes)).isoformat(),
        "drp.version": "1.0",
        **more,
    }
    return key.sign(json.dumps(claims).encode(), encoder=Base64Encoder)


def hear(port, secret, heard):
    """Listens for callbacks, and takes those that are signed."""

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            heard.put(Webhook(secret).verify(body, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def play(url, seed, port, secret):
    key, heard = SigningKey(base64.b64decode(seed)), queue.Queue()
    hear(port, secret, heard)
    assert call("POST", f"{url}/v1/agent/{AGENT}", signed(SigningKey.generate()))[0] == 403
    status, answer = call("POST", f"{url}/v1/agent/{AGENT}", signed(key))
    assert (status, answer["agent-id"]) == (200, AGENT), (status, answer)
    token = answer["token"]
    assert call("GET", f"{url}/v1/agent/{AGENT}", token=token) == (200, {})
    assert call("GET", f"{url}/v1/agent/ANOTHER", token=token)[0] == 403
    person = {
        "exercise": "deletion",
        "regime": "ccpa",
        "relationships": ["customer"],
        "status_callback": "https://agent.example.com/update_status",
        "name": "Ann Lee",
        "email": "ann@example.com",
        "email_verified": True,
        "phone_number": "+12125551234",
        "agent-request-id": "request-1",
    }
    exercise = f"{url}/v1/data-rights-request"
    status, made = call("POST", exercise, signed(key, **person), token)
    assert status == 200 and made["status"] == "in_progress" and made["agent_request_id"] == "request-1", made
    assert datetime.fromisoformat(made["received_at"]) < datetime.fromisoformat(made["expected_by"])
    assert call("POST", f"{exercise}/", signed(key, **person), token) == (200, made)
    shown = call("GET", f"{exercise}/{made['request_id']}", token=token)
    assert shown[0] == 200 and shown[1]["status"] in ("in_progress", "denied"), shown
    for wrong, expected in [
        (signed(key, business="ANOTHER", **person), 403),
        (signed(key, minutes=-1, **person), 403),
        (signed(SigningKey.generate(), **person), 403),
        (signed(key, **{**person, "exercise": "sale:opt_out"}), 400),
        (signed(key, **{**person, "exercise": "access"}), 409),
        (signed(key, **{**person, "email": "bob@example.com"}), 409),
    ]:
        status, answer = call("POST", exercise, wrong, token)
        assert status == expected and answer["code"] == str(expected) and answer["message"], (status, answer)
    assert call("GET", f"{exercise}/00000000-0000-4000-8000-000000000000", token=token)[0] == 403
    status, asked = call("POST", exercise, signed(key, **{**person, "exercise": "access", "agent-request-id": "request-2"}), token)
    assert status == 200 and asked["status"] == "in_progress" and asked["request_id"] != made["request_id"], asked
    told = []
    # The worker may publish its first snapshots meanwhile, and tells of them too.
    while len(told) < 3:
        each = heard.get(timeout=60)
        told += [each] if each["type"].startswith("request.") else []
    received = {each["data"]["request"] for each in told if each["type"] == "request.received"}
    assert received == {made["request_id"], asked["request_id"]}, told
    # Nobody has the address, and this agent may learn it. That somebody asks is for an operator to answer.
    ended = [(each["data"]["request"], each["data"]["outcome"]) for each in told if each["type"] == "request.closed"]
    assert ended == [(made["request_id"], "nothing_held")], told
    closed = call("GET", f"{exercise}/{made['request_id']}", token=token)
    assert (closed[1]["status"], closed[1]["reason"]) == ("denied", "no_match"), closed
    print("the agent was set up, its request received, told and ended; every signed message that was wrong was refused")


if __name__ == "__main__":
    if sys.argv[1] == "key":
        print(SigningKey(base64.b64decode(sys.argv[2])).verify_key.encode(Base64Encoder).decode())
    else:
        play(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
