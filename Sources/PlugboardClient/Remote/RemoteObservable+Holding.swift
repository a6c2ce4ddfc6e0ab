// Changes of a remote observable that came before the broker had sent the key's value. If they were
// sent at once, they would overwrite it with something made from the default. Invariants: as long
// as a change is held, a barrier is under way behind the subscription. Its answer or time-out ends
// the wait, and until then it keeps the observable alive. No change is held once the value is
// known.

import PlugboardWire

/// A change that waits for the first answer.
struct HeldChange<Value: Codable & Sendable>: Sendable {
    typealias Change = @Sendable (inout Value) -> Void

    /// The value if the key is absent.
    let value: Value
    /// How to make it again from another value; nil for an assignment.
    let again: Change?
    /// The event that was being handled.
    let cause: Int?
}

extension RemoteObservable {
    /// Keeps a change; the caller holds the state's lock. Returns why it can't be kept.
    func hold(_ value: Value, again: HeldChange<Value>.Change?, _ state: inout State) -> BusError? {
        if let end = state.end { return end }
        guard state.held.count < ClientLimits.heldChangesMax else {
            return .notReady(key: key, reason: "more than \(ClientLimits.heldChangesMax) changes wait for it")
        }
        if state.held.isEmpty, let failure = awaitFirstAnswer() { return failure }
        state.held.append(HeldChange(value: value, again: again, cause: Cause.current))
        state.ahead = value
        return nil
    }

    /// The first answer has come: sends what was held. Returns why some of it was not.
    func sendHeld(isThere: Bool, _ state: inout State) -> BusError? {
        let held = takeHeld(&state)
        // A value that is there but couldn't be decoded has left no trace here.
        let isReadable = state.revision > 0
        var fault: BusError?
        for change in held {
            var new = state.ahead ?? state.known
            if !isThere {
                new = change.value
            } else if let again = change.again, isReadable {
                again(&new)
            } else {
                let reason = isReadable ? "is not overwritten" : "can't be decoded"
                fault = .notReady(key: key, reason: reason)
                continue
            }
            fault = Cause.$current.withValue(change.cause) { send(new, &state) } ?? fault
        }
        return fault
    }

    /// No value will come: gives up the held changes. Returns the failure, if there were any.
    func dropHeld(_ reason: String, _ state: inout State) -> BusError? {
        takeHeld(&state).isEmpty ? nil : .notReady(key: key, reason: reason)
    }

    private func takeHeld(_ state: inout State) -> [HeldChange<Value>] {
        guard !state.held.isEmpty else { return [] }
        defer { state.held = [] }
        state.ahead = nil
        bus.link.state.withLock { _ = $0.holding.remove(sub) }
        return state.held
    }

    /// The subscription went ahead of this barrier: its answer comes behind the first value.
    private func awaitFirstAnswer() -> BusError? {
        let link = bus.link
        let timeout = link.options.requestTimeout.nanoseconds
        let id = link.state.withLock { $0.takeID() }
        let failure = link.start(ObjectText(op: "sync"), timeout: timeout, id: id) { [self] result in
            let reason = if case .failure(let error) = result { "\(error)" } else { "it never did" }
            let fault = state.withLock { dropHeld(reason, &$0) }
            if !link.isClosed { tell(fault) }
        }
        if failure == nil { link.state.withLock { _ = $0.holding.insert(sub) } }
        return failure
    }
}
