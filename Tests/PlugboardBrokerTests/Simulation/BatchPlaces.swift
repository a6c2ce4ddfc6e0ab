// Where each write stands in its batch: all of one share a revision, and are told in the order in
// which they were written.

/// The places of writes in their batches.
struct BatchPlaces {
    /// By revision and key.
    private var places: [UInt64: [String: Int]] = [:]

    /// Takes a batch that is known to have been made.
    mutating func collect(_ asked: Asked) {
        guard case .batch(let parts) = asked.wish, let reply = asked.reply, reply.kind == .done,
            let revision = reply.revision
        else { return }
        for (place, part) in parts.enumerated() where !part.isEvent {
            places[revision, default: [:]][part.key] = place
        }
    }

    /// The place of the write of a key; nil where that is not of a batch.
    func place(of key: String, at revision: UInt64) -> Int? { places[revision]?[key] }
}
