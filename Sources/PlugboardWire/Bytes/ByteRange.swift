// A place in a line, as two offsets. A range contains no bytes: the line belongs to its caller, and the
// range is useful only together with that line. The start is never after the end.

import PlugboardMemory

/// A half-open range of byte offsets below 2^32. An empty range at 0 means "not given".
public struct ByteRange: Equatable, Sendable, BitwiseCopyable {
    // Half the size of two Ints. Each copy of a request copies all its ranges.
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// `end` must not be before `start`. Both are offsets in a line or in another buffer below 4 GiB.
    @inlinable
    public init(_ start: Int, _ end: Int) {
        lower = UInt32(truncatingIfNeeded: start)
        upper = UInt32(truncatingIfNeeded: end)
    }

    @inlinable public static var none: ByteRange { ByteRange(0, 0) }

    @inlinable public var start: Int { Int(lower) }
    @inlinable public var end: Int { Int(upper) }
    @inlinable public var count: Int { Int(upper) &- Int(lower) }
    @inlinable public var isEmpty: Bool { upper == lower }

    /// The bytes of this range in `line`. It must be the line in which the range was found.
    @inlinable
    @inline(__always)
    @_lifetime(copy line)
    public func bytes(of line: Span<UInt8>) -> Span<UInt8> {
        line[start..<end]
    }
}
