// The requests that make recorded events happen again. An event is one request. Events of one
// revision are a batch, or several if they don't fit one line.

import PlugboardWire

/// A request that plays one or more events.
struct ReplayRequest: Sendable {
    let events: [RecordedEvent]
    /// With its line feed.
    let line: [UInt8]
}

/// Makes requests of events.
struct ReplayRequests: Sendable {
    /// The prefix of each key, with its dot.
    let prefix: String

    /// The requests that play these events, which happened at once. `cause` gives the revision
    /// that stands for a recorded one.
    func requests(_ events: [RecordedEvent], cause: (UInt64) -> UInt64?) -> [ReplayRequest] {
        let writes = events.map { write($0, cause) }
        return BatchParts.ranges(writes.map(\.bytes.count)).map { part in
            let list = part.count > 1 ? ObjectWriter.array(writes[part].map(\.bytes)) : nil
            let request = list.map { ObjectWriter(op: "batch").adding("writes", json: $0) }
            let line = (request ?? writes[part.lowerBound]).line(id: events[part.lowerBound].number)
            return ReplayRequest(events: Array(events[part]), line: line)
        }
    }

    /// Why an event can't be played; nil if it can.
    func fault(of event: RecordedEvent) -> String? {
        guard !prefix.isEmpty else { return nil }
        let key = prefix + event.key
        let fault = Key.fault(Array(key.utf8).span)
        return fault.map { "\"\(key)\" is not a key: \($0.rawValue)" }
    }

    private func write(_ event: RecordedEvent, _ cause: (UInt64) -> UInt64?) -> ObjectWriter {
        ObjectWriter(op: event.kind.operation).adding("key", string: prefix + event.key)
            .adding("value", json: event.value).adding("cause", event.cause.flatMap(cause))
            .adding("origin", json: event.origin)
    }
}
