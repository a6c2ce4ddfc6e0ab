// A thread for each job, however many there are, so that a blocked job delays no other.

import PlugboardPosix
import Testing

/// Runs each job at once. `Turns` limits how many there are.
final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try Background.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
            Issue.record(error, "no thread for a test: it runs on that of whoever woke it")
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
