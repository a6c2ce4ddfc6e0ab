// The side of `up` that answers on the bus. As a client of its own broker, it publishes the state
// of each plugin at `$broker.plugins.<name>`, bound to its connection, and serves the calls that
// act on plugins. No other client may. The broker acts on these states, so `up` releases a plugin
// only when the broker has answered for it.

import PlugboardPosix
import PlugboardWire

/// What can be asked for.
enum PluginAction: String, CaseIterable, Sendable {
    case list, start, stop, restart, log, reload
}

/// A call that came.
struct PluginRequest: Equatable {
    /// As the event names it.
    let call: String
    let action: PluginAction
    /// Nil where the value isn't a string.
    let plugin: String?
    /// Who asks.
    let by: String
}

/// What came over the bus.
struct DeskNews {
    var requests: [PluginRequest] = []
    /// Process numbers that the broker knows of now.
    var known: [Int32] = []
    /// Process numbers that the broker didn't take, and why.
    var refused: [(pid: Int32, message: String)] = []
    /// Plugins that are wanted from now on, or no longer.
    var demands: [(plugin: String, isWanted: Bool)] = []
    /// The broker has answered whether it is alive.
    var isAlive = false
    /// Other refusals, each kind once.
    var faults: [String] = []
}

/// The bus as `up` uses it. Releasing it closes the connection, and the broker deletes the states.
final class PluginDesk {
    /// How many calls may wait for plugins to stop.
    static let waitingMax = 256
    /// How many kinds of refusals are reported.
    static let faultsMax = 16
    static let name = "up"

    /// Between two attempts to connect again: at first, and at most.
    private static let pauseSeconds = (first: 0.05, most: 2.0)

    private var link: BusLink
    private let connect: () throws -> BusLink
    private var waiting: [(call: String, plugin: String)] = []
    /// By name: what was published last.
    private var published: [String: [UInt8]] = [:]
    private var faults: Set<String> = []
    /// The pause before the next attempt.
    private var pauseSeconds = PluginDesk.pauseSeconds.first

    /// Connects, now and whenever the connection is lost. Throws if the first attempt fails.
    init(connect: @escaping () throws -> BusLink) throws {
        self.connect = connect
        link = try connect()
        introduce()
    }

    /// What to poll; closed with this desk, or when it connects again.
    var fd: Int32 { link.fd }
    var interest: Interest { link.interest }
    /// The broker is out of reach.
    var isGone: Bool { link.isGone }

    /// How long to wait before `connectAgain`; longer each time, until a line has come.
    func nextPauseSeconds() -> Double {
        defer { pauseSeconds = min(pauseSeconds * 2, Self.pauseSeconds.most) }
        return pauseSeconds
    }

    /// Connects once more, if a broker is there. Earlier requests are forgotten, and all states
    /// have to be published again.
    func connectAgain() -> Bool {
        guard let link = try? connect() else { return false }
        self.link = link
        waiting = []
        published = [:]
        introduce()
        return true
    }

    /// Asks the broker for a sign of life.
    func askWhetherAlive() {
        link.send(ObjectText(op: "sync").line)
    }

    /// Sends its name, and what it serves.
    private func introduce() {
        link.send(ObjectText(op: "hello").adding("name", string: Self.name).line)
        for action in PluginAction.allCases {
            link.send(ObjectText(op: "serve").adding("key", string: PluginKey.call(action)).line)
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

    /// Publishes the state of a plugin, and answers those who waited for it.
    func tell(_ process: SupervisedProcess) {
        let report = PluginStatus.json(of: process)
        if published[process.name] != report {
            published[process.name] = report
            let request = ObjectText(op: "publish").adding("key", string: PluginKey.state(of: process.name))
                .adding("value", json: report[...]).adding("while", string: "connected")
            // The answer names the process that the broker knows by then.
            let pid = process.isHeld ? process.pid.map(UInt64.init) : nil
            link.send(request.adding("id", pid).line)
        }
        if case .stopping = process.state { return }
        for (call, plugin) in waiting where plugin == process.name { answer(call, report) }
        waiting.removeAll { $0.plugin == process.name }
    }

    /// A plugin no longer exists: its key is deleted, and with it its name and limits.
    func withdraw(_ process: SupervisedProcess) {
        guard published.removeValue(forKey: process.name) != nil else { return }
        link.send(ObjectText(op: "delete").adding("key", string: PluginKey.state(of: process.name)).line)
    }

    /// Answers a call when the plugin is neither running nor stopping, or runs again.
    func answer(_ call: String, whenSettled process: SupervisedProcess) {
        guard case .stopping = process.state else { return answer(call, PluginStatus.json(of: process)) }
        guard waiting.count < Self.waitingMax else {
            return refuse(call, "limit", "more than \(Self.waitingMax) calls wait for plugins to stop")
        }
        waiting.append((call, process.name))
    }

    func answer(_ call: String, _ value: [UInt8]) {
        link.send(
            ObjectText(op: "return").adding("call", string: call).adding("value", json: value[...]).line
        )
    }

    func refuse(_ call: String, _ code: String, _ message: String) {
        let error = ObjectText().adding("code", string: code).adding("message", string: message)
        link.send(
            ObjectText(op: "return").adding("call", string: call).adding("error", json: error.bytes[...]).line
        )
    }

    private static func request(_ line: BrokerLine) -> PluginRequest? {
        guard line.kind == .event("call"), let call = line["call"]?.string,
            let action = line["key"]?.string.flatMap(PluginKey.action)
        else { return nil }
        return PluginRequest(
            call: call,
            action: action,
            plugin: line["value"]?.string,
            by: line["by"]?.string ?? "?"
        )
    }
}
