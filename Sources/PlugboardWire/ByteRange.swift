// A place within a line: offsets, so that nothing is copied and nothing is held.

/// A half-open range of byte offsets. Empty at 0 means "not given".
public struct ByteRange: Equatable, Sendable, BitwiseCopyable {
    public var start: Int
    public var end: Int

    @inlinable
    public init(_ start: Int, _ end: Int) {
        self.start = start
        self.end = end
    }

    public static let none = ByteRange(0, 0)

    @inlinable public var count: Int { end - start }
    @inlinable public var isEmpty: Bool { end == start }

    /// The bytes of this range within `line`, which must be the line it was found in.
    @inlinable
    public func bytes(of line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: line[start..<end])
    }
}
