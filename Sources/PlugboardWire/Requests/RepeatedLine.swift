// A line that is like the one before it, with other digits. That is what most clients send in a row: the next
// price, count or measurement, or the same for the next of many numbered keys. If the line before was a plain
// publish, this one is the same request at the same places, so it needn't be read again.
//
// Why other digits change nothing that was checked: a digit stands in a string, where it is plain text unless it
// belongs to an escape, or in a number, where any digit may stand except a zero before other digits (RFC 8259,
// sections 6 and 7). Both exceptions are looked for wherever digits differ. Names of members may become equal, but
// JSON allows that. What a request remembers as a number must not have digits that differ; `cause` does.

import PlugboardMemory

extension JSONScanner {
    /// A shorter line is read as any other.
    private static let repeatedBytesMin = 16

    /// Whether the bytes from `place` on are `line` with other digits, a line feed after them, and valid because
    /// `line` is. `line` must be a plain request without a cause, and end before `place`.
    public func repeats(_ line: ByteRange, at place: Int) -> Bool {
        let feed = place &+ line.count
        guard line.count >= Self.repeatedBytesMin, line.end < place, feed < end, byte(at: feed) == 0x0A
        else { return false }
        var offset = 0
        // The last sixteen bytes may be compared for a second time.
        while offset < line.count {
            let next = min(offset, line.count &- 16)
            guard differsInDigits(line.start &+ next, place &+ next) else { return false }
            offset &+= 16
        }
        return true
    }

    /// Whether sixteen bytes of the line before and of the next one are the same, or differ only in digits that
    /// may differ.
    @inline(__always)
    private func differsInDigits(_ before: Int, _ place: Int) -> Bool {
        let differing: Mask = sixteen(at: before) .!= sixteen(at: place)
        let words = Self.words(of: differing)
        if words.low | words.high == 0 { return true }
        return mayDiffer(differing, before, place)
    }

    private typealias Mask = SIMDMask<SIMD16<Int8>>

    @inline(__always)
    private func mayDiffer(_ differing: Mask, _ before: Int, _ place: Int) -> Bool {
        let backslash = SIMD16<UInt8>(repeating: 0x5C)
        // An escape has at most five characters before its last digit.
        let escapes: Mask = (sixteen(at: place) .== backslash) .| (sixteen(at: place &- 5) .== backslash)
        let others: Mask = differing .& .!(digits(at: before) .& digits(at: place))
        let words = Self.words(of: escapes .| others .| (differing .& leadingZeros(at: place)))
        return words.low | words.high == 0
    }

    /// Which of sixteen bytes are digits.
    @inline(__always)
    private func digits(at place: Int) -> Mask {
        (sixteen(at: place) &- SIMD16<UInt8>(repeating: 0x30)) .< SIMD16<UInt8>(repeating: 10)
    }

    /// Which of sixteen bytes are zeros with a digit after them, and neither a digit nor a point before.
    @inline(__always)
    private func leadingZeros(at place: Int) -> Mask {
        let isZero: Mask = sixteen(at: place) .== SIMD16<UInt8>(repeating: 0x30)
        let isAfterPoint: Mask = sixteen(at: place &- 1) .== SIMD16<UInt8>(repeating: 0x2E)
        return isZero .& digits(at: place &+ 1) .& .!(digits(at: place &- 1) .| isAfterPoint)
    }
}
