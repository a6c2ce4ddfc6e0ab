// Owns one file descriptor. It can be moved but not copied, and the end of its life closes it. So
// no descriptor is closed twice or forgotten.

import PlugboardMemory

/// The result of a non-blocking read or write.
public enum Transfer: Equatable, Sendable {
    /// That many bytes moved; at least one.
    case bytes(Int)
    /// Nothing can move now; wait for readiness.
    case wouldBlock
    /// The peer finished (reading), or is gone (writing).
    case ended
    /// The `errno` of any other failure.
    case failed(Int32)
}

extension Transfer {
    /// The result of a reading call, which is repeated while signals interrupt it. It returns as
    /// `read` does, with `errno`.
    @inline(__always)
    public static func ofReading(_ call: () -> Int) -> Transfer {
        let count = retrying(call)
        if count > 0 { return .bytes(count) }
        return count == 0 ? .ended : failure()
    }

    /// The same for a call that sends.
    @inline(__always)
    public static func ofSending(_ call: () -> Int) -> Transfer {
        let count = retrying(call)
        if count > 0 { return .bytes(count) }
        return count == 0 ? .wouldBlock : failure()
    }

    private static func failure() -> Transfer {
        switch errno {
        case EAGAIN, EWOULDBLOCK: .wouldBlock
        case EPIPE, ECONNRESET: .ended
        default: .failed(errno)
        }
    }
}

/// The sole owner of an open file descriptor. Not tied to a thread.
public struct Descriptor: ~Copyable, Sendable {
    /// The number, for calls that borrow it; never close it through this.
    public let raw: Int32

    /// Takes over a descriptor that no other owner closes.
    public init(adopting raw: Int32) {
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// Gives up ownership: the caller closes.
    public consuming func release() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// Reads what is there, at most the buffer's length.
    public borrowing func read(into buffer: inout MutableSpan<UInt8>) -> Transfer {
        DescriptorCalls.read(raw, into: &buffer)
    }

    /// Writes what the system takes at once.
    public borrowing func write(_ bytes: Span<UInt8>) -> Transfer {
        DescriptorCalls.send(raw, bytes)
    }
}

/// Calls on a borrowed descriptor number, for owners that keep many of them in
/// plain memory (the broker's sessions).
public enum DescriptorCalls {
    /// Reads what is there, at most the buffer's length.
    public static func read(_ fd: Int32, into buffer: inout MutableSpan<UInt8>) -> Transfer {
        Transfer.ofReading { ByteCalls.readBytes(fd, &buffer) }
    }

    /// Sends what the system takes at once; a vanished peer is `.ended`, never a signal.
    public static func send(_ fd: Int32, _ bytes: Span<UInt8>) -> Transfer {
        Transfer.ofSending { ByteCalls.sendBytes(fd, bytes) }
    }

    /// Closes a number taken out of its `Descriptor` by `release()`.
    public static func close(_ fd: Int32) {
        _ = closeNumber(fd)
    }
}

/// `close` under a name that the type above doesn't shadow.
private func closeNumber(_ fd: Int32) -> Int32 {
    close(fd)
}
