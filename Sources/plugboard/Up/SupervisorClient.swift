// The part of `up` that is a client of its own broker. It publishes the state of each plugin at
// `$broker.plugins.<name>`, bound to its connection, and serves the calls that act on plugins. Only the
// supervisor may write these keys. The broker applies them, so `up` releases a held plugin only when the
// broker has answered.

import PlugboardPosix
import PlugboardWire

/// The actions that clients can call.
enum PluginAction: String, CaseIterable, Sendable {
    case list, start, stop, restart, log, reload
}

/// A call from a client.
struct PluginRequest: Equatable {
    /// The call's name in its event.
    let call: String
    let action: PluginAction
    /// The plugin's name; nil if the value isn't a string, and no object with one.
    let plugin: String?
    /// For `log`: the number of the last entry that the caller has; nil if it wants the lines alone.
    var after: UInt64?
    /// The caller's name.
    let by: String
    /// The revision of the call, which what it leads to names as its cause.
    var revision: UInt64?
}

/// The news from the bus.
struct DeskNews {
    var requests: [PluginRequest] = []
    /// Process numbers that the broker knows now.
    var known: [Int32] = []
    /// Process numbers that the broker refused, and the reasons.
    var refused: [(pid: Int32, message: String)] = []
    /// Plugins that are now wanted, or no longer wanted.
    var demands: [(plugin: String, isWanted: Bool)] = []
    /// Whether the broker has given a sign of life.
    var isAlive = false
    /// Other errors from the broker, each kind once.
    var faults: [String] = []
}

/// The client of `up`. When it is released, its connection closes and the broker deletes the states.
final class SupervisorClient {
    /// How many calls may wait for plugins to stop.
    static let waitingMax = 256
    /// How many kinds of errors are reported.
    static let faultsMax = 16
    static let name = "up"

    /// The time between two attempts to connect again: at first, and at most.
    private static let pauseSeconds = (first: 0.05, most: 2.0)

    private var link: BusLink
    private let connect: () throws -> BusLink
    private var waiting: [(call: String, plugin: String)] = []
    /// The last published state of each plugin, by its name.
    private var published: [String: [UInt8]] = [:]
    /// The revision of the call that is carried out now.
    var cause: UInt64?
    /// Why plugins are stopping: the revisions of calls, by the plugins' names.
    private var causes: [String: UInt64] = [:]
    private var faults: Set<String> = []
    /// The pause before the next attempt.
    private var pauseSeconds = SupervisorClient.pauseSeconds.first

    /// Connects, now and whenever the connection is lost. Throws if the first attempt fails.
    init(connect: @escaping () throws -> BusLink) throws {
        self.connect = connect
        link = try connect()
        introduce()
    }

    /// The descriptor to poll. It is closed with this desk, or when the desk connects again.
    var fd: Int32 { link.fd }
    var interest: Interest { link.interest }
    /// Whether there is no connection to the broker.
    var isGone: Bool { link.isGone }

    /// How long to wait before `connectAgain`. The time grows with each attempt, until a line has come.
    func nextPauseSeconds() -> Double {
        defer { pauseSeconds = min(pauseSeconds * 2, Self.pauseSeconds.most) }
        return pauseSeconds
    }

    /// Connects again, if a broker is there. It forgets earlier requests, and all states have to be published
    /// again.
    func connectAgain() -> Bool {
        guard let link = try? connect() else { return false }
        self.link = link
        waiting = []
        (published, causes) = ([:], [:])
        introduce()
        return true
    }

    /// Sends a request to which the broker's answer is a sign of life.
    func askWhetherAlive() {
        link.send(ObjectWriter(op: "sync").line)
    }

    /// Sends the name of `up`, and the calls that it serves.
    private func introduce() {
        link.send(ObjectWriter(op: "hello").adding("name", string: Self.name).line)
        for action in PluginAction.allCases {
            link.send(ObjectWriter(op: "serve").adding("key", string: PluginKey.call(action)).line)
        }
    }

