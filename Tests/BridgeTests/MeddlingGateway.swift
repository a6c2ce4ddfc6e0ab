// A gateway that plays what etcd is known to do wrong. It stands before a real etcd and passes everything on,
// but says events of a watch twice, late or not at all, falls silent, or keeps an answer to itself after the
// write was done.

import Foundation
import TestSupport

@testable import BridgePlugin

final class MeddlingGateway: Sendable {
    /// What it does from now on.
    struct Mischief: Encodable {
        /// Each line of a watch comes twice.
        var twice = false
        /// Events of keys that end so are left out of watches.
        var dropped: String?
        /// Lines of a watch with keys that end so come after the next line.
        var late: String?
        /// The watches that are open now say nothing any more.
        var silent = false
        /// How many of the next watches say nothing at all.
        var mute = 0
        /// How many guarded transactions are carried out and not answered.
        var unanswered = 0
        /// The same for the others, which put the bridge's own keys.
        var unansweredPuts = 0
    }

    static let isPossible = StallingProxy.isPossible

    /// Where the host finds it.
    let nodes: [String]
    private let program: TestProgram
    private let gateway: EtcdGateway

    init(to node: String) async throws {
        let port = try FreePorts.take(1)[0]
        let target = String(node.split(separator: ":").last ?? "")
        program = try TestProgram("/usr/bin/python3", ["-c", Self.script, "\(port)", target])
        nodes = ["http://127.0.0.1:\(port)"]
        gateway = EtcdGateway(nodes: nodes, user: nil)
        try await eventually("it listens") {
            do {
                try await meddle(Mischief())
                return true
            } catch is EtcdError {
                return false
            }
        }
    }

    func meddle(_ mischief: Mischief) async throws {
        _ = try await gateway.ask("/meddle", mischief, as: [String: Int].self)
    }

    private static let script = """
        import base64, http.client, http.server, json, sys, time
        port, target = int(sys.argv[1]), int(sys.argv[2])
        mode, silent_before = {}, [0.0]
        class Gateway(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *_): pass
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/meddle":
                    mode.update(json.loads(body))
                    if mode.get("silent"): silent_before[0] = time.monotonic()
                    return self.answer(200, b"{}")
                names = "Content-Type", "Authorization", "Grpc-Metadata-hasleader"
                headers = {name: self.headers[name] for name in names if name in self.headers}
                connection = http.client.HTTPConnection("127.0.0.1", target)
                connection.request("POST", self.path, body, headers)
                reply = connection.getresponse()
                if self.path == "/v3/watch":
                    return self.stream(reply)
                data = reply.read()
                kind = "unanswered" if b'"mod_revision"' in body else "unansweredPuts"
                if self.path == "/v3/kv/txn" and mode.get(kind, 0) > 0:
                    mode[kind] -= 1
                    self.close_connection = True
                    return self.connection.close()
                self.answer(reply.status, data)
            def answer(self, status, data):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            def stream(self, reply):
                started, held = time.monotonic(), []
                if mode.get("mute", 0) > 0:
                    mode["mute"] -= 1
                    started = -1
                self.send_response(reply.status)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while line := reply.readline():
                    if started < silent_before[0]: continue
                    line = self.without_dropped(line)
                    if not held and self.has_late(line):
                        held.append(line)
                        continue
                    for each in [line] * (2 if mode.get("twice") else 1) + held:
                        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(each), each))
                    held = []
                    self.wfile.flush()
            def has_late(self, line):
                late = mode.get("late")
                if not late or b'"events"' not in line: return False
                keys = [base64.b64decode(event["kv"]["key"]) for event in json.loads(line)["result"]["events"]]
                return any(key.endswith(late.encode()) for key in keys)
            def without_dropped(self, line):
                dropped = mode.get("dropped")
                if not dropped or b'"events"' not in line: return line
                content = json.loads(line)
                events = content["result"]["events"]
                ends = dropped.encode()
                content["result"]["events"] = [
                    event for event in events if not base64.b64decode(event["kv"]["key"]).endswith(ends)
                ]
                return json.dumps(content).encode() + b"\\n"
        http.server.ThreadingHTTPServer(("127.0.0.1", port), Gateway).serve_forever()
        """
}
