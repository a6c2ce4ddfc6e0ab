// Standard output and standard error, written whole and at once: nothing lingers in
// a buffer when a process ends, and a reader that has gone is told apart from an error.

/// One of the two streams that a command writes.
public struct StandardStream: Sendable {
    public static let output = StandardStream(fd: 1)
    public static let error = StandardStream(fd: 2)

    /// What became of a write.
    public enum Written: Sendable {
        case all
        /// Nobody reads any more.
        case readerGone
        /// The `errno` of any other failure, such as a full disk.
        case failed(Int32)
    }

    public let fd: Int32

    /// A person may be reading.
    public var isTerminal: Bool { isatty(fd) == 1 }

    /// The terminal's width in characters; nil where it isn't one or doesn't say.
    public var columns: Int? {
        var size = winsize()
        guard ioctl(fd, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes everything, waiting where it must.
    public func write(_ bytes: [UInt8]) -> Written {
        bytes.withUnsafeBytes { buffer in
            var rest = UnsafeRawBufferPointer(rebasing: buffer[...])
            while !rest.isEmpty {
                switch PipeCalls.write(fd, rest) {
                case .bytes(let count): rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .wouldBlock: PipeCalls.waitWritable(fd)
                case .ended: return .readerGone
                case .failed(let code): return .failed(code)
                }
            }
            return .all
        }
    }
}
