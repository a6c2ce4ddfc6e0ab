// Texts that differ only in digits, and only where both have digits. That is what most values are to the one before:
// the next price, count or measurement.
//
// Why other digits leave JSON what it is: a digit stands in a string, where it is plain text unless it belongs to an
// escape, or in a number, where any digit may stand except a zero before other digits (RFC 8259, sections 6 and 7).
// Both exceptions are looked for wherever digits differ. So strings and numbers are where they were. A name of a
// member may have become another one, or equal to another one, which JSON allows.

import PlugboardMemory

/// Compares sixteen bytes of a text with those of another one.
enum OtherDigits {
    typealias Mask = SIMDMask<SIMD16<Int8>>

    /// How many bytes before the compared ones are read: an escape has five characters before its last digit.
    static let before = 5
    /// How many bytes after the compared ones are read.
    static let after = 1

    /// Whether sixteen bytes are the same, or differ only in digits that may differ. There must be `before` and
    /// `after` more bytes around those of the new text.
    @inline(__always)
    static func areAll(
        _ old: borrowing JSONScanner, _ oldPlace: Int, _ new: borrowing JSONScanner, _ place: Int
    ) -> Bool {
        let differing: Mask = old.sixteen(at: oldPlace) .!= new.sixteen(at: place)
        let words = JSONScanner.words(of: differing)
        if words.low | words.high == 0 { return true }
        return mayDiffer(differing, old.sixteen(at: oldPlace), new, place)
    }

    @inline(__always)
    private static func mayDiffer(
        _ differing: Mask, _ old: SIMD16<UInt8>, _ new: borrowing JSONScanner, _ place: Int
    ) -> Bool {
        let backslash = SIMD16<UInt8>(repeating: 0x5C)
        let escapes: Mask =
            (new.sixteen(at: place) .== backslash) .| (new.sixteen(at: place &- before) .== backslash)
        let others: Mask = differing .& .!(digits(old) .& digits(new.sixteen(at: place)))
        let words = JSONScanner.words(of: escapes .| others .| (differing .& leadingZeros(new, place)))
        return words.low | words.high == 0
    }

    /// Which of sixteen bytes are digits.
    @inline(__always)
    private static func digits(_ bytes: SIMD16<UInt8>) -> Mask {
        (bytes &- SIMD16<UInt8>(repeating: 0x30)) .< SIMD16<UInt8>(repeating: 10)
    }

    /// Which of sixteen bytes are zeros with a digit after them, and neither a digit nor a point before.
    @inline(__always)
    private static func leadingZeros(_ text: borrowing JSONScanner, _ place: Int) -> Mask {
        let isZero: Mask = text.sixteen(at: place) .== SIMD16<UInt8>(repeating: 0x30)
        let isAfterPoint: Mask = text.sixteen(at: place &- 1) .== SIMD16<UInt8>(repeating: 0x2E)
        let isAfterDigit = digits(text.sixteen(at: place &- 1))
        return isZero .& digits(text.sixteen(at: place &+ 1)) .& .!(isAfterDigit .| isAfterPoint)
    }
}

extension JSONScanner {
    /// Whether two values that the scanner accepted have all their parts at the same places under the same names:
    /// they differ only in digits, and in no name. False for short values, and for a few that differ in their first
    /// bytes.
    public static func differOnlyInDigits(_ old: Span<UInt8>, _ new: Span<UInt8>) -> Bool {
        let end = new.count &- OtherDigits.after
        guard old.count == new.count, end &- 16 >= OtherDigits.before,
            old.word(at: 0) == new.word(at: 0), old[end] == new[end]
        else { return false }
        let (old, new) = (JSONScanner(old), JSONScanner(new))
        // The last sixteen bytes may overlap with those before.
        let last = end &- 16
        var place = OtherDigits.before
        while place < last {
            guard OtherDigits.areAll(old, place, new, place) else { return false }
            place &+= 16
        }
        guard OtherDigits.areAll(old, last, new, last) else { return false }
        return haveSameNames(old, new)
    }

    /// Whether no name differs, if all strings are where they were. After a digit in a name, the next quote has a
    /// colon after it, or is escaped.
    private static func haveSameNames(_ old: borrowing JSONScanner, _ new: borrowing JSONScanner) -> Bool {
        var place = firstDifference(old, new, from: 0)
        while let difference = place, let quote = new.bytes.firstIndex(of: 0x22, from: difference) {
            var scanner = JSONScanner(new.bytes, at: quote &+ 1)
            scanner.skipWhitespace()
            let mayBeEscaped = new.byte(at: quote &- 1) == UInt8(ascii: "\\")
            if mayBeEscaped || scanner.current == UInt8(ascii: ":") { return false }
            place = firstDifference(old, new, from: quote)
        }
        return true
    }

    /// The first place from which two texts of the same length differ; nil if they don't.
    private static func firstDifference(
        _ old: borrowing JSONScanner, _ new: borrowing JSONScanner, from start: Int
    ) -> Int? {
        var place = start
        while place &+ 8 <= new.end {
            let differing = old.wholeWord(at: place) ^ new.wholeWord(at: place)
            if differing != 0 { return place &+ differing.trailingZeroBitCount &>> 3 }
            place &+= 8
        }
        while place < new.end, old.byte(at: place) == new.byte(at: place) { place &+= 1 }
        return place < new.end ? place : nil
    }
}
