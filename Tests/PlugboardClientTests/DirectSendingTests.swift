// Requests that the thread that asks sends itself.

import Foundation
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("sending without the bus's thread", .someAtATime)
struct DirectSendingTests {
    /// A connection whose thread waits.
    private func waiting(_ end: SendingEnd) -> LinkState {
        var state = LinkState()
        (state.phase, state.end, state.threadIsAwake) = (.joined, end, false)
        return state
    }

    /// Nothing is sent over it.
    private func end() throws -> SendingEnd {
        let folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder.socket)
        defer { _ = listener.raw }
        return LineSocket(try UnixSocket.connect(path: folder.socket)).end
    }

    /// Whether a line of so many bytes is sent directly.
    private func begins(_ count: Int = 10, _ change: (inout LinkState) -> Void = { _ in }) throws -> Bool {
        var state = waiting(try end())
        change(&state)
        return state.beginDirectly(count) != nil
    }

    @Test("lines up to the limit are sent directly, and a byte more is left to the thread")
    func limit() throws {
        #expect(try begins(ClientLimits.directBytesMax))
        #expect(try !begins(ClientLimits.directBytesMax + 1))
    }

    @Test("nobody sends directly while something is ahead, or the thread is awake")
    func order() throws {
        #expect(try begins())
        #expect(try !begins { _ = $0.beginDirectly(10) })
        #expect(try !begins { $0.threadIsAwake = true })
        #expect(try !begins { $0.takenBytes = 1 })
        #expect(try !begins { $0.outbox = [1] })
        #expect(try !begins { $0.parked = [1] })
        #expect(try !begins { $0.phase = .apart(nil) })
        #expect(try !begins { $0.end = nil })
    }

    @Test("what didn't go comes before what has gathered meanwhile, and not on another connection")
    func rest() throws {
        let (end, next) = (try end(), try end())
        var state = waiting(end)
        _ = state.beginDirectly(4)
        state.outbox = [5, 6]
        var hasWork = state.endDirectly([3, 4], of: 4, over: end)
        #expect(hasWork)
        #expect(state.outbox == [3, 4, 5, 6])
        #expect(state.waitingBytes == 4)
        state = waiting(end)
        _ = state.beginDirectly(4)
        state.end = next
        state.outbox = [5, 6]
        hasWork = state.endDirectly([3, 4], of: 4, over: end)
        #expect(!hasWork)
        #expect(state.outbox == [5, 6])
    }

    @Test("many ask at once while the broker hardly reads: each line comes whole, once and in its order")
    func whole() async throws {
        let (tasks, requests) = (6, 20)
        let lines = Mutex<[String]>([])
        let broker = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            while let line = try peer.line() {
                guard let key = line.split(separator: #""key":""#).last?.prefix(while: { $0 != "\"" }),
                    let id = line.requestID
                else { return }
                // The socket is full most of the time.
                usleep(1_000)
                lines.withLock { $0.append("\(key) \(line.utf8.count)") }
                try peer.send(#"{"ok":"publish","id":\#(id),"revision":\#(id)}"#)
            }
        }
        let bus = try await broker.connect()
        // As long as a line may be that is sent directly, and longer.
        let sizes = [10, 60_000, ClientLimits.directBytesMax, 3 * ClientLimits.directBytesMax]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for number in 0..<requests {
                        let text = String(repeating: "x", count: sizes[(task + number) % sizes.count])
                        try await bus.publish("k\(task).n\(number)", JSON.string(text))
                    }
                }
            }
            try await group.waitForAll()
        }
        let come = lines.withLock { $0 }
        #expect(come.count == tasks * requests)
        for task in 0..<tasks {
            let own = come.filter { $0.hasPrefix("k\(task).") }.map { $0.split(separator: " ") }
            #expect(own.map { String($0[0]) } == (0..<requests).map { "k\(task).n\($0)" })
            for (number, line) in own.enumerated() {
                #expect(Int(line[1]) ?? 0 > sizes[(task + number) % sizes.count])
            }
        }
        bus.close()
    }

    @Test("a request without an answer times out although nobody woke the thread")
    func deadline() async throws {
        let broker = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.drain()
        }
        let bus = try await broker.connect()
        // The thread waits for the first deadline, which is far away, when the second one is asked.
        let patient = Task { try await bus.get("k", as: Int.self, timeout: HangGuard.duration) }
        try await Task.sleep(for: .milliseconds(50))
        await #expect(throws: BusError.timedOut(operation: "get")) {
            try await bus.get("k", as: Int.self, timeout: .milliseconds(30))
        }
        patient.cancel()
        bus.close()
    }
}
