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
        guard events.count > 1 else { return events.map { single($0, cause) } }
        var requests: [ReplayRequest] = []
        var part: [RecordedEvent] = []
        var writes: [UInt8] = []
        for event in events {
            let write = Array(write(event, cause).line.dropLast())
            if !part.isEmpty, writes.count + write.count + Self.envelopeBytes > Limits.lineBytesMax {
                requests.append(batch(part, writes))
                (part, writes) = ([], [])
            }
            writes += part.isEmpty ? write : [UInt8(ascii: ",")] + write
            part.append(event)
        }
        return requests + [part.count == 1 ? single(part[0], cause) : batch(part, writes)]
    }

    /// Why an event can't be played; nil if it can.
    func fault(of event: RecordedEvent) -> String? {
        guard !prefix.isEmpty else { return nil }
        let key = prefix + event.key
        let fault = Key.fault(Array(key.utf8).span)
        return fault.map { "\"\(key)\" is not a key: \($0.rawValue)" }
    }

    /// The bytes of a batch's line without its writes.
    private static let envelopeBytes = 64

    private func single(_ event: RecordedEvent, _ cause: (UInt64) -> UInt64?) -> ReplayRequest {
        ReplayRequest(events: [event], line: write(event, cause).adding("id", event.number).line)
    }

    private func batch(_ events: [RecordedEvent], _ writes: [UInt8]) -> ReplayRequest {
        let list = [UInt8(ascii: "[")] + writes + [UInt8(ascii: "]")]
        let request = ObjectText(op: "batch").adding("id", events[0].number).adding("writes", json: list)
        return ReplayRequest(events: events, line: request.line)
    }

    private func write(_ event: RecordedEvent, _ cause: (UInt64) -> UInt64?) -> ObjectText {
        ObjectText(op: event.kind.operation).adding("key", string: prefix + event.key)
            .adding("value", json: event.value).adding("cause", event.cause.flatMap(cause))
    }
}
