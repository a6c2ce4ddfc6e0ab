// A watch of one prefix: a request whose answer never ends, a line of JSON for each result. The session of the
// network calls the delegate on a thread of its own; one task reads the lines. Too many unread bytes end it,
// and its reader begins anew behind what it has handled.

import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
import Synchronization

final class EtcdWatch: NSObject, URLSessionDataDelegate, Sendable {
    private let stream: AsyncThrowingStream<Data, any Error>
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation
    private let state = Mutex(State())
    let node: String

    fileprivate struct State {
        var line = Data()
        var unread = 0
        var status = 0
        var task: URLSessionTask?
        var heard = ContinuousClock.now
    }

    /// - Parameter session: makes the task; it has this watch as its delegate.
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
            key: prefix.start,
            range_end: prefix.end,
            start_revision: EtcdNumber(revision)
        )
        var request = try gateway.request("/v3/watch", EtcdWatchRequest(create_request: create), node: node)
        // Without a leader the stream then ends instead of falling silent.
        request.setValue("true", forHTTPHeaderField: "Grpc-Metadata-hasleader")
        if let token { request.setValue(token, forHTTPHeaderField: "Authorization") }
        let watch = EtcdWatch(node: node)
        watch.begin(request)
        return watch
    }

    private func begin(_ request: URLRequest) {
        var request = request
        // The reader has an idle timer of its own.
        request.timeoutInterval = 86_400
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 86_400
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let task = session.dataTask(with: request)
        state.withLock { $0.task = task }
        task.resume()
        // The session lives as long as its task.
        session.finishTasksAndInvalidate()
    }

    /// How long nothing has come.
    var idle: Duration { state.withLock { $0.heard }.duration(to: .now) }

    /// The next result; nil at the end.
    func lines() -> AsyncThrowingStream<Data, any Error> { stream }

    /// Says that a line was handled.
    func handled(_ line: Data) {
        state.withLock { $0.unread -= line.count }
    }

    func close() {
        let task = state.withLock { $0.task.take() }
        task?.cancel()
        continuation.finish()
    }

    // MARK: The delegate

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let (lines, isFull) = state.withLock { state -> ([Data], Bool) in
            state.heard = .now
            let lines = state.take(data)
            state.unread += lines.reduce(0) { $0 + $1.count }
            return (lines, state.unread + state.line.count > BridgeLimits.watchBytesMax)
        }
        for line in lines { continuation.yield(line) }
        if isFull { close() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 200
        let rest = state.withLock { state in
            state.task = nil
            return state.line
        }
        if let error {
            continuation.finish(throwing: EtcdError.unreachable(node: node, reason: EtcdGateway.words(error)))
        } else if status != 200 {
            continuation.finish(throwing: EtcdGateway.failure(status, rest, node, leave: {}))
        } else {
            continuation.finish()
        }
    }
}

extension EtcdWatch.State {
    /// The lines that are complete now.
    fileprivate mutating func take(_ data: Data) -> [Data] {
        var lines: [Data] = []
        var rest = data[...]
        while let end = rest.firstIndex(of: 0x0A) {
            lines.append(line + rest[..<end])
            line = Data()
            rest = rest[rest.index(after: end)...]
        }
        line += rest
        return lines
    }
}
