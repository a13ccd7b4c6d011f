"""Takes orders: POST /orders with {"id", "customer", "cents"}; 202 when the order is stored."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import barnabas
from barnabas.errors import BarnabasError
from examples.night.settings import SECURITY, SERVERS


class Website(BaseHTTPRequestHandler):
    producer: barnabas.Producer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            order = json.loads(body)
            self.producer.send("orders", body, key=order["customer"].encode()).result()
        except BarnabasError as error:
            self.send_error(503, str(error)[:200])
            return
        self.send_response(202)
        self.end_headers()

    def log_request(self, *_: object) -> None:
        """Only failures are worth a line, and the producer logs those."""


if __name__ == "__main__":
    with barnabas.Producer(SERVERS, security=SECURITY, linger_ms=0) as Website.producer:
        server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["NIGHT_PORT"])), Website)
        server.serve_forever()
