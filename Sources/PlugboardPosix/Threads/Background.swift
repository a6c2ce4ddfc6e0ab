// Threads for work that must wait while the main thread goes on, without Foundation.
//
// Why its pointers are safe: the object behind the one that a thread gets is retained for it, and
// released once, by the thread or where there is none; the others are to local variables.

import Synchronization

/// Threads that end with the process, and how long threads have to wait.
public enum Background {
    /// Runs `body` on a thread of its own. Throws `SystemError` if there is none.
    public static func start(_ body: @escaping @Sendable () -> Void) throws {
        let box = unsafe Unmanaged.passRetained(Work(body))
        let code = unsafe PlatformThread.start(box.toOpaque())
        guard code == 0 else {
            unsafe box.release()
            throw SystemError(code: code, operation: "pthread_create")
        }
    }

    /// Calls `body` with each number below `count`, on at most so many threads at the same time. Returns when all
    /// calls have returned. Throws the error of one that failed, or `SystemError`.
    public static func forEach(
        _ count: Int, threadsMax: Int, _ body: @escaping @Sendable (Int) throws -> Void
    ) throws {
        if count == 0 { return }
        let calls = try Calls(count, body)
        for _ in 1..<max(1, min(count, threadsMax)) {
            // With fewer threads it takes longer.
            try? start { calls.work() }
        }
        calls.work()
        try calls.wait()
    }

    /// From here on the calling thread waits less for a processor when it wakes up, in return for shorter
    /// turns, as far as the system can do that.
    public static func takeShortTurns() {
        PlatformThread.takeShortTurns()
    }

    /// From here on the calling thread yields the processor to all other threads, as far as the
    /// system can do that.
    public static func yieldToOthers() {
        PlatformThread.yieldToOthers()
    }
}

/// Sleeping, for threads that have nothing to watch meanwhile.
public enum Pause {
    /// Other threads that wait for this one's processor come first.
    public static func letOthersRun() { sched_yield() }

    public static func sleep(seconds: Double) {
        var left = timespec()
        left.tv_sec = Int(seconds)
        left.tv_nsec = Int((seconds - seconds.rounded(.down)) * 1e9)
        while true {
            var rest = timespec()
            if unsafe nanosleep(&left, &rest) == 0 || errno != EINTR { return }
            left = rest
        }
    }
}

/// Calls that several threads share. Who ends the last one wakes who waits for all.
private final class Calls: Sendable {
    private let count: Int
    private let body: @Sendable (Int) throws -> Void
    private let begun = Atomic<Int>(0)
    private let ended = Atomic<Int>(0)
    private let error = Shared<(any Error)?>(nil)
    private let done: Wakeup

    init(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        (self.count, self.body) = (count, body)
        done = try Wakeup()
    }

    /// Makes calls until none is left.
    func work() {
        while true {
            let number = begun.add(1, ordering: .relaxed).oldValue
            guard number < count else { return }
            do { try body(number) } catch { self.error.set(error) }
            if ended.add(1, ordering: .acquiringAndReleasing).newValue == count { done.signal() }
        }
    }

    func wait() throws {
        PipeCalls.waitReadable(done.raw)
        if let error = error.get() { throw error }
    }
}

final class Work: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    /// Runs the work that `pointer` retains, once.
    static func run(_ pointer: UnsafeMutableRawPointer) {
        unsafe Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
    }
}
