// Where lines end. The bytes stay where they are; the caller owns them.

/// Finds line feeds, eight bytes at a time.
public enum LineFramer {
    /// The offset of the first line feed at or after `start`.
    public static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var position = start
        let end = bytes.count
        let feeds = SIMD16<UInt8>(repeating: 0x0A)
        while position + 16 <= end {
            let chunk = (base + position).loadUnaligned(as: SIMD16<UInt8>.self)
            if any(chunk .== feeds) { break }
            position += 16
        }
        while position < end {
            if bytes[position] == 0x0A { return position }
            position += 1
        }
        return nil
    }

    /// The line's length without a carriage return before its line feed.
    public static func trimmed(_ bytes: UnsafeRawBufferPointer, from start: Int, to feed: Int) -> Int {
        feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
    }
}
