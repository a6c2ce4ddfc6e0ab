// All shared values of the bus as they are when a subscription begins.

import PlugboardClient

/// A value on the bus, and who wrote it.
struct BusValue: Sendable {
    let key: String
    let revision: Int
    let value: JSON
    var by: String?
    var origin: String?
    /// It ends with its writer's connection.
    var isBound = false
    /// Whether its writer's connection is still open.
    var isLive = true
}

/// All shared values at one revision.
struct BusSnapshot: Sendable {
    var values: [BusValue] = []
    /// The newest revision that it can show.
    var revision = 0
}

extension Subscription {
    /// Waits for the values with which the subscription begins. Events follow them.
    func snapshot() async throws -> BusSnapshot {
        var values: [String: BusValue] = [:]
        var iterator = makeAsyncIterator()
        while let event = try await iterator.next() {
            switch event.kind {
            case .update: values[event.key] = BusValue(event)
            case .delete: values[event.key] = nil
            case .synced:
                let ordered = values.values.sorted { $0.revision < $1.revision }
                let newest = [event.revision, ordered.last?.revision ?? 0].max()
                return BusSnapshot(values: ordered, revision: newest ?? 0)
            case .emit, .leave, .lagged: break
            }
        }
        throw BridgeRestart.busLost
    }
}

extension BusValue {
    init?(_ event: Event) {
        guard let value = event.value else { return nil }
        self.init(
            key: event.key,
            revision: event.revision,
            value: value,
            by: event.by,
            origin: event.origin,
            isBound: event.lifetime == .connected,
            isLive: event.isWriterLive ?? true
        )
    }
}
