// What this client serves: registered by the program, and again on each new connection. Also what happens
// to a call between its line and its answer.

import PlugboardMemory
import PlugboardWire

/// A key or pattern that this client serves.
final class CallServer: Sendable {
    let pattern: String
    /// Whether its calls don't wait for other handlers.
    let isConcurrent: Bool
    let role: ServerRole
    private let answer: @Sendable (Call) async throws -> JSON

    init<Answer: Encodable & SendableMetatype>(
        _ pattern: String,
        isConcurrent: Bool,
        _ role: ServerRole,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        self.pattern = pattern
        self.isConcurrent = isConcurrent
        self.role = role
        answer = { call in try JSON(encoding: try await handler(call)) }
    }

    var request: ObjectWriter {
        ObjectWriter(op: "serve").adding("key", string: pattern).adding("spare", role.isSpare, unless: false)
    }

    func answer(_ call: Call) async -> Result<JSON, CallError> {
        do {
            return .success(try await Cause.$current.withValue(call.asCause) { try await answer(call) })
        } catch {
            return .failure(CallError(error))
        }
    }

    func serves(_ key: String) -> Bool {
        Pattern.matches(Array(pattern.utf8).span, Array(key.utf8).span)
    }

    /// Compares token by token from the left: an exact token is more specific than `*`, and `*` than
    /// `**`.
    func isMoreSpecific(than other: CallServer) -> Bool {
        ranks.lexicographicallyPrecedes(other.ranks)
    }

    private var ranks: [Int] {
        pattern.split(separator: ".").map { $0 == "*" ? 1 : $0 == "**" ? 2 : 0 }
    }
}

extension Link {
    /// Asks the broker to serve. A call may come together with the reply, so the handler is registered
    /// before.
    func serve(_ server: CallServer, timeout: Duration?) async throws {
        let refusal: BusError? = state.withLock { state in
            if state.isStopped { return .closed }
            guard state.servers[server.pattern]?.isEnding ?? true else { return Self.served(server.pattern) }
            state.servers[server.pattern] = LinkState.Serving(server: server, isLive: false)
            return nil
        }
        if let refusal { throw refusal }
        do {
            _ = try await request(server.request, timeout: timeout) { [weak self] result in
                guard case .success(let reply) = result else { return }
                self?.state.withLock { $0.servers[server.pattern]?.isLive = true }
                if !reply.isSpare { self?.tellServing(server) }
            }
        } catch {
            let isRefused = (error as? BusError)?.code != nil
            if isRefused { state.withLock { _ = $0.remove(server) } } else { unserve(server) }
            throw error
        }
    }

    private static func served(_ pattern: String) -> BusError {
        let message = "\"\(pattern)\" is served by this client already"
        return .refused(code: .conflict, message: message, hint: nil, revision: nil)
    }

    /// Ends serving. Calls that have come are still answered.
    func unserve(_ server: CallServer) {
        change { end(server, &$0) }
    }

    /// Asks the broker for no more calls. Until it has answered, those that it sent before may come.
    private func end(_ server: CallServer, _ state: inout LinkState) {
        guard let serving = state.servers[server.pattern], serving.server === server, !serving.isEnding else {
            return
        }
        guard case .joined = state.phase else { return _ = state.remove(server) }
        state.servers[server.pattern]?.isEnding = true
        let request = ObjectWriter(op: "unserve").adding("key", string: server.pattern)
        appendInternal(request, &state) { [weak self] _ in
            self?.state.withLock { _ = $0.remove(server) }
        }
    }

    /// Ends all serving, because a program that stops should get no more calls.
    func unserveAll(_ state: inout LinkState) {
        for serving in state.servers.values { end(serving.server, &state) }
    }

    /// Serves again on a new connection. If the broker refuses, serving ends.
    func serveAgain(_ state: inout LinkState) {
        for serving in state.servers.values where serving.isLive && !serving.isEnding {
            let server = serving.server
            state.setupLeft += 1
            appendInternal(server.request, &state) { [weak self] result in
                guard let self else { return }
                switch result {
                case .success(let reply):
                    if !reply.isSpare { tellServing(server) }
                    setupStep()
                case .failure(let error as BusError) where error.code != nil:
                    self.state.withLock { _ = $0.remove(server) }
                    faults.tell(Fault(error: error, key: server.pattern))
                    setupStep()
                case .failure: break  // The connection broke: the next one asks again.
                }
            }
        }
    }

