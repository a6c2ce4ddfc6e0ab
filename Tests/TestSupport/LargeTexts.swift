// Texts of many bytes, which the tests have in such numbers that their making must not take long:
// in a debug build every step of the standard library's loops costs as much as a line of ours.

import PlugboardPosix

extension String {
    /// One text so many times, by doubling it.
    public static func filler(_ text: String, _ count: Int) -> String {
        guard count > 1 else { return count == 1 ? text : "" }
        let half = filler(text, count / 2)
        return half + half + (count % 2 == 1 ? text : "")
    }
}

extension [UInt8] {
    /// The lines, without their ends and without those that are empty.
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
