// Standard output and standard error, written completely and at once. So nothing stays in a buffer
// when a process ends, and a reader that is gone differs from an error.

import PlugboardMemory

/// One of the two streams that a command writes.
public struct StandardStream: Sendable {
    public static let output = StandardStream(fd: 1)
    public static let error = StandardStream(fd: 2)

    /// The result of a write.
    public enum Written: Sendable {
        case all
        /// Nobody reads any more.
        case readerGone
        /// The `errno` of any other failure, such as a full disk.
        case failed(Int32)
    }

    public let fd: Int32

    /// Any other descriptor that is written like them.
    public init(fd: Int32) {
        self.fd = fd
    }

    /// For messages.
    public var name: String { fd == Self.error.fd ? "standard error" : "standard output" }

    /// A person may be reading.
    public var isTerminal: Bool { isatty(fd) == 1 }

    /// The terminal's width in characters; nil if it isn't one or doesn't say.
    public var columns: Int? {
        windowSize.flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    }

    /// Writes everything, waiting where it must. If this process has caught a signal that asks for the end, a
    /// reader that takes nothing for a second is as good as gone.
    public func write(_ bytes: [UInt8]) -> Written {
        var rest = bytes[...]
        while true {
            // Before the wait, which the first signal interrupts.
            let isEnding = Signals.haveAskedToEnd
            if let written = write(&rest, milliseconds: 1_000) { return written }
            if isEnding { return .readerGone }
        }
    }

    /// The same; throws `ReaderGone` if nobody reads any more, or the system's reason.
    public func send(_ bytes: [UInt8]) throws {
        switch write(bytes) {
        case .all: return
        case .readerGone: throw ReaderGone()
        case .failed(let code): throw SystemError(code: code, operation: "write", subject: name)
        }
    }

    /// Writes everything, but waits no longer than `milliseconds` each time; nil if that was not
    /// enough, for example because the terminal is stopped.
    public func write(_ bytes: [UInt8], milliseconds: Int32) -> Written? {
        var rest = bytes[...]
        return write(&rest, milliseconds: milliseconds)
    }

    /// Writes what the stream takes without waiting, and leaves the rest; nil if there is a rest.
    public func writeAtOnce(_ rest: inout ArraySlice<UInt8>) -> Written? {
        write(&rest, milliseconds: 0)
    }

    private func write(_ rest: inout ArraySlice<UInt8>, milliseconds: Int32) -> Written? {
        // A terminal or a pipe that is ready takes this much without waiting, and a file everything.
        let piece = isTerminal ? 256 : FileStatus(fd: fd).kind == .file ? rest.count : Int(PIPE_BUF)
        while !rest.isEmpty {
            guard isWritable(milliseconds) else { return nil }
            let part = rest.prefix(piece)
            switch PipeCalls.write(fd, part.span) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: return nil
            case .ended: return .readerGone
            case .failed(let code): return .failed(code)
            }
        }
        return .all
    }

    private func isWritable(_ milliseconds: Int32) -> Bool {
        PipeCalls.wait(for: .write, of: fd, milliseconds: milliseconds) > 0
    }
}

/// Standard output has no reader any more: nothing is left to do, and nothing is wrong.
public struct ReaderGone: Error {
    public init() {}
}
