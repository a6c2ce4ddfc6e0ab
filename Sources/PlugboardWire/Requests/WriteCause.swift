// The cause of a write, as its request names it. It is kept with the value and passed on,
// and never checked. Revision 0 is a cause like any other, such as for a client that
// answers an emit on a new bus.

import PlugboardMemory

/// The revision that a write named as its cause, if it named one.
@frozen
public struct WriteCause: Equatable, Sendable, BitwiseCopyable {
    /// The revision plus one, so that all bits are zero if no cause was named.
    @usableFromInline let following: UInt64

    @inlinable
    @inline(__always)
    init(following: UInt64) {
        self.following = following
    }

    /// A cause that was named: at most 2^53−1.
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

    /// Nil if no cause was named.
    @inlinable
    public var revision: UInt64? { isNamed ? following &- 1 : nil }

    /// Adds `,"cause":…` if a cause was named.
    public func append(to buffer: inout ByteBuffer) {
        guard let revision else { return }
        buffer.append(#","cause":"#)
        buffer.append(decimal: revision)
    }
}
