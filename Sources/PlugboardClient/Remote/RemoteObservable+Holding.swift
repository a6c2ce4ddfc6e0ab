// Changes of a remote observable that are made before its value is known. If they were sent at once, they
// would overwrite the value with something made from the default. As long as a change is held, a barrier
// after the subscription is under way. Its answer or time-out ends the wait, and it keeps the observable
// alive until then. No change is held once the value is known.

import PlugboardWire

/// A change that waits for the first answer.
struct HeldChange<Value: Codable & Sendable>: Sendable {
    typealias Change = @Sendable (inout Value) -> Void

    /// The value to send if the key is absent.
    let value: Value
    /// Makes the change again from another value; nil for an assignment.
    let again: Change?
    /// The cause of the change: the revision of the event that was being handled.
    let cause: Int?
}

extension RemoteObservable {
    /// Holds a change. The caller holds the state's lock. Returns why the change can't be held.
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

    /// Sends the held changes after the first answer. Returns why some were not sent.
    func sendHeld(isThere: Bool, _ state: inout State) -> BusError? {
        let held = takeHeld(&state)
        // A value that exists but can't be decoded was not noted in the state.
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

    /// Gives up the held changes, because no value will come. Returns the failure if there were any.
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

    /// Sends a barrier after the subscription. Its answer comes after the first value.
    private func awaitFirstAnswer() -> BusError? {
        let link = bus.link
        let timeout = link.options.requestTimeout.nanoseconds
        let id = link.state.withLock { $0.takeID() }
        let failure = link.start(ObjectWriter(op: "sync"), timeout: timeout, id: id) { [self] result in
            let reason = if case .failure(let error) = result { "\(error)" } else { "it never did" }
            let fault = state.withLock { dropHeld(reason, &$0) }
            noteChange()
            if !link.isClosed { tell(fault) }
        }
        if failure == nil { link.state.withLock { _ = $0.holding.insert(sub) } }
        return failure
    }
}
