// A way to end another thread's wait: a pipe whose reading end is polled.

/// Wakes a poller from any thread, or from a signal handler.
public final class Wakeup: Sendable {
    private let reader: Descriptor
    private let writer: Descriptor

    public init() throws {
        let ends = try Pipe.make()
        reader = Descriptor(adopting: ends.reader)
        writer = Descriptor(adopting: ends.writer)
    }

    /// The descriptor to watch for reading.
    public var raw: Int32 { reader.raw }

    /// Wakes the waiter; many calls before it looks are one.
    public func signal() {
        var byte: UInt8 = 1
        _ = retrying { write(writer.raw, &byte, 1) }
    }

    /// Removes the pending signals. The waiter calls it after it woke.
    public func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while retrying({ read(reader.raw, buffer.baseAddress, buffer.count) }) > 0 {}
        }
    }
}

/// An anonymous pipe, both ends non-blocking and closed on exec.
enum Pipe {
    static func make() throws -> (reader: Int32, writer: Int32) {
        var fds: [Int32] = [-1, -1]
        guard pipe(&fds) == 0 else { throw SystemError.last("pipe") }
        for fd in fds {
            UnixSocket.setBlocking(fd, false)
            _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        }
        return (fds[0], fds[1])
    }
}
