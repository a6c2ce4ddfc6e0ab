// A line that is like the one before it, with other digits. That is what most clients send in a row: the next
// price, count or measurement, or the same for the next of many numbered keys. If the line before was a plain
// publish, this one is the same request at the same places, so it needn't be read again.
//
// Why that is so stands in `OtherDigits.swift`. What a request remembers as a number must not have digits that
// differ; `cause` does.

import PlugboardMemory

extension JSONScanner {
    /// A shorter line is read as any other.
    private static let repeatedBytesMin = 16

    /// Whether the bytes from `place` on are `line` with other digits, a line feed after them, and valid because
    /// `line` is. `line` must be a plain request without a cause, and end before `place`.
    public func repeats(_ line: ByteRange, at place: Int) -> Bool {
        let feed = place &+ line.count
        // There are a line before and a line feed after it, so what is read around the compared bytes is there.
        guard line.count >= Self.repeatedBytesMin, line.end < place, feed < end, byte(at: feed) == 0x0A
        else { return false }
        // The last sixteen bytes may overlap with those before.
        let last = line.count &- 16
        var offset = 0
        while offset < last {
            guard OtherDigits.areAll(self, line.start &+ offset, self, place &+ offset) else { return false }
            offset &+= 16
        }
        return OtherDigits.areAll(self, line.start &+ last, self, place &+ last)
    }
}
