// Requests to etcd's JSON gateway. It talks to one of several nodes, and to the next one after a failure. An
// error means that the outcome is unknown, unless etcd itself refused. Any task may use it.

import Synchronization

/// Why a request failed.
enum EtcdError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No answer, or none that can be understood. The request may have been carried out.
    case unreachable(node: String, reason: String)
    /// etcd answered that it can't at present: no leader, no room. The outcome is unknown as well.
    case unavailable(reason: String)
    /// etcd refused the request and did nothing.
    case refused(code: Int, reason: String)
    /// The answer is larger than what is taken.
    case tooLarge
    /// The user or the password is wrong, or the user has no right to do this.
    case forbidden(reason: String)

    /// The code if something isn't there, such as a lease that has ended.
    static let notFound = 5

    /// Whether a shorter answer might come.
    var mayBeForLength: Bool {
        switch self {
        case .unreachable, .tooLarge: true
        case .unavailable, .refused, .forbidden: false
        }
    }

    var description: String {
        switch self {
        case .unreachable(let node, let reason): "\(node): \(reason)"
        case .tooLarge: TransferError.tooLarge.reason
        case .unavailable(let reason), .refused(_, let reason), .forbidden(let reason): reason
        }
    }
}

/// The user to log in as.
struct EtcdUser: Sendable {
    let name: String
    let password: String
}

final class EtcdGateway: Sendable {
    /// How long a request may take. A change of the leader takes about a second.
    static let timeoutMilliseconds = 3_000

    let nodes: [String]
    private let user: EtcdUser?
    private let route: EtcdRoute
    private let transfer = EtcdTransfer()
    private let state = Mutex(State())

    private struct State {
        var node = 0
        var token: String?
        var answered: ContinuousClock.Instant?
        var revision = 0
        var cluster: Int?
    }

    init(nodes: [String], user: EtcdUser?, route: EtcdRoute = EtcdRoute()) {
        self.nodes = nodes
        self.user = user
        self.route = route
    }

    /// The node that is asked now.
    var node: String { state.withLock { nodes[$0.node % nodes.count] } }
    /// When etcd last answered as a cluster that works.
    var answered: ContinuousClock.Instant? { state.withLock { $0.answered } }
    /// The newest revision that any answer has named.
    var revision: Int { state.withLock { $0.revision } }
    var cluster: Int? { state.withLock { $0.cluster } }

    /// Sends a request and returns its reply.
    func ask<Reply: Decodable>(_ path: String, _ body: some Encodable, as type: Reply.Type)
        async throws(EtcdError) -> Reply
    {
        let (data, node) = try await answer(path, body)
        return try Self.reading(node) { try JSONDecoder().decode(type, from: data) }
    }

    /// The same for frequent replies.
    func ask<Reply: EtcdReadable>(_ path: String, _ body: some Encodable, as type: Reply.Type)
        async throws(EtcdError) -> Reply
    {
        let (data, node) = try await answer(path, body)
        return try read(data, as: type, node)
    }

    private func answer(_ path: String, _ body: some Encodable) async throws(EtcdError)
        -> (data: Data, node: String)
    {
        do {
            return try await attempt(path, body)
        } catch .forbidden(let reason) {
            // A token may have expired: log in once more.
            guard user != nil, state.withLock({ $0.token.take() }) != nil else {
                throw .forbidden(reason: reason)
            }
            return try await attempt(path, body)
        }
    }

    private func attempt(_ path: String, _ body: some Encodable) async throws(EtcdError)
        -> (data: Data, node: String)
    {
        let node = node
        var request = try self.request(path, body, node: node)
        if let token = try await token() { request.headers.append("Authorization: \(token)") }
        request.milliseconds = Self.timeoutMilliseconds
        let (data, status) = try await send(request, node)
        guard status == 200 else { throw Self.failure(status, data, node, leave: { leave(node) }) }
        return (data, node)
    }

    func read<Reply: EtcdReadable>(_ data: Data, as type: Reply.Type, _ node: String) throws(EtcdError)
        -> Reply
    {
        try Self.reading(node) { try type.init([UInt8](data).span) }
    }

    private static func reading<Reply>(_ node: String, _ body: () throws -> Reply) throws(EtcdError)
        -> Reply
    {
        do {
            return try body()
        } catch {
            throw .unreachable(node: node, reason: "an answer that can't be read: \(error)")
        }
    }

    /// A request to a node; also for watches.
    func request(_ path: String, _ body: some Encodable, node: String) throws(EtcdError) -> EtcdRequest {
        do {
            let transaction = (body as? EtcdTransactionRequest)?.json
            let bytes = try transaction ?? JSONEncoder().encode(body)
            return EtcdRequest(url: node + path, route: route, body: bytes)
        } catch {
            throw .refused(code: 0, reason: "\(error)")
        }
    }

    /// The token of the user; nil without one.
    func token() async throws(EtcdError) -> String? {
        guard let user else { return nil }
        if let token = state.withLock({ $0.token }) { return token }
        let node = node
        let credentials = EtcdCredentials(name: user.name, password: user.password)
        var request = try request("/v3/auth/authenticate", credentials, node: node)
        request.milliseconds = Self.timeoutMilliseconds
        let (data, status) = try await send(request, node)
        guard status == 200 else {
            let failure = Self.failure(status, data, node, leave: { leave(node) })
            guard case .refused(_, let reason) = failure else { throw failure }
            throw .forbidden(reason: reason)
        }
        let token = try Self.reading(node) { try JSONDecoder().decode(EtcdToken.self, from: data) }.token
        state.withLock { $0.token = token }
        return token
    }

    private func send(_ request: EtcdRequest, _ node: String) async throws(EtcdError) -> (Data, Int) {
        do {
            let answer = try await transfer.send(request)
            return (answer.body, answer.status)
        } catch .tooLarge {
            throw .tooLarge
        } catch {
            leave(node)
            throw .unreachable(node: node, reason: error.reason)
        }
    }

    /// What a status other than 200 means.
    static func failure(_ status: Int, _ data: Data, _ node: String, leave: () -> Void) -> EtcdError {
        let fault: EtcdFault
        do {
            fault = try JSONDecoder().decode(EtcdFault.self, from: data)
        } catch {
            leave()
            return .unreachable(node: node, reason: "status \(status)")
        }
        let reason = fault.error ?? fault.message ?? "status \(status)"
        switch fault.code ?? 0 {
        case 7, 16: return .forbidden(reason: reason)
        case 3, 5, 9, 11: return .refused(code: fault.code ?? 0, reason: reason)
        case 8 where !reason.contains("space"):
            return reason.contains("too many requests")
                ? .unavailable(reason: reason) : .refused(code: 8, reason: reason)
        case 8: return .unavailable(reason: reason)
        default:
            leave()
            return .unavailable(reason: reason)
        }
    }

    /// Goes on to the next node, unless somebody has done so already.
    func leave(_ node: String) {
        state.withLock { state in
            if nodes[state.node % nodes.count] == node { state.node = (state.node + 1) % nodes.count }
        }
    }

    /// Notes what an answer says about the cluster.
    func note(_ header: EtcdHeader?) {
        state.withLock { state in
            state.answered = .now
            state.revision = max(state.revision, header?.revision?.value ?? 0)
            state.cluster = header?.cluster_id?.value ?? state.cluster
        }
    }

    /// The token has expired.
    func forgetToken() {
        state.withLock { $0.token = nil }
    }

    /// Forgets which revision is the newest, because etcd's history has begun anew.
    func forgetRevision() {
        state.withLock { $0.revision = 0 }
    }
}
