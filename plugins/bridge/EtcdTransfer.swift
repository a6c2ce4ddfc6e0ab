// Requests by HTTP. Each one blocks a thread, because libcurl blocks. Threads and connections are kept for
// the next request. Any task may use it.

import PlugboardPosix
import Synchronization

/// A request to one node.
struct EtcdRequest: Sendable {
    let url: String
    var route = EtcdRoute()
    var headers: [String] = ["Content-Type: application/json"]
    let body: Data
    /// How long it may take; nil if it never ends.
    var milliseconds: Int?
}

/// Why there was no answer.
struct TransferError: Error, Sendable, Equatable {
    let reason: String

    /// The answer had more bytes than are taken.
    static let tooLarge = TransferError(reason: "the answer is too large")
}

final class EtcdTransfer: Sendable {
    private let idle = Mutex<[CurlHandle]>([])
    private let answerBytesMax: Int

    init(answerBytesMax: Int = BridgeLimits.answerBytesMax) {
        self.answerBytesMax = answerBytesMax
    }

    /// Connections that are kept.
    private static let idleMax = 4

    /// Sends a request and returns the whole answer with its status. Gives up about a second after its task
    /// was cancelled.
    func send(_ request: EtcdRequest) async throws(TransferError) -> (body: Data, status: Int) {
        let cancellation = Cancellation()
        let result: Result<(body: Data, status: Int), TransferError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do {
                    try TransferThreads.shared.run {
                        continuation.resume(returning: self.perform(request, cancellation))
                    }
                } catch {
                    continuation.resume(returning: .failure(TransferError(reason: "\(error)")))
                }
            }
        } onCancel: {
            cancellation.hasCome.store(true, ordering: .relaxed)
        }
        return try result.get()
    }

    private final class Cancellation: Sendable {
        let hasCome = Atomic(false)
    }

    private func perform(_ request: EtcdRequest, _ cancellation: Cancellation)
        -> Result<(body: Data, status: Int), TransferError>
    {
        guard let handle = idle.withLock({ $0.popLast() }) ?? CurlHandle() else {
            return .failure(Self.missing)
        }
        var body = Data()
        do throws(TransferError) {
            let status = try handle.post(
                request,
                take: { data in
                    body += data
                    return body.count <= self.answerBytesMax
                },
                isCancelled: { cancellation.hasCome.load(ordering: .relaxed) }
            )
            idle.withLock { if $0.count < Self.idleMax { $0.append(handle) } }
            return .success((body, status))
        } catch {
            return .failure(body.count > answerBytesMax ? .tooLarge : error)
        }
    }

    /// Sends a request whose answer comes piece by piece, on a thread of its own. Calls `done` at the end.
    static func stream(
        _ request: EtcdRequest,
        take: @escaping @Sendable (Data) -> Bool,
        isCancelled: @escaping @Sendable () -> Bool,
        done: @escaping @Sendable (Result<Int, TransferError>) -> Void
    ) {
        onThread {
            guard let handle = CurlHandle() else { return done(.failure(missing)) }
            do throws(TransferError) {
                done(.success(try handle.post(request, take: take, isCancelled: isCancelled)))
            } catch {
                done(.failure(error))
            }
        } orElse: {
            done(.failure($0))
        }
    }

    /// Runs `body` on a thread of its own, or says that there is none.
    private static func onThread(
        _ body: @escaping @Sendable () -> Void, orElse fail: (TransferError) -> Void
    ) {
        do {
            try Background.start(body)
        } catch {
            fail(TransferError(reason: "\(error)"))
        }
    }

    private static let missing = TransferError(reason: "libcurl is missing: apt install libcurl4")
}
