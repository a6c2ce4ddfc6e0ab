// The queue of a worker's thread. A thread that isn't woken although it waits would leave work undone for
// ever, so the tests have a time limit.

import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite(.timeLimit(.minutes(20))) struct WorkQueueTests {
    private final class Diary: Sendable {
        let entries = Mutex<[Int]>([])
        func add(_ entry: Int) { entries.withLock { $0.append(entry) } }
    }

    @Test func `each piece is done, also if the thread has just gone to sleep or is just awake`() throws {
        let (queue, diary) = (try WorkQueue(isAwaited: true), Diary())
        for round in 0..<3_000 {
            for piece in 0..<(round % 4) { queue.add { diary.add(round * 4 + piece) } }
            // Sometimes the thread sleeps by then, sometimes it doesn't.
            if round % 3 == 0 { queue.wait() }
            if round % 100 == 0 { Pause.sleep(seconds: 0.000_2) }
        }
        queue.wait()
        queue.end()
        let expected = (0..<3_000).flatMap { round in (0..<(round % 4)).map { round * 4 + $0 } }
        #expect(diary.entries.withLock { $0 } == expected)
    }

    @Test func `the threads of a worker end with it, such as after a journal that can't be opened`() throws {
        weak var queue: WorkQueue?
        try Self.begin { queue = $0 }
        try eventually("its thread has ended") { queue == nil }
    }

    private static func begin(_ note: (WorkQueue) -> Void) throws {
        let worker = try BackgroundWorker(SimulatedDisk(), wakeup: Wakeup())
        for queue in worker.queues { note(queue) }
    }

    @Test func `a sleeping thread is woken to end`() throws {
        for _ in 0..<200 {
            let queue = try WorkQueue(isAwaited: false)
            queue.wait()
            queue.end()
        }
    }
}
