// The part of a remote observable that deals with the bus. Events come in on the bus's thread. Changes go
// out from any thread, in the order of the calls, because they are sent under the state's lock. Observers
// are called without the lock.

import Observables
import PlugboardWire
import Synchronization

extension RemoteObservable {
    /// Subscribes until the observable is released. If the broker refuses, `ready()` throws, and there is
    /// a fault.
    func begin() {
        if let fault = Self.fault(of: key) { return ended(fault) }
        let registration = KeptSubscription(sub: sub, patterns: [key], options: SubscribeOptions()) {
            [weak self] isResumed in
            // If the broker resumes, a key for which no event comes is unchanged.
            self?.state.withLock { $0.isInSnapshot = isResumed }
        } onEvent: { [weak self] event in
            guard let self else { return }
            event.causing(now: { self.receive(event) })
        } onEnd: { [weak self] error in
            self?.ended(error)
        }
        if let failure = bus.link.keep(registration) { ended(failure) }
    }

    private static func fault(of key: String) -> BusError? {
        let fault = Key.fault(Array(key.utf8).span)
        guard let fault else { return nil }
        let message = "\"\(key)\" is not a key: \(fault.rawValue)"
        return .refused(code: .badKey, message: message, hint: nil, revision: nil)
    }

    private func ended(_ error: BusError?) {
        // Released after the lock, because the end of streams may call any code.
        let (observed, fault) = state.withLock { state in
            state.end = error ?? .closed
            return (state.observed.take(), dropHeld("nothing is heard of it any more", &state))
        }
        withExtendedLifetime(observed) {}
        noteChange()
        if let error, error.code != nil { tell(error) }
        if !bus.link.isClosed { tell(fault) }
    }

    /// Handles an event. The bus's thread calls it, one event at a time.
    private func receive(_ event: Event) {
        switch event.kind {
        case .update: updated(event)
        case .delete: state.withLock { $0.forget(defaultValue) }?.update(defaultValue)
        case .synced: synced()
        case .leave, .emit, .lagged: break
        }
        noteChange()
    }

    private func updated(_ event: Event) {
        let value: Value
        do {
            value = try event.decode()
        } catch {
            if event.isInitial { state.withLock { $0.isInSnapshot = true } }
            let error = error as? BusError ?? .undecodable(key: key, reason: "\(error)")
            return tell(error)
        }
        let observed: ObservableValue<Value>? = state.withLock { state in
            let isSame = event.isInitial && state.revision > 0 && state.json == event.value
            if event.isInitial { state.isInSnapshot = true }
            state.revision = event.revision
            state.known = value
            state.json = event.value
            return isSame ? nil : state.observed
        }
        observed?.update(value)
    }

    /// Handles the end of a snapshot. If the key wasn't in it, it was deleted while the connection was
    /// down, or never existed.
    private func synced() {
        let (observed, fault) = state.withLock { state in
            let isThere = state.isInSnapshot
            let isGone = !isThere && state.revision > 0
            state.isInSnapshot = false
            state.isReady = true
            let observed = isGone ? state.forget(defaultValue) : nil
            return (observed, sendHeld(isThere: isThere, &state))
        }
        observed?.update(defaultValue)
        tell(fault)
    }

    func tell(_ error: BusError?) {
        if let error { bus.link.faults.tell(Fault(error: error, key: key)) }
    }

    /// Sends a new value. The caller holds the state's lock, so values are sent in the order of the
    /// calls.
    func send(_ value: Value, _ state: inout State) -> BusError? {
        if let fault = publish(value) { return fault }
        state.ahead = value
        state.underWay += 1
        return nil
    }

    private func publish(_ value: Value) -> BusError? {
        let request: ObjectWriter
        do {
            request = ObjectWriter(try .publish(key, value))
        } catch {
            return error as? BusError ?? .unencodable(reason: "\(error)")
        }
        let link = bus.link
        let timeout = link.options.requestTimeout.nanoseconds
        let id = link.state.withLock { $0.takeID() }
        return link.start(request, timeout: timeout, id: id) { [weak self, key] result in
            self?.state.withLock { $0.settle() }
            self?.noteChange()
            guard case .failure(let error as BusError) = result, error != .closed else { return }
            link.faults.tell(Fault(error: error, key: key))
        }
    }
}

extension RemoteObservable.State {
    /// Notes that the key is absent. Returns the observers to notify, if any.
    fileprivate mutating func forget(_ defaultValue: Value) -> ObservableValue<Value>? {
        known = defaultValue
        json = nil
        revision = 0
        return observed
    }

    /// Notes that a change was answered or has failed.
    fileprivate mutating func settle() {
        underWay -= 1
        if underWay == 0 { ahead = nil }
    }
}
