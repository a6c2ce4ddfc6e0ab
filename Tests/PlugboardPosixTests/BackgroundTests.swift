// Work that several threads share.

import Synchronization
import TestSupport
import Testing

@testable import PlugboardPosix

@Suite("Work on other threads", .someAtATime)
struct BackgroundTests {
    @Test("is done once for each number, at the same time", arguments: [1, 2, 7, 100])
    func forEach(count: Int) throws {
        let done = Mutex<[Int]>([])
        let atOnce = Mutex((present: 0, most: 0))
        try Background.forEach(count, threadsMax: 4) { number in
            atOnce.withLock { $0 = ($0.present + 1, max($0.most, $0.present + 1)) }
            // Nobody goes on alone while others may still come.
            let deadline = MonotonicClock.nanoseconds() + 2_000_000_000
            while atOnce.withLock({ $0.most }) < min(count, 4), MonotonicClock.nanoseconds() < deadline {
                Pause.letOthersRun()
            }
            done.withLock { $0.append(number) }
            atOnce.withLock { $0.present -= 1 }
        }
        #expect(done.withLock { $0.sorted() } == Array(0..<count))
        #expect(atOnce.withLock { $0.most } == min(count, 4))
    }

    @Test("fails if a part of it fails, when the others are done")
    func failure() throws {
        let done = Mutex(0)
        #expect(throws: SystemError.self) {
            try Background.forEach(10, threadsMax: 4) { number in
                if number == 3 { throw SystemError(code: EIO, operation: "sync") }
                done.withLock { $0 += 1 }
            }
        }
        #expect(done.withLock { $0 } == 9)
        try Background.forEach(0, threadsMax: 4) { _ in Issue.record("there is nothing to do") }
    }
}
