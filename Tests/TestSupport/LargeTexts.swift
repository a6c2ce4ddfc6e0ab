// Large texts. Tests make many of them, so it must be quick. In a debug build, each step of a loop in the
// standard library is as slow as a line of our own code.

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
    /// The lines without their line feeds. Empty lines are left out.
    public var lines: [[UInt8]] {
        var found: [[UInt8]] = []
        withUnsafeBytes { bytes in
            var start = 0
            while let base = bytes.baseAddress, start < bytes.count {
                let feed = memchr(base + start, 0x0A, bytes.count - start)
                let end = feed.map { UnsafeRawPointer($0) - base } ?? bytes.count
                if end > start {
                    found.append(Array(UnsafeRawBufferPointer(start: base + start, count: end - start)))
                }
                start = end + 1
            }
        }
        return found
    }
}