    /// Sends waiting bytes, and returns what came.
    func turn() -> DeskNews {
        link.flush()
        var news = DeskNews()
        for line in link.receive() { note(line, &news) }
        return news
    }

    private func note(_ line: BrokerLine, _ news: inout DeskNews) {
        pauseSeconds = Self.pauseSeconds.first
        let pid = line["id"]?.integer.flatMap { Int32(exactly: $0) }
        if let message = line.refusal?.message {
            if let pid { return news.refused.append((pid, message)) }
            if faults.count < Self.faultsMax, faults.insert(message).inserted { news.faults.append(message) }
        } else if line.kind == .ok("publish"), let pid {
            news.known.append(pid)
        } else if line.kind == .ok("sync") {
            news.isAlive = true
        } else if line.kind == .event("demand"), let plugin = line["plugin"]?.string {
            news.demands.append((plugin, line["wanted"]?.bool == true))
        } else if let request = Self.request(line) {
            news.requests.append(request)
        }
    }

    /// Publishes the state of a plugin, and answers calls that waited for it.
    func tell(_ process: SupervisedProcess) {
        let report = PluginStatus.json(of: process)
        let cause = cause ?? causes[process.name]
        if published[process.name] != report {
            published[process.name] = report
            // By the time of the answer, the broker knows the process in it.
            let pid = process.isHeld ? process.pid.map(UInt64.init) : nil
            let request = ObjectWriter(op: "publish").adding("id", pid)
                .adding("key", string: PluginKey.state(of: process.name))
                .adding("value", json: report[...]).adding("while", string: "connected")
                .adding("cause", cause)
            link.send(request.line)
        }
        if case .stopping = process.state {
            causes[process.name] = cause
            return
        }
        causes[process.name] = nil
        for (call, plugin) in waiting where plugin == process.name { answer(call, report) }
        waiting.removeAll { $0.plugin == process.name }
    }

    /// Deletes the key of a plugin that no longer exists. So the broker forgets its name and limits.
    func withdraw(_ process: SupervisedProcess) {
        guard published.removeValue(forKey: process.name) != nil else { return }
        let cause = cause ?? causes.removeValue(forKey: process.name)
        let key = PluginKey.state(of: process.name)
        link.send(ObjectWriter(op: "delete").adding("key", string: key).adding("cause", cause).line)
    }

    /// Answers a call. If the plugin is stopping, the answer waits until it has stopped, or runs again.
    func answer(_ call: String, whenSettled process: SupervisedProcess) {
        guard case .stopping = process.state else { return answer(call, PluginStatus.json(of: process)) }
        guard waiting.count < Self.waitingMax else {
            return refuse(call, "limit", "more than \(Self.waitingMax) calls wait for plugins to stop")
        }
        waiting.append((call, process.name))
    }

    /// Answers a call. The broker would throw away an answer that is too long, and the caller would wait for
    /// it in vain.
    func answer(_ call: String, _ value: [UInt8]) {
        guard value.count <= Limits.valueBytesMax else {
            let message = "the answer has \(value.count) bytes, a value at most \(Limits.valueBytesMax)"
            return refuse(call, "limit", message)
        }
        link.send(
            ObjectWriter(op: "return").adding("call", string: call).adding("value", json: value[...]).line
        )
    }

    func refuse(_ call: String, _ code: String, _ message: String) {
        let error = ObjectWriter().adding("code", string: code).adding("message", string: message)
        link.send(
            ObjectWriter(op: "return").adding("call", string: call).adding("error", json: error.bytes[...])
                .line
        )
    }

    private static func request(_ line: BrokerLine) -> PluginRequest? {
        guard line.kind == .event("call"), let call = line["call"]?.string,
            let action = line["key"]?.string.flatMap(PluginKey.action)
        else { return nil }
        let details = action == .log ? line["value"]?.object : nil
        return PluginRequest(
            call: call,
            action: action,
            plugin: line["value"]?.string ?? details?["plugin"]?.string,
            after: details.map { $0["after"]?.integer ?? 0 },
            by: line["by"]?.string ?? "?",
            revision: line["revision"]?.integer
        )
    }
}
