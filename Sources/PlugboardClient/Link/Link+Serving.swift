// What this client serves: registered by the program, renewed on each new connection. And the way
// of a call from its line to its answer.

import PlugboardMemory
import PlugboardWire

/// One key or pattern that this client answers calls of.
final class CallServer: Sendable {
    let pattern: String
    private let answer: @Sendable (Call) async throws -> JSON

    init(pattern: String, answer: @escaping @Sendable (Call) async throws -> JSON) {
        self.pattern = pattern
        self.answer = answer
    }

    var request: ObjectText { ObjectText(op: "serve").adding("key", string: pattern) }

    func answer(_ call: Call) async -> Result<JSON, CallError> {
        do {
            return .success(try await Cause.$current.withValue(call.cause) { try await answer(call) })
        } catch {
            return .failure(CallError(error))
        }
    }

    func serves(_ key: String) -> Bool {
        Pattern.matches(Array(pattern.utf8).span, Array(key.utf8).span)
    }

    /// Token by token from the left: the token itself goes before `*`, that before `**`.
    func isMoreSpecific(than other: CallServer) -> Bool {
        ranks.lexicographicallyPrecedes(other.ranks)
    }

    private var ranks: [Int] {
        pattern.split(separator: ".").map { $0 == "*" ? 1 : $0 == "**" ? 2 : 0 }
    }
}

extension Link {
    /// Asks to serve. A call may come with the reply, so the handler is registered before.
    func serve(_ server: CallServer, timeout: Duration?) async throws {
        let refusal: BusError? = state.withLock { state in
            if state.isStopped { return .closed }
            guard state.servers[server.pattern] == nil else { return Self.served(server.pattern) }
            state.servers[server.pattern] = LinkState.Serving(server: server, isLive: false)
            return nil
        }
        if let refusal { throw refusal }
        do {
            _ = try await request(server.request, timeout: timeout) { [weak self] result in
                guard case .success = result else { return }
                self?.state.withLock { $0.servers[server.pattern]?.isLive = true }
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

    /// Ends it; calls that have come are still answered.
    func unserve(_ server: CallServer) {
        change { state in
            guard state.remove(server), case .joined = state.phase else { return }
            appendUnserve(server, &state)
        }
    }

    private func appendUnserve(_ server: CallServer, _ state: inout LinkState) {
        appendInternal(ObjectText(op: "unserve").adding("key", string: server.pattern), &state)
    }

    /// A program that stops gets no more calls.
    func unserveAll(_ state: inout LinkState) {
        let servers = state.servers.values.map(\.server)
        state.servers = [:]
        guard case .joined = state.phase else { return }
        for server in servers { appendUnserve(server, &state) }
    }

    /// Registers on a new connection what this client serves. A refusal ends serving.
    func serveAgain(_ state: inout LinkState) {
        for serving in state.servers.values where serving.isLive {
            let server = serving.server
            state.setupLeft += 1
            appendInternal(server.request, &state) { [weak self] result in
                guard let self else { return }
                switch result {
                case .success: setupStep()
                case .failure(let error as BusError) where error.code != nil:
                    self.state.withLock { _ = $0.remove(server) }
                    faults.tell(Fault(error: error, key: server.pattern))
                    setupStep()
                case .failure: break  // The connection broke: the next one asks again.
                }
            }
        }
    }

    /// Handles a call in a task of its own.
    func called(_ line: LinePlaces, _ bytes: Span<UInt8>) {
        let call = Call(line, bytes, state.withLock { $0.greeting })
        guard let server = state.withLock({ $0.server(of: call.key) }) else {
            return answer(call, .failure(CallError(.noProvider, "\(call.key) is served no more")))
        }
        Task { [weak self] in
            let result = await server.answer(call)
            self?.answer(call, result)
        }
    }

    /// Sends an answer, unless the call's connection has ended. If the answer is too long, sends an
    /// error, so that nobody waits for it.
    private func answer(_ call: Call, _ result: Result<JSON, CallError>) {
        let request = ObjectText(op: "return").adding("call", string: call.id)
            .adding("value", json: (try? result.get())?.bytes)
            .adding("error", json: result.error?.json.bytes)
        if case .success = result, request.bytes.count + 64 > Limits.lineBytesMax {
            return answer(call, .failure(CallError(.limit, "the answer is longer than a line may be")))
        }
        change { state in
            guard case .joined = state.phase, state.greeting == call.greeting else { return }
            appendInternal(request, &state) { [weak self] result in
                guard case .failure(let error as BusError) = result, error.code != nil else { return }
                self?.faults.tell(Fault(error: error, key: call.key))
            }
        }
    }
}

extension LinkState {
    /// A server, and whether the broker agreed to it.
    struct Serving {
        let server: CallServer
        var isLive: Bool
    }

    /// Whether it was still there.
    mutating func remove(_ server: CallServer) -> Bool {
        guard servers[server.pattern]?.server === server else { return false }
        servers[server.pattern] = nil
        return true
    }

    /// The server that the broker means when it passes on a call: the most specific one.
    func server(of key: String) -> CallServer? {
        servers.values.map(\.server).filter { $0.serves(key) }.min { $0.isMoreSpecific(than: $1) }
    }
}

extension Result {
    fileprivate var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
