// Finds where lines end. A line ends with a line feed, and a carriage return before it is ignored
// (SPEC.md, section 1). The bytes belong to the caller and aren't copied.

import PlugboardMemory

/// Finds line feeds.
public enum LineFramer {
    /// The offset of the first line feed at or after `start`; nil if there is none.
    @inlinable
    @inline(__always)
    public static func lineFeed(in bytes: Span<UInt8>, from start: Int) -> Int? {
        bytes.firstIndex(of: 0x0A, from: start)
    }

    /// The end of the line that begins at `start`: `feed`, or the carriage return just before it.
    @inlinable
    @inline(__always)
    public static func trimmed(_ bytes: Span<UInt8>, from start: Int, to feed: Int) -> Int {
        feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
    }
}
