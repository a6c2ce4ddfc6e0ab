// Begins and ends subscriptions for the program, and begins them again on each new connection. Any thread
// may do it: the link's lock protects the table of subscriptions. A subscription that has ended is no
// longer in the table, so it gets no more events.

import PlugboardWire

extension Link {
    /// Asks for a subscription. It becomes live with the broker's reply, before its first event, and
    /// continues after reconnections.
    func subscribe(_ registration: KeptSubscription, timeout: Duration?) async throws {
        let (isStopped, greeting) = state.withLock { ($0.isStopped, $0.greeting) }
        guard !isStopped else { throw BusError.closed }
        _ = try await request(
            registration.request(for: greeting), timeout: timeout, registration: registration
        )
    }

    /// Registers a subscription that should be live whenever there is a broker.
    func keep(_ registration: KeptSubscription) -> BusError? {
        let isAdded: Bool = change { state in
            guard !state.isStopped else { return false }
            if case .closed = state.phase { return false }
            state.registrations[registration.sub] = registration
            if case .joined = state.phase { resubscribe(registration, &state, isSetup: false) }
            return true
        }
        return isAdded ? nil : .closed
    }

    /// Ends a subscription without calling its `onEnd`. No event is passed on after this.
    func unsubscribe(_ sub: Int) {
        let registration = state.withLock { $0.registrations.removeValue(forKey: sub) }
        if registration != nil { sendUnsubscribe(sub) }
    }

    func sendUnsubscribe(_ sub: Int) {
        change { state in
            guard case .joined = state.phase else { return }
            appendInternal(ObjectWriter(op: "unsubscribe").adding("sub", sub), &state)
        }
    }

    /// Appends the request of a registered subscription again. If the broker refuses, the subscription
    /// ends.
    func resubscribe(_ registration: KeptSubscription, _ state: inout LinkState, isSetup: Bool) {
        let epoch = state.greeting?.epoch ?? ""
        appendInternal(registration.request(for: state.greeting), &state) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let reply):
                registration.begin(reply, epoch: epoch)
                if isSetup { setupStep() }
            case .failure(let error as BusError) where error.code != nil:
                let removed = self.state.withLock { $0.registrations.removeValue(forKey: registration.sub) }
                removed?.end(error)
                if isSetup { setupStep() }
            case .failure: break  // The connection broke: the next one asks again.
            }
        }
    }

    /// Appends a request of the link itself. The outbox limit doesn't apply, and only the end of the
    /// connection makes it fail.
    func appendInternal(
        _ request: ObjectWriter, _ state: inout LinkState, complete: @escaping LinkState.Completion = { _ in }
    ) {
        let id = state.takeID()
        state.outbox += request.line(id: id)
        state.pending[id] = LinkState.Pending(
            operation: request.operation, complete: complete, deadline: .max, isOwn: true
        )
    }
}
