// Signals as bytes in a pipe. A handler may do next to nothing, so it writes the signal's number.
// The loop that polls the pipe does the rest. Handlers belong to the process, so there is one of
// these in a program's life.
//
// Why its pointers are safe: each is to a local variable, for the length of one call. A handler is a
// function without a context, and its address is compared, never followed.

import Synchronization

/// The writing end that handlers use; -1 until signals are caught.
private let handlerPipe = Atomic<Int32>(-1)
/// Whether a caught signal asked for the end.
private let wasAskedToEnd = Atomic<Bool>(false)

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
        // The parent may have left them blocked, and then they would never come: the threads of
        // Swift's tasks block signals, and programs started there inherit that.
        Self.release(numbers)
    }

    /// Catches one more.
    public func also(catch number: Int32) {
        Self.handle(number)
        Self.release([number])
    }

    /// The descriptor to watch for reading.
    public var raw: Int32 { reader.raw }

    /// The next signal that came in, or nil.
    public func next() -> Int32? {
        ByteCalls.readByte(reader.raw).map { Int32($0) }
    }

    /// Waits for a signal; for a thread that does nothing else.
    public func wait() -> Int32 {
        while true {
            if let number = next() { return number }
            PipeCalls.waitReadable(raw)
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
        mask(SIG_BLOCK, numbers)
    }

    /// Unblocks them.
    public static func release(_ numbers: [Int32]) {
        mask(SIG_UNBLOCK, numbers)
    }

    /// The signals of writes that fail: the reader of the pipe is gone, or the file has the largest
    /// size that the system allows (`ulimit -f`).
    static let ofWrites = [SIGPIPE, SIGXFSZ]

    /// Makes such writes fail with an error (`EPIPE`, `EFBIG`) instead of a signal.
    public static func ignoreFailedWrites() {
        for number in ofWrites { signal(number, SIG_IGN) }
    }

    /// The signals that ask a service to end: by a person, by a service manager, when the power
    /// fails, and when its processor time is nearly used up (`ulimit -S -t`).
    public static let ending = [SIGINT, SIGTERM, SIGQUIT, SIGXCPU] + powerSignals

    /// Whether SIGINT or SIGTERM has come, also if nobody has taken it yet.
    public static var haveAskedToEnd: Bool { wasAskedToEnd.load(ordering: .sequentiallyConsistent) }

    /// Ignores all signals that would end the process although they ask nothing of a service, such
    /// as a SIGUSR1 that was meant for another program. Signals of a fault in the process itself
    /// keep their effect. Call it before signals are caught.
    public static func ignoreStray() {
        for number in [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF] + platformStraySignals {
            signal(number, SIG_IGN)
        }
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

    /// For this thread, and for those that it starts.
    private static func mask(_ how: Int32, _ numbers: [Int32]) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in numbers { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(how, &signals, nil)
    }

    private static func handle(_ number: Int32) {
        let previous = signal(number) { number in
            let saved = errno
            if number == SIGINT || number == SIGTERM {
                wasAskedToEnd.store(true, ordering: .sequentiallyConsistent)
            }
            let byte = UInt8(truncatingIfNeeded: number)
            ByteCalls.writeByte(handlerPipe.load(ordering: .sequentiallyConsistent), byte)
            errno = saved
        }
        let wasIgnored = unsafe unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        if number == SIGHUP, wasIgnored {
            signal(number, SIG_IGN)
        }
    }
}
