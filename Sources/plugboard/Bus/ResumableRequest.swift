// A request that is repeated on each connection. A subscription resumes where it was, with `since`.
// A key that doesn't come back gets an event in the broker's form.

import PlugboardWire

/// A request of a command for as long as it runs.
struct ResumableRequest {
    enum Kind {
        /// Sent once for each connection.
        case plain
        /// A subscription, with or without the current values at its beginning.
        case subscription(hasInitial: Bool)
        /// A subscription that needs the present state, but not what happened during a break.
        case present
        /// A request for events from now on, such as a trace.
        case trace
        /// The same beside a subscription, which shows the gaps.
        case besides
    }

    /// Its name on the present connection.
    private(set) var sub: UInt64?
    private let request: ObjectWriter
    private let kind: Kind
    /// The event for a key that is gone or no longer matches.
    private let ending: String
    private var place = ResumePlace()
    private var known: KnownKeys?

    /// `isFiltered` says that it asks only for some values, with `where`.
    init(_ request: ObjectWriter, _ kind: Kind, isFiltered: Bool = false) {
        self.request = request
        self.kind = kind
        ending = isFiltered ? "leave" : "delete"
        if hasSnapshot { known = KnownKeys() }
    }

    /// The request for this connection.
    func line(id: UInt64) -> [UInt8] {
        var request = request
        if case .subscription = kind, let revision = place.revision {
            request = request.adding("since", revision).adding("epoch", string: place.epoch)
        }
        return request.line(id: id)
    }

    private var hasSnapshot: Bool {
        switch kind {
        case .subscription(let hasInitial): hasInitial
        case .present: true
        case .plain, .trace, .besides: false
        }
    }

    /// Call it when the broker has accepted the request. On a connection after the first, returns a `gap`
    /// line if something may have been missed.
    mutating func begin(_ reply: BrokerLine, epoch: String, isFirst: Bool) -> BrokerLine? {
        if case .plain = kind { return nil }
        sub = reply["sub"]?.integer
        let isResumed = reply["resumed"]?.bool == true
        let (since, sinceEpoch) = (place.revision, place.epoch)
        let revision = reply["revision"]?.integer ?? 0
        place.begin(epoch: epoch, revision: revision, isResumed: isResumed, hasSnapshot: hasSnapshot)
        known?.begin(isResumed: isResumed)
        switch kind {
        case .present, .besides: return nil
        case .plain, .subscription, .trace: break
        }
        return isFirst || isResumed ? nil : gap(since, sinceEpoch, revision, epoch)
    }

    /// The lines to show for an event: none if it came before the break already. If it ends the catching up,
    /// the keys that are gone come first.
    mutating func take(_ line: BrokerLine, _ event: String) -> [BrokerLine] {
        switch kind {
        case .trace, .besides: return [line]
        case .plain, .subscription, .present: break
        }
        let revision = line["revision"]?.integer ?? 0
        let key = line["key"]?.string
        guard isNews(event, key, revision), known?.isNews(event, key: key) != false else { return [] }
        guard event == "synced", let gone = known?.synced() else { return [recounted(line, key)] }
        return gone.compactMap { ended($0, revision) } + [line]
    }

    /// Notes an event. Returns false if it came already before the connection broke.
    private mutating func isNews(_ event: String, _ key: String?, _ revision: UInt64) -> Bool {
        switch event {
        case "synced": place.finish(at: revision)
        case "emit": place.advance(to: revision)
        case "update", "delete", "leave": return place.isNews(key: key ?? "", revision: revision)
        default: break
        }
        return true
    }

    /// The line with a `skipped` that doesn't count writes that came on the connection before.
    private mutating func recounted(_ line: BrokerLine, _ key: String?) -> BrokerLine {
        guard let told = line["skipped"]?.integer else { return line }
        let count = place.skipped(told, key: key ?? "")
        return count == told ? line : line.replacing(skipped: told, by: count)
    }

    /// `{"event":"gap",…}`: the last revision before the gap, and the first one after it.
    private func gap(_ since: UInt64?, _ sinceEpoch: String, _ revision: UInt64, _ epoch: String)
        -> BrokerLine?
    {
        let isOtherEpoch = !sinceEpoch.isEmpty && sinceEpoch != epoch
        let text = named("gap").adding("since", since).adding("revision", revision)
            .adding("epoch", string: isOtherEpoch ? epoch : nil)
        return BrokerLine(text.bytes[...])
    }

    private func ended(_ key: String, _ revision: UInt64) -> BrokerLine? {
        BrokerLine(named(ending).adding("key", string: key).adding("revision", revision).bytes[...])
    }

    private func named(_ event: String) -> ObjectWriter {
        ObjectWriter().adding("event", string: event).adding("sub", sub)
    }
}
