// A thread for each job, however many there are, so that a blocked job delays no other.
//
// Why a job is run unsafely: the runtime hands each over once, and it is run once.

import PlugboardPosix
import Testing

/// Runs each job at once. `Turns` limits how many there are.
final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try Background.start { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
            Issue.record(error, "no thread for a test: it runs on that of whoever woke it")
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