    /// This client stood in line, and serves from now on.
    func tookOver(_ pattern: String) {
        guard let serving = state.withLock({ $0.servers[pattern] }), !serving.isEnding else { return }
        tellServing(serving.server)
    }

    /// Tells a spare that it serves, before its calls.
    private func tellServing(_ server: CallServer) {
        guard case .spare(let serves?) = server.role else { return }
        let job = HandlerQueue.Job(owner: .calls, bytes: ClientLimits.eventOverheadBytes, run: serves)
        if !queue.add(job, bytesMax: .max) { Task { await serves() } }
    }

    /// Handles a call when those before it have been handled, or in a task of its own.
    func called(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        let call = Call(line, bytes, state.withLock { $0.greeting })
        guard let server = server(of: call.key) else {
            return answer(call, .failure(CallError(.noProvider, "\(call.key) is served no more")))
        }
        let handle: @Sendable () async -> Void = { [weak self] in
            let result = await server.answer(call)
            self?.answer(call, result)
        }
        if server.isConcurrent {
            queue.runBeside(handle)
        } else {
            wait(call, thenRun: handle)
        }
    }

    private func wait(_ call: Call, thenRun handle: @escaping @Sendable () async -> Void) {
        let bytes = call.key.utf8.count + (call.value?.bytes.count ?? 0) + ClientLimits.eventOverheadBytes
        let job = HandlerQueue.Job(owner: .calls, bytes: bytes) { [weak self] in
            // If its connection has ended, the caller was told so. It may call again, so nothing is done.
            if self?.canAnswer(call) == true { await handle() }
        }
        if !queue.add(job, bytesMax: ClientLimits.queuedCallBytesMax) {
            answer(call, .failure(CallError(.limit, "too many calls wait")))
        }
    }

    private func canAnswer(_ call: Call) -> Bool {
        state.withLock { $0.isJoined && $0.greeting == call.greeting }
    }

    /// The server here that would get a call of a key.
    func server(of key: String) -> CallServer? { state.withLock { $0.server(of: key) } }

    /// Sends an answer, unless the call's connection has ended. If it can't be sent, or the broker refuses it, the
    /// caller is told so at once.
    private func answer(_ call: Call, _ result: Result<JSON, CallError>) {
        let value = (try? result.get())?.bytes
        if let value, value.count > Limits.valueBytesMax {
            let message = "the value has \(value.count) bytes, a value has at most \(Limits.valueBytesMax)"
            return refused(.refused(code: .limit, message: message, hint: nil, revision: nil), call)
        }
        let request = ObjectWriter(op: "return").adding("call", string: call.id).adding("value", json: value)
            .adding("error", json: result.error?.json.bytes)
        change { state in
            guard case .joined = state.phase, state.greeting == call.greeting else { return }
            appendInternal(request, &state) { [weak self] result in
                guard case .failure(let error as BusError) = result, error.code != nil else { return }
                self?.refused(error, call, isAnswered: value == nil)
            }
        }
    }

    /// Answers with an error in place of an answer that can't be sent, unless that was an error.
    private func refused(_ error: BusError, _ call: Call, isAnswered: Bool = false) {
        faults.tell(Fault(error: error, key: call.key))
        if isAnswered { return }
        let code: BusError.Code = error.code == .limit ? .limit : .failed
        answer(call, .failure(CallError(code, "the answer can't be sent: \(error)")))
    }
}

extension LinkState {
    /// A server, and whether the broker has accepted it.
    struct Serving {
        let server: CallServer
        var isLive: Bool
        /// Whether the broker was asked for no more calls, and hasn't answered yet.
        var isEnding = false
    }

    /// Removes a server. Returns whether it was still there.
    mutating func remove(_ server: CallServer) -> Bool {
        guard servers[server.pattern]?.server === server else { return false }
        servers[server.pattern] = nil
        return true
    }

    /// The server that a call is for: the most specific one, as at the broker.
    func server(of key: String) -> CallServer? {
        servers.values.map(\.server).filter { $0.serves(key) }.min { $0.isMoreSpecific(than: $1) }
    }
}

extension Result {
    fileprivate var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
