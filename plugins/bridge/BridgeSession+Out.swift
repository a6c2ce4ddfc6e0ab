// Sends what the bus writes to etcd: one transaction at a time, repeated unchanged until etcd has answered.
// The answer and the watch say how it ended.

import PlugboardClient
import PlugboardPosix
import PlugboardWire

extension BridgeSession {
    /// Sends for as long as the session lives.
    func send() async throws {
        var pause = RetryPause()
        for await _ in wake {
            while let transaction = try await next(&pause) {
                do throws(EtcdError) {
                    let outcome = try await store.perform(transaction)
                    settle(transaction, outcome)
                    health.sent()
                    pause.reset()
                } catch {
                    health.cannotSend(error)
                    try await pause.wait()
                }
            }
            // Otherwise the bridge would stay apart, and so it would read nothing that could be sent.
            health.sent()
        }
    }

    /// What to send now; nil if there is nothing.
    private func next(_ pause: inout RetryPause) async throws -> EtcdTransaction? {
        while mirror.needsFence {
            do throws(EtcdError) {
                mirror.fenced(at: try await putFence())
            } catch {
                health.cannotSend(error)
                try await pause.wait()
            }
        }
        if mirror.underWay == nil { try await untilAnswering() }
        let when = UTCTime.text(WallClock.millisecondsSince1970())
        return mirror.underWay ?? mirror.nextTransaction(when: when)
    }

    /// After so long without any answer, no new transaction is made. Otherwise it would have outdated values
    /// when etcd answers again.
    private static let silenceMax = Duration.seconds(4)

    private func untilAnswering() async throws {
        while let answered = store.gateway.answered, answered.duration(to: .now) > Self.silenceMax {
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Puts this host's fence, and remembers it.
    func putFence() async throws(EtcdError) -> Int {
        let fence = try await store.putFence()
        cursor.fence = max(cursor.fence ?? 0, fence)
        return fence
    }

    private func settle(_ transaction: EtcdTransaction, _ outcome: TransactionOutcome) {
        guard mirror.underWay == transaction else { return }
        mirror.settle(outcome)
        if outcome == .refused, let only = transaction.writes.first, transaction.writes.count == 1 {
            let why = only.obstacle.map { "\($0)" } ?? "it is too large"
            health.say("\(only.key): etcd doesn't take it, because \(why)")
        }
    }
}

/// The pauses between attempts: 50 ms at first, then longer and longer, up to 2 s.
struct RetryPause: Sendable {
    private var next = 50

    mutating func wait() async throws {
        let milliseconds = next
        next = min(next * 2, 2_000)
        try await Task.sleep(for: .milliseconds(milliseconds + Int.random(in: 0...milliseconds / 4)))
    }

    mutating func reset() { next = 50 }
}
