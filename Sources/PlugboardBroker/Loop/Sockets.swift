// The boundary between the loop and its connections: accept, read, write, and who is at the other end. The
// loop is compiled for one kind of sockets, so those of the kernel cost nothing extra. A simulation has its
// own in memory, which fail on command.

import PlugboardMemory
import PlugboardPosix

/// What a loop does with sockets. Used by its thread alone.
protocol Sockets {
    /// Whether the loop checks its whole state after each turn, as in a simulation.
    static var isCheckedEachTurn: Bool { get }
    func accept(_ listener: Int32) throws -> Acceptance
    func peer(of descriptor: borrowing Descriptor) -> PeerIdentity
    func groups(of descriptor: borrowing Descriptor) -> [UInt32]
    /// Reads what is there, up to the buffer's length.
    func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer
    /// Writes as much as the system takes at once.
    func write(_ bytes: Span<UInt8>, to descriptor: borrowing Descriptor) -> Transfer
    /// Ends a connection as if its peer had closed it.
    func end(_ descriptor: borrowing Descriptor)
}

struct KernelSockets: Sockets {
    @inline(__always) static var isCheckedEachTurn: Bool { false }

    @inline(__always)
    func accept(_ listener: Int32) throws -> Acceptance {
        try UnixSocket.accept(listener)
    }

    func peer(of descriptor: borrowing Descriptor) -> PeerIdentity {
        PeerIdentity(of: descriptor.raw) ?? .unknown
    }

    func groups(of descriptor: borrowing Descriptor) -> [UInt32] {
        PeerIdentity.groups(of: descriptor.raw)
    }

    @inline(__always)
    func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer {
        descriptor.read(into: &buffer)
    }

    @inline(__always)
    func write(_ bytes: Span<UInt8>, to descriptor: borrowing Descriptor) -> Transfer {
        descriptor.write(bytes)
    }

    func end(_ descriptor: borrowing Descriptor) {
        UnixSocket.end(descriptor)
    }
}
