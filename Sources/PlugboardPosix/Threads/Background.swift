// A thread for work that must wait while the main thread goes on, without Foundation.
//
// Why its pointers are safe: the object behind the one that a thread gets is retained for it, and
// released once, by the thread or where there is none; the others are to local variables.

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
