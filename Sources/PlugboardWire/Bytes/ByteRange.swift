// A place in a line, as two offsets. It copies no bytes and keeps none: the line
// belongs to its caller, and a range means something only together with that line.
// Start is never after end.

import PlugboardMemory

/// A half-open range of byte offsets below 2^32. Empty at 0 means "not given".
public struct ByteRange: Equatable, Sendable, BitwiseCopyable {
    // Half the size of two Ints, because each copy of a request copies all its ranges.
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// `end` must not be before `start`. Both are offsets into a line or another small buffer.
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

    /// The bytes of this range within `line`, which must be the line that the range was found in.
    @inlinable
    @inline(__always)
    @_lifetime(copy line)
    public func bytes(of line: Span<UInt8>) -> Span<UInt8> {
        line[start..<end]
    }
}
