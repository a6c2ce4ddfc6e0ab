// The seam between the loop and its connections: accepting, reading, sending, and who is at
// the other end. The loop is compiled for one kind of them, so the kernel's cost it nothing;
// a simulation has its own, which lie in memory and fail when they are told to.

import PlugboardMemory
import PlugboardPosix

/// What a loop does with sockets. Used by its thread alone.
protocol Sockets {
    /// The loop looks at its whole state after each turn: a simulation's does.
    static var isCheckedEachTurn: Bool { get }
    /// Takes one waiting connection.
    func accept(_ listener: Int32) throws -> Acceptance
    /// Who is at the other end of a connection.
    func peer(of descriptor: borrowing Descriptor) -> PeerIdentity
    /// The groups of who is there.
    func groups(of descriptor: borrowing Descriptor) -> [UInt32]
    /// Reads what is there, at most the buffer's length.
    func read(_ descriptor: borrowing Descriptor, into buffer: inout MutableSpan<UInt8>) -> Transfer
    /// Writes what is taken at once.
    func write(_ bytes: Span<UInt8>, to descriptor: borrowing Descriptor) -> Transfer
    /// Writes several pieces as if they were one.
    func write(
        gathering pieces: borrowing GatheredBytes,
        to descriptor: borrowing Descriptor
    ) -> Transfer
}

/// The kernel's.
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

    @inline(__always)
    func write(
        gathering pieces: borrowing GatheredBytes,
        to descriptor: borrowing Descriptor
    ) -> Transfer {
        descriptor.write(gathering: pieces)
    }
}
