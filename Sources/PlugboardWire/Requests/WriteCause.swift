// What made somebody write, as a request names it. Kept with a value and passed on, never
// judged: revision 0 is a cause like any other, such as of who answers an emit on a new bus.

import PlugboardMemory

/// The revision that a write named as its cause, where it named one.
@frozen
public struct WriteCause: Equatable, Sendable, BitwiseCopyable {
    /// One more than the revision, so that nothing was named where all bits are zero.
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

    /// None was named.
    @inlinable
    @inline(__always)
    public static var none: WriteCause { WriteCause(following: 0) }

    @inlinable
    @inline(__always)
    public var isNamed: Bool { following != 0 }

    /// Nil where none was named.
    @inlinable
    public var revision: UInt64? { isNamed ? following &- 1 : nil }

    /// Adds `,"cause":…` where one was named.
    public func append(to buffer: inout ByteBuffer) {
        guard let revision else { return }
        buffer.append(#","cause":"#)
        buffer.append(decimal: revision)
    }
}
