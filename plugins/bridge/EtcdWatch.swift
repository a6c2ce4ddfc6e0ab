// A watch of one prefix: a request whose answer never ends, with a line of JSON for each result. A thread
// reads it, and one task takes the lines. Too many unread bytes end it. Then its reader begins again after
// what it has handled.

import Synchronization

final class EtcdWatch: Sendable {
    private let stream: AsyncThrowingStream<Data, any Error>
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Mutex(WatchInput())
    let node: String

    private init(node: String) {
        self.node = node
        (stream, continuation) = AsyncThrowingStream.makeStream()
    }

    /// Begins to watch the keys of a prefix at a revision.
    static func open(_ gateway: EtcdGateway, _ prefix: EtcdPrefix, from revision: Int) async throws(EtcdError)
        -> EtcdWatch
    {
        let token = try await gateway.token()
        let node = gateway.node
        let create = EtcdWatchRequest.Create(
            key: prefix.start, range_end: prefix.end, start_revision: EtcdNumber(revision)
        )
        var request = try gateway.request("/v3/watch", EtcdWatchRequest(create_request: create), node: node)
        // Without a leader, the stream then ends instead of falling silent.
        request.headers.append("Grpc-Metadata-hasleader: true")
        if let token { request.headers.append("Authorization: \(token)") }
        let watch = EtcdWatch(node: node)
        watch.begin(request)
        return watch
    }

    private func begin(_ request: EtcdRequest) {
        EtcdTransfer.stream(
            request,
            take: { [self] in take($0) },
            isCancelled: { [self] in state.withLock { $0.isClosed } },
            done: { [self] in end($0) }
        )
    }

    /// How long ago something came.
    var idle: Duration { state.withLock { $0.heard }.duration(to: .now) }

    /// Whether nothing has come yet, not even that the watch was created.
    var isMute: Bool { state.withLock { !$0.hasSpoken } }

    /// The results, until the end.
    func lines() -> AsyncThrowingStream<Data, any Error> { stream }

    /// Says that a line was handled.
    func handled(_ line: Data) {
        state.withLock { $0.unread -= line.count }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        continuation.finish()
    }

    // MARK: On the thread

    private func take(_ data: Data) -> Bool {
        let (lines, isOpen) = state.withLock { state in (state.take(data), state.isOpen) }
        for line in lines { continuation.yield(line) }
        return isOpen
    }

    private func end(_ result: Result<Int, TransferError>) {
        let rest = state.withLock { $0.line }
        switch result {
        case .success(200): continuation.finish()
        case .success(let status):
            continuation.finish(throwing: EtcdGateway.failure(status, rest, node, leave: {}))
        case .failure(let error):
            continuation.finish(throwing: EtcdError.unreachable(node: node, reason: error.reason))
        }
    }
}

/// What has come from a watch.
struct WatchInput {
    private let bytesMax: Int
    /// The line that isn't complete yet.
    var line = Data()
    /// Bytes of lines that haven't been handled yet.
    var unread = 0
    var isClosed = false
    var hasSpoken = false
    var heard = ContinuousClock.now

    init(bytesMax: Int = BridgeLimits.watchBytesMax) {
        self.bytesMax = bytesMax
    }

    var isOpen: Bool { !isClosed && unread + line.count <= bytesMax }

    /// The lines that are complete now.
    mutating func take(_ data: Data) -> [Data] {
        (heard, hasSpoken) = (.now, true)
        var lines: [Data] = []
        // An array, because looking through one is much faster.
        let bytes = [UInt8](data)
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            lines.append(line + rest[..<end])
            line = Data()
            rest = rest[(end + 1)...]
        }
        line += rest
        unread += lines.reduce(0) { $0 + $1.count }
        return lines
    }
}
