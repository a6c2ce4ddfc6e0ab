// A request that is repeated on each connection. A subscription resumes where it was, with `since`.
// A key that doesn't come back gets an event in the broker's form.

import PlugboardWire

/// What a command wants as long as it runs.
struct StandingRequest {
    enum Kind {
        /// Sent once for each connection.
        case plain
        /// It begins with the current values, or doesn't.
        case subscription(hasInitial: Bool)
        /// It asks for the present state, and doesn't need what happened meanwhile.
        case present
        /// It gives what happens from now on, and nothing from before.
        case trace
    }

    /// Its name on the present connection.
    private(set) var sub: UInt64?
    private let request: ObjectText
    private let kind: Kind
    /// The event for a key that is gone or no longer matches.
    private let ending: String
    private var place = ResumePlace()
    private var known: KnownKeys?

    /// `isFiltered`: it asks for some values only, with `where`.
    init(_ request: ObjectText, _ kind: Kind, isFiltered: Bool = false) {
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
        return request.adding("id", id).line
    }

    private var hasSnapshot: Bool {
        switch kind {
        case .subscription(let hasInitial): hasInitial
        case .present: true
        case .plain, .trace: false
        }
    }

    /// The broker has agreed. On a connection after the first, returns a line that says so if
    /// something may have been missed.
    mutating func begin(_ reply: BrokerLine, epoch: String, isFirst: Bool) -> BrokerLine? {
        if case .plain = kind { return nil }
        sub = reply["sub"]?.integer
        let isResumed = reply["resumed"]?.bool == true
        let (since, sinceEpoch) = (place.revision, place.epoch)
        let revision = reply["revision"]?.integer ?? 0
        place.begin(epoch: epoch, revision: revision, isResumed: isResumed, hasSnapshot: hasSnapshot)
        known?.begin(isResumed: isResumed)
        if case .present = kind { return nil }
        return isFirst || isResumed ? nil : gap(since, sinceEpoch, revision, epoch)
    }

    /// What to show for an event: nothing if it came before. If it ends the catching up, first the
    /// keys that are gone.
    mutating func take(_ line: BrokerLine, _ event: String) -> [BrokerLine] {
        if case .trace = kind { return [line] }
        let revision = line["revision"]?.integer ?? 0
        let key = line["key"]?.string
        guard isNews(event, key, revision), known?.isNews(event, key: key) != false else { return [] }
        guard event == "synced", let gone = known?.synced() else { return [recounted(line, key)] }
        return gone.compactMap { ended($0, revision) } + [line]
    }

    /// Notes an event; false if it came before the connection broke.
    private mutating func isNews(_ event: String, _ key: String?, _ revision: UInt64) -> Bool {
        switch event {
        case "synced": place.finish(at: revision)
        case "emit": place.advance(to: revision)
        case "update", "delete", "leave": return place.isNews(key: key ?? "", revision: revision)
        default: break
        }
        return true
    }

    /// The line with no write in `skipped` that was told on the connection before.
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

    private func named(_ event: String) -> ObjectText {
        ObjectText().adding("event", string: event).adding("sub", sub)
    }
}
