// A thread for work that must wait while the main thread goes on, without Foundation.

/// Threads that end with the process.
public enum Background {
    /// Runs `body` on a thread of its own. Throws `SystemError` if there is none.
    public static func start(_ body: @escaping @Sendable () -> Void) throws {
        let box = Unmanaged.passRetained(Work(body))
        let code = PlatformThread.start(box.toOpaque())
        guard code == 0 else {
            box.release()
            throw SystemError(code: code, operation: "pthread_create")
        }
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
            if nanosleep(&left, &rest) == 0 || errno != EINTR { return }
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
        Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
    }
}
