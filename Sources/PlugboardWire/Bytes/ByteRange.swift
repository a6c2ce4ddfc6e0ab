// A place within a line: offsets, so that nothing is copied and nothing is held.

import PlugboardMemory

/// A half-open range of byte offsets below 2^32. Empty at 0 means "not given".
public struct ByteRange: Equatable, Sendable, BitwiseCopyable {
    // Half the size of two Ints: requests are copied with all their ranges.
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// `end` is not before `start`; both are offsets into a line or another small buffer.
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

    /// The bytes of this range within `line`, which must be the line it was found in.
    @inlinable
    @inline(__always)
    @_lifetime(copy line)
    public func bytes(of line: Span<UInt8>) -> Span<UInt8> {
        line[start..<end]
    }
}
