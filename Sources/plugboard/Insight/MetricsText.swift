// The figures of a bus in Prometheus' text format. Names follow its conventions: base units, `_total` for
// what only grows, one help line and one type for each.

import PlugboardWire

/// Writes metrics.
struct MetricsText {
    private enum Kind: String { case counter, gauge }
    /// Of so many clients the figures are given one by one: those that came last.
    static let clientsMax = 1_000

    private(set) var text = ""

    /// The metrics when no broker answers.
    static let down: String = {
        var metrics = MetricsText()
        metrics.addUp(false)
        return metrics.text
    }()

    init(_ report: BusReport) {
        addUp(true)
        addBroker(report)
        addClients(report.clients)
        if let plugins = report.plugins { addPlugins(plugins) }
        addHealth(report.health)
    }

    private init() {}

    private mutating func addUp(_ isUp: Bool) {
        add("up", .gauge, "Whether the broker answers.", [([], isUp ? "1" : "0")])
    }

    private mutating func addBroker(_ report: BusReport) {
        let labels = [
            ("version", report.greeting?["version"]?.string ?? ""),
            ("protocol", report.greeting?["protocol"]?.text ?? ""),
        ]
        add("broker_info", .gauge, "The broker's version.", [(labels, "1")])
        let figures: [(String, Kind, String, UInt64?)] = [
            ("uptime_seconds", .gauge, "How long the broker has been running.", report.figure("uptime")),
            ("revisions_total", .counter, "The revision of the last write.", report.figure("revision")),
            ("keys", .gauge, "Keys with a value.", report.figure("keys")),
            ("clients", .gauge, "Connected clients.", report.figure("clients")),
            ("subscriptions", .gauge, "Subscriptions of all clients.", report.figure("subscriptions")),
            ("slow_clients", .gauge, "Clients that read too slowly.", report.figure("slow")),
            ("memory_bytes", .gauge, "Resident memory of the broker.", report.figure("memory")),
            ("lines_total", .counter, "Lines that clients sent.", report.total("lines")),
            ("writes_total", .counter, "Writes, and emits that an observer got.", report.total("writes")),
            ("events_total", .counter, "Events sent, one for each observer.", report.total("events")),
            ("received_bytes_total", .counter, "Bytes from clients.", report.total("received")),
            ("sent_bytes_total", .counter, "Bytes to clients.", report.total("sent")),
            ("warnings", .gauge, "Warnings that the broker remembers.", UInt64(report.warnings.count)),
        ]
        for (name, kind, help, value) in figures {
            if let value { add(name, kind, help, [([], "\(value)")]) }
        }
        addCalls(report.stats["calls"]?.object)
        let latency = report.stats["latency"]?.object
        for (member, help) in [("mean", "Mean"), ("max", "Longest")] {
            guard let microseconds = latency?[member]?.integer else { continue }
            add(
                "turn_\(member)_seconds",
                .gauge,
                "\(help) turn of the loop since the figures were last read.",
                [([], Self.seconds(microseconds))]
            )
        }
    }

    private mutating func addCalls(_ calls: JSONObject?) {
        guard let calls else { return }
        let figures: [(String, Kind, String, String)] = [
            ("calls_total", .counter, "Calls that clients made.", "asked"),
            ("calls_answered_total", .counter, "Calls that a server answered with a value.", "answered"),
            ("calls_failed_total", .counter, "Calls that ended with an error.", "failed"),
            ("calls_waiting", .gauge, "Calls that wait for their answer.", "waiting"),
        ]
        for (name, kind, help, member) in figures {
            if let value = calls[member]?.integer { add(name, kind, help, [([], "\(value)")]) }
        }
    }

    private mutating func addClients(_ told: [JSONObject]) {
        // Each client is a time series of its own, so there is a limit.
        let clients = told.count > Self.clientsMax ? Array(told.suffix(Self.clientsMax)) : told
        add(
            "clients_omitted",
            .gauge,
            "Clients that have no figures here, because there are too many.",
            [([], "\(told.count - clients.count)")]
        )
        func samples(_ member: String) -> [(labels: [(String, String)], value: String)] {
            clients.map { (Self.labels(of: $0), $0[member]?.integer.map(String.init) ?? "0") }
        }
        add("client_subscriptions", .gauge, "Subscriptions of a client.", samples("subscriptions"))
        add("client_lines_total", .counter, "Lines that a client sent.", samples("lines"))
        add("client_sent_bytes_total", .counter, "Bytes that a client was sent.", samples("sent"))
        add("client_queued_bytes", .gauge, "Bytes that wait for a client.", samples("queued"))
        add("client_owed_keys", .gauge, "Keys whose newest value waits for a client.", samples("owed"))
        add(
            "client_lagging",
            .gauge,
            "Whether a client reads too slowly.",
            clients.map {
                (Self.labels(of: $0), $0["state"]?.string == "lagging" ? "1" : "0")
            }
        )
    }

    private mutating func addPlugins(_ plugins: [JSONObject]) {
        func samples(_ value: (JSONObject) -> String) -> [(labels: [(String, String)], value: String)] {
            plugins.map { ([("plugin", $0["name"]?.string ?? "")], value($0)) }
        }
        add(
            "plugin_running",
            .gauge,
            "Whether a plugin has a process.",
            samples {
                $0["state"]?.string == "running" ? "1" : "0"
            }
        )
        add(
            "plugin_broken",
            .gauge,
            "Whether a plugin crashed too often.",
            samples {
                $0["state"]?.string == "broken" ? "1" : "0"
            }
        )
        add(
            "plugin_restarts_total",
            .counter,
            "Starts of a plugin after the first.",
            samples {
                $0["restarts"]?.integer.map(String.init) ?? "0"
            }
        )
    }

    private mutating func addHealth(_ health: [ProgramHealth]) {
        add(
            "plugin_health",
            .gauge,
            "Whether a plugin says that this is its state.",
            health.flatMap { plugin in
                HealthState.allCases.map { state in
                    ([("plugin", plugin.name), ("state", state.rawValue)], state == plugin.state ? "1" : "0")
                }
            }
        )
        add(
            "plugin_health_count",
            .gauge,
            "What a plugin counts in its health.",
            health.flatMap { plugin in
                plugin.counts.map { ([("plugin", plugin.name), ("count", $0.name)], "\($0.count)") }
            }
        )
    }

    private static func labels(of client: JSONObject) -> [(String, String)] {
        [("client", client["client"]?.text ?? ""), ("name", client["name"]?.string ?? "")]
    }

    /// `0.000123`.
    static func seconds(_ microseconds: UInt64) -> String {
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
    }

    private mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: String)]
    ) {
        guard !samples.isEmpty else { return }
        let name = "\(Program.name)_\(name)"
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
            text += name + (labels.isEmpty ? "" : "{\(labels)}") + " \(sample.value)\n"
        }
    }

    /// A label's value: names of clients may have any character.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.append(character)
            }
        }
    }
}
