// Large texts. Tests make many of them, so it must be quick. In a debug build, each step of a loop in the
// standard library is as slow as a line of our own code.
//
// Why an address: the C library finds a line feed at once. The address is used up within the call.

import PlugboardPosix

extension String {
    /// `text` repeated `count` times, made by doubling.
    public static func filler(_ text: String, _ count: Int) -> String {
        guard count > 1 else { return count == 1 ? text : "" }
        let half = filler(text, count / 2)
        return half + half + (count % 2 == 1 ? text : "")
    }
}

extension [UInt8] {
    /// Where the first line feed from an offset on is.
    public func lineFeed(from start: Int) -> Int? {
        unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count else { return nil }
            guard let feed = unsafe memchr(base + start, 0x0A, bytes.count - start) else { return nil }
            return unsafe UnsafeRawPointer(feed) - base
        }
    }

    /// The lines without their line feeds. Empty lines are left out.
    public var lines: [[UInt8]] {
        var found: [[UInt8]] = []
        var start = 0
        while start < count {
            let end = lineFeed(from: start) ?? count
            if end > start { found.append(Array(self[start..<end])) }
            start = end + 1
        }
        return found
    }
}
