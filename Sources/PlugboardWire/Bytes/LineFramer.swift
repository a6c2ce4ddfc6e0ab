// Where lines end. The bytes stay where they are; the caller owns them.

/// Finds line feeds.
public enum LineFramer {
    /// The offset of the first line feed at or after `start`.
    public static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        ByteSearch.first(0x0A, in: bytes, from: start)
    }

    /// The line's length without a carriage return before its line feed.
    public static func trimmed(_ bytes: UnsafeRawBufferPointer, from start: Int, to feed: Int) -> Int {
        feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
    }
}
