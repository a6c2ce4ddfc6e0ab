// The cause of a write, as its request names it. The broker keeps it with the value, passes it on, and
// never checks it. Revision 0 is a valid cause, for instance for a client that answers an emit on a new
// bus.

import PlugboardMemory

/// The revision that a write names as its cause, if any.
@frozen
public struct WriteCause: Equatable, Sendable, BitwiseCopyable {
    /// The revision plus one. So all bits are zero if no cause was named.
    @usableFromInline let following: UInt64

    @inlinable
    @inline(__always)
    init(following: UInt64) {
        self.following = following
    }

    /// A cause that was named. `revision` is at most 2^53−1.
    @inlinable
    @inline(__always)
    public init(_ revision: UInt64) {
        self.init(following: revision &+ 1)
    }

    /// No cause was named.
    @inlinable
    @inline(__always)
    public static var none: WriteCause { WriteCause(following: 0) }

    @inlinable
    @inline(__always)
    public var isNamed: Bool { following != 0 }

    /// The revision; nil if no cause was named.
    @inlinable
    public var revision: UInt64? { isNamed ? following &- 1 : nil }

    /// Adds `,"cause":…` if a cause was named.
    public func append(to buffer: inout ByteBuffer) {
        guard let revision else { return }
        buffer.append(#","cause":"#)
        buffer.append(decimal: revision)
    }
}
