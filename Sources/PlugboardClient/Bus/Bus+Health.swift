// How this program is, for everybody who looks: `plugboard status`, `metrics` and the dashboard read it at
// `NAME.health`. The value ends with the connection, and is published again on the next one.

import PlugboardPosix
import PlugboardWire

extension Bus {
    /// How a program says it is: `.well`, `.degraded` if it does a part of its work, or `.down`.
    public typealias Health = HealthState

    /// Tells how this program is, as the value of `NAME.health`: whether it does its work, what keeps it from
    /// that, and figures.
    ///
    /// ```swift
    /// bus.health(.degraded, "no answer from the till", counts: ["unsent": 3])
    /// bus.health(.well)
    /// ```
    /// The same once more sends nothing, and `since` changes only with the state. A plugin of `up` needs no
    /// entry in its `plugin.json` for this key. It doesn't wait: without a connection, the next one has it. If the
    /// broker refuses it, that is a fault (``onFault(_:)``). A program without a name tells nothing.
    /// - Parameters:
    ///   - message: a sentence for people; at most 1,024 bytes of it are told.
    ///   - counts: what there is much of, such as refused lines.
    public func health(_ state: Health, _ message: String? = nil, counts: [String: Int] = [:]) {
        link.tell(ToldHealth(state: state, message: message.map(ToldHealth.cut), counts: counts))
    }
}

/// How this program is.
struct ToldHealth: Sendable, Equatable {
    let state: HealthState
    let message: String?
    let counts: [String: Int]
    /// Milliseconds since 1970.
    var since: UInt64 = 0

    /// As much of a text as may be told.
    static func cut(_ text: String) -> String {
        guard text.utf8.count > HealthReport.messageBytesMax else { return text }
        var cut = text.prefix(HealthReport.messageBytesMax)
        while cut.utf8.count > HealthReport.messageBytesMax { cut.removeLast() }
        return String(cut)
    }

    var json: JSON {
        var members: [(name: String, value: JSON)] = [
            ("state", .string(state.rawValue)), ("since", .string(UTCTime.text(since))),
        ]
        if let message { members.append(("message", .string(message))) }
        if !counts.isEmpty {
            let counts = counts.sorted { $0.key < $1.key }
            members.append(("counts", .object(counts.map { ($0.key, .integer($0.value)) })))
        }
        return .object(members)
    }
}

/// What the bus is told of this program's health: one report at a time, so that many changes are few reports.
struct HealthTelling: Sendable {
    /// Nil if the program tells none.
    fileprivate var newest: ToldHealth?
    fileprivate var isUnderWay = false

    /// Takes a health. Returns whether it is another one.
    fileprivate mutating func take(_ health: ToldHealth) -> Bool {
        var next = health
        let since = newest?.state == health.state ? newest?.since : nil
        next.since = since ?? WallClock.millisecondsSince1970()
        defer { newest = next }
        return next != newest
    }
}

extension Link {
    /// Tells it now, or on the next connection.
    fileprivate func tell(_ health: ToldHealth) {
        change { state in
            if state.health.take(health) { sendHealth(&state) }
        }
    }

    /// Tells it on a new connection.
    func tellHealthAgain(_ state: inout LinkState) {
        state.health.isUnderWay = false
        guard let (key, request) = healthReport(state) else { return }
        state.health.isUnderWay = true
        let sent = state.health.newest
        setUp(request, key, &state) { [weak self] _ in self?.change { self?.told(sent, &$0) } }
    }

    /// Sends the newest one, unless another one is under way.
    private func sendHealth(_ state: inout LinkState) {
        guard state.isJoined, !state.health.isUnderWay, let (key, request) = healthReport(state) else {
            return
        }
        state.health.isUnderWay = true
        let sent = state.health.newest
        appendInternal(request, &state) { [weak self] result in
            guard let self else { return }
            if case .failure(let error as BusError) = result {
                // If the connection broke, the next one tells it.
                guard error.code != nil else { return }
                faults.tell(Fault(error: error, key: key))
            }
            change { self.told(sent, &$0) }
        }
    }

    private func told(_ health: ToldHealth?, _ state: inout LinkState) {
        state.health.isUnderWay = false
        if state.health.newest != health { sendHealth(&state) }
    }

    private func healthReport(_ state: LinkState) -> (key: String, request: ObjectWriter)? {
        guard let health = state.health.newest, let name = state.greeting?.name ?? name else { return nil }
        let key = HealthReport.key(of: name)
        let request = ObjectWriter(op: "publish").adding("key", string: key)
            .adding("value", json: health.json.bytes).adding("while", string: "connected")
        return (key, request)
    }
}
