// Finds where lines end. It only looks at bytes: the caller owns them, and
// they stay in place. A line ends with a line feed, and a carriage return
// before it is ignored.

import PlugboardMemory

/// Finds line feeds.
public enum LineFramer {
    /// The offset of the first line feed at or after `start`.
    @inlinable
    @inline(__always)
    public static func lineFeed(in bytes: Span<UInt8>, from start: Int) -> Int? {
        bytes.firstIndex(of: 0x0A, from: start)
    }

    /// The end of the line, without a carriage return before its line feed.
    @inlinable
    @inline(__always)
    public static func trimmed(_ bytes: Span<UInt8>, from start: Int, to feed: Int) -> Int {
        feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
    }
}
