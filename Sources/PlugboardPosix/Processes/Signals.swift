// Signals as bytes in a pipe. A handler may do next to nothing, so it writes the signal's number.
// The loop that polls the pipe does the rest. Handlers belong to the process, so there is one of
// these in a program's life.

import Synchronization

/// The writing end that handlers use; -1 until signals are caught.
private let handlerPipe = Atomic<Int32>(-1)

/// Caught signals, to be polled for. Used by one thread.
public final class Signals: Sendable {
    private let reader: Descriptor

    /// Catches these signals from here on, for the whole process. SIGHUP stays ignored if it was
    /// ignored: that is how `nohup` keeps a program alive.
    public init(catching numbers: [Int32]) throws {
        let ends = try Pipe.make()
        reader = Descriptor(adopting: ends.reader)
        handlerPipe.store(ends.writer, ordering: .sequentiallyConsistent)
        for number in numbers { Self.handle(number) }
        Self.unblock(numbers)
    }

    /// The descriptor to watch for reading.
    public var raw: Int32 { reader.raw }

    /// The next signal that came in, or nil.
    public func next() -> Int32? {
        var byte: UInt8 = 0
        return retrying { read(reader.raw, &byte, 1) } == 1 ? Int32(byte) : nil
    }

    /// Waits for a signal; for a thread that does nothing else.
    public func wait() -> Int32 {
        while true {
            if let number = next() { return number }
            var entry = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }

    /// Stops the process as if nobody caught SIGTSTP, and returns when it goes on. For the handler
    /// of that signal.
    public static func stop() {
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        handle(SIGTSTP)
    }

    /// Sends a process a signal. Throws `SystemError` if there is no such process, or if it belongs
    /// to another user.
    public static func send(_ number: Int32, to pid: Int32) throws {
        guard pid > 0 else { throw SystemError(code: ESRCH, operation: "signal", subject: "\(pid)") }
        guard kill(pid, number) == 0 else { throw SystemError.last("signal", "\(pid)") }
    }

    /// Blocks these signals: those that come from now on wait until they are caught again, perhaps
    /// by another program in this process.
    public static func hold(_ numbers: [Int32]) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in numbers { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Unblocks them.
    public static func release(_ numbers: [Int32]) {
        unblock(numbers)
    }

    /// A vanished reader of a pipe becomes an error of `write` instead of a signal.
    public static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// `SIGTERM` and the like.
    public static func name(_ number: Int32) -> String {
        names[number] ?? "signal \(number)"
    }

    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
        SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1",
        SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM",
        SIGTERM: "SIGTERM",
    ]

    /// Unblocks signals that the parent has left blocked, which would never come otherwise: the
    /// threads of Swift's tasks block signals, and programs started there inherit that. For this
    /// thread, and for those that it starts.
    private static func unblock(_ numbers: [Int32]) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in numbers { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func handle(_ number: Int32) {
        let previous = signal(number) { number in
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(handlerPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
            signal(number, SIG_IGN)
        }
    }
}
