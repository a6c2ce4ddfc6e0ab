// Where `up` can be asked about its plugins: as a client of its own broker it publishes
// the state of each, bound to its connection, and serves the calls that act on them. The
// keys are ordinary ones, since those that begin with `$` are the broker's alone.

import PlugboardPosix
import PlugboardWire

/// What can be asked for.
enum PluginAction: String, CaseIterable, Sendable {
    case list, start, stop, restart, log
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

/// The bus as `up` uses it. Letting go of it closes the connection, and the states are gone.
final class PluginDesk {
    /// Calls that may wait for plugins to have stopped.
    static let waitingMax = 256
    /// Kinds of refusals that are told.
    static let faultsMax = 16
    static let name = "up"

    private let link: BusLink
    private var waiting: [(call: String, plugin: String)] = []
    /// By name: what was published last.
    private var published: [String: [UInt8]] = [:]
    private var faults: Set<String> = []

    /// Says who it is, and what it serves.
    init(link: BusLink) {
        self.link = link
        link.send(RequestLine("hello").adding("name", string: Self.name).line)
        for action in PluginAction.allCases {
            link.send(RequestLine("serve").adding("key", string: PluginKey.call(action)).line)
        }
    }

    /// What to poll; closed with this desk.
    var fd: Int32 { link.fd }
    var interest: Interest { link.interest }
    /// The broker is out of reach.
    var isGone: Bool { link.isGone }

    /// Moves what waits; the calls that came, and what the broker refused, each kind once.
    func turn() -> (requests: [PluginRequest], faults: [String]) {
        link.flush()
        let lines = link.receive()
        let refused = lines.compactMap(\.refusal?.message).filter {
            faults.count < Self.faultsMax && faults.insert($0).inserted
        }
        return (lines.compactMap(Self.request), refused)
    }

    /// Publishes the state of a plugin, and answers those who waited for it.
    func tell(_ process: SupervisedProcess) {
        let report = PluginReport.json(of: process)
        if published[process.name] != report {
            published[process.name] = report
            let request = RequestLine("publish").adding("key", string: PluginKey.state(of: process.name))
                .adding("value", json: report[...]).adding("while", string: "connected")
            link.send(request.line)
        }
        if case .stopping = process.state { return }
        for (call, plugin) in waiting where plugin == process.name { answer(call, report) }
        waiting.removeAll { $0.plugin == process.name }
    }

    /// Answers a call when the plugin is neither running nor stopping, or runs again.
    func answer(_ call: String, whenSettled process: SupervisedProcess) {
        guard case .stopping = process.state else { return answer(call, PluginReport.json(of: process)) }
        guard waiting.count < Self.waitingMax else {
            return refuse(call, "limit", "more than \(Self.waitingMax) calls wait for plugins to stop")
        }
        waiting.append((call, process.name))
    }

    func answer(_ call: String, _ value: [UInt8]) {
        link.send(RequestLine("return").adding("call", string: call).adding("value", json: value[...]).line)
    }

    func refuse(_ call: String, _ code: String, _ message: String) {
        let error = JSONObjectText().adding("code", string: code).adding("message", string: message)
        link.send(
            RequestLine("return").adding("call", string: call).adding("error", json: error.bytes[...]).line
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
