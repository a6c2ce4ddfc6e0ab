// A way to end another thread's wait: a pipe whose reading end is polled.

import PlugboardMemory

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
        ByteCalls.writeByte(writer.raw, 1)
    }

    /// Removes the pending signals. The waiter calls it after it woke.
    public func drain() {
        withTemporarySpan(of: UInt8(0), count: 64) { room in
            // Fewer bytes than there is room for are the last ones.
            while retrying({ ByteCalls.readBytes(reader.raw, &room) }) == room.count {}
        }
    }
}

/// An anonymous pipe, both ends non-blocking and closed on exec.
enum Pipe {
    static func make() throws -> (reader: Int32, writer: Int32) {
        guard let ends = ByteCalls.makePipe() else { throw SystemError.last("pipe") }
        for fd in [ends.reader, ends.writer] {
            UnixSocket.setBlocking(fd, false)
            _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        }
        return ends
    }
}
