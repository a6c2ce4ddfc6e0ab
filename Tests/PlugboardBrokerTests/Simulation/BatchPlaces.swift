// The place of each write in its batch. All writes of a batch share a revision, and observers get them in
// the order in which they were written.

/// The places of writes in their batches.
struct BatchPlaces {
    /// The places by revision and key.
    private var places: [UInt64: [String: Int]] = [:]

    /// Notes a batch that is known to have been made.
    mutating func collect(_ asked: Asked) {
        guard case .batch(let parts) = asked.wish, let reply = asked.reply, reply.kind == .done,
            let revision = reply.revision
        else { return }
        for (place, part) in parts.enumerated() where !part.isEvent {
            places[revision, default: [:]][part.key] = place
        }
    }

    /// The place of a key's write in its batch; nil if it isn't of a batch.
    func place(of key: String, at revision: UInt64) -> Int? { places[revision]?[key] }
}
