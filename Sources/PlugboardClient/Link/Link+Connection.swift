// What the bus's thread reports to the link: that a connection was greeted, set up or broken, and that a
// request was answered.

import PlugboardPosix
import PlugboardWire

extension Link {
    /// A connection was greeted. Sets the name and the subscriptions again, then sends requests that
    /// wait.
    func joined(_ greeting: Greeting, over end: SendingEnd) {
        let isReady: Bool = state.withLock { state in
            if case .closed = state.phase { return false }
            state.greeting = greeting
            state.end = end
            state.phase = .joined
            state.setupLeft = 0
            // A supervisor gave this plugin its name, and it can't have another.
            let grace = greeting.features.contains("grace") ? options.grace.milliseconds : 0
            if let name = greeting.name == nil ? name : grace > 0 ? greeting.name : nil {
                let request = ObjectWriter(op: "hello").adding("name", string: name)
                    .adding("grace", grace > 0 ? grace : nil)
                state.setupLeft += 1
                appendInternal(request, &state) { [weak self] in self?.named($0) }
            }
            for (_, registration) in state.registrations.sorted(by: { $0.key < $1.key }) {
                state.setupLeft += 1
                resubscribe(registration, &state, isSetup: true)
            }
            leaveWillAgain(&state)
            tellHealthAgain(&state)
            announceAgain(&state)
            serveAgain(&state)
            state.moveParked(limit: options.outboxBytesMax)
            return state.setupLeft == 0
        }
        if isReady { setUp() }
    }

    private func named(_ result: Result<Reply, any Error>) {
        switch result {
        case .success: setupStep()
        case .failure(let error as BusError) where error.code != nil:
            let isFirst = state.withLock { $0.opening != nil }
            if isFirst { return close(error) }
            faults.tell(Fault(error: error, key: nil))
            setupStep()
        case .failure: break
        }
    }

    /// One of the replies has come for which a new connection waits.
    func setupStep() {
        let isReady = state.withLock { state in
            state.setupLeft -= 1
            return state.setupLeft == 0
        }
        if isReady { setUp() }
    }

    /// The connection is set up, with everything on it. Reports it to the program.
    private func setUp() {
        let (news, opening) = state.withLock { state in
            let news = Self.news(state)
            if news != nil { state.announced = state.greeting }
            return (news, state.opening.take())
        }
        if let news { connectionState.update(news) }
        opening?(.success(()))
    }

    private static func news(_ state: LinkState) -> ConnectionState? {
        guard case .joined = state.phase, let greeting = state.greeting else { return nil }
        guard let previous = state.announced else { return .connected(greeting) }
        return .reconnected(greeting, epochChanged: previous.epoch != greeting.epoch)
    }

    /// The connection has ended. Fails all requests that were sent on it.
    func broke(_ reason: BusError) {
        let (sent, waiters, isNews, isFault) = state.withLock { state in
            if case .closed = state.phase {
                return ([LinkState.Pending](), [LinkState.Waiter](), false, false)
            }
            let isNews = state.isJoined
            let isFault = state.meetsStranger(reason)
            state.phase = .apart(reason)
            state.outbox = []
            state.takenBytes = 0
            (state.end, state.isSentDirectly) = (nil, false)
            if state.pipelined.isUnconfirmed { state.pipelined.wasLost = true }
            state.pipelined.isUnconfirmed = false
            let waiters = Array(state.roomWaiters.values)
            state.roomWaiters = [:]
            return (state.takeHopeless(), waiters, isNews, isFault)
        }
        if isFault { faults.tell(Fault(error: reason, key: nil)) }
        if isNews { connectionState.update(.disconnected(reason)) }
        for request in sent { request.complete(.failure(reason)) }
        for waiter in waiters { waiter(.failure(reason)) }
    }

    /// Closes the link for ever. Any thread may call it. The bus's thread then ends by itself.
    func close(_ error: BusError?) {
        let ended: Ended? = change { state in
            if case .closed = state.phase { return nil }
            let ended = Ended(taking: &state)
            state = LinkState()
            state.phase = .closed(error)
            state.isStopped = true
            return ended
        }
        guard let ended else { return }
        connectionState.update(.closed(error))
        ended.tell(error)
    }

    /// Ends all subscriptions. Requests still work.
    func stop() {
        let (registrations, waiters, hopeless) = change { state in
            unserveAll(&state)
            let registrations = state.registrations.values.sorted { $0.sub < $1.sub }
            let waiters = Array(state.stopWaiters.values)
            state.registrations = [:]
            state.stopWaiters = [:]
            state.isStopped = true
            return (registrations, waiters, state.isJoined ? [] : state.takeHopeless())
        }
        for request in hopeless {
            request.complete(.failure(BusError.disconnected(reason: "stopped meanwhile")))
        }
        for registration in registrations {
            sendUnsubscribe(registration.sub)
            registration.end(nil)
        }
        for waiter in waiters { waiter() }
    }

    /// Fails requests whose deadline has passed.
    func expire(_ now: UInt64) {
        let expired = state.withLock { $0.takeExpired(now) }
        for request in expired {
            takeBack(request)
            request.complete(.failure(BusError.timedOut(operation: request.operation)))
        }
    }

    /// Passes a reply or an error to the caller. If it accepts a subscription, the subscription becomes
    /// live here, before its first event.
    func answer(_ id: Int, _ result: Result<Reply, any Error>) {
        let (request, isTooLate, epoch): (LinkState.Pending?, Bool, String) = state.withLock { state in
            let epoch = state.greeting?.epoch ?? ""
            guard let request = state.take(id) else { return (nil, false, epoch) }
            guard case .success = result, let registration = request.registration else {
                return (request, false, epoch)
            }
            if !state.isStopped { state.registrations[registration.sub] = registration }
            return (request, state.isStopped, epoch)
        }
        guard let request else { return }
        if case .success(let reply) = result { request.registration?.begin(reply, epoch: epoch) }
        request.complete(result)
        if isTooLate, let registration = request.registration {
            sendUnsubscribe(registration.sub)
            registration.end(nil)
        }
    }
}

/// What must be reported when a link closes.
private struct Ended: Sendable {
    let registrations: [KeptSubscription]
    let requests: [LinkState.Pending]
    let roomWaiters: [LinkState.Waiter]
    let stopWaiters: [@Sendable () -> Void]
    let opening: LinkState.Waiter?

    init(taking state: inout LinkState) {
        registrations = state.registrations.values.sorted { $0.sub < $1.sub }
        requests = state.pending.sorted { $0.key < $1.key }.map(\.value)
        roomWaiters = Array(state.roomWaiters.values)
        stopWaiters = Array(state.stopWaiters.values)
        opening = state.opening
    }

    func tell(_ error: BusError?) {
        let failure = error ?? .closed
        opening?(.failure(failure))
        for request in requests { request.complete(.failure(failure)) }
        for waiter in roomWaiters { waiter(.failure(failure)) }
        for registration in registrations { registration.end(error) }
        for waiter in stopWaiters { waiter() }
    }
}
