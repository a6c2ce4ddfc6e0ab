// Values that differ only in their scalars: other numbers, texts, true, false and null. Names, brackets and what
// separates them are the same, byte for byte. So each part is in the next value, too, and as far from where it was as
// the scalars before it have become longer. That is what most values are to the one before.

import PlugboardMemory

/// How far the parts of a value are from where they were in the value before.
public struct ShapeShift: ~Copyable {
    /// Values in which more scalars have other lengths are searched.
    static let shiftsMax = 16
    /// Longer values with scalars of other lengths are searched.
    static let comparedBytesMax = 16_384
    /// The offset in the old value from which the parts are further on; and how far, counted from the beginning.
    private var places = InlineArray<16, Int32>(repeating: 0)
    private var distances = InlineArray<16, Int32>(repeating: 0)
    private var count = 0
    /// How many bytes had to be compared one by one. Other digits are found faster.
    public private(set) var comparedBytes = 0

    /// All parts are where they were.
    public init() {}

    /// Compares two values. Returns false if they differ in more than their scalars, or if too many of these have
    /// other lengths. Both must be JSON that the scanner accepted.
    public mutating func find(from old: Span<UInt8>, to new: Span<UInt8>) -> Bool {
        (count, comparedBytes) = (0, 0)
        if JSONScanner.differOnlyInDigits(old, new) { return true }
        guard !old.isEmpty, !new.isEmpty, max(old.count, new.count) <= Self.comparedBytesMax else {
            return false
        }
        comparedBytes = new.count
        return compare(JSONScanner(old), JSONScanner(new))
    }

    /// Whether all parts are where they were.
    public var isNone: Bool { count == 0 }

    /// Where a part of the old value is in the new one.
    @inline(__always)
    func moved(_ place: ByteRange) -> ByteRange {
        ByteRange(place.start &+ distance(at: place.start), place.end &+ distance(at: place.end))
    }

    /// Where a part of the new value was in the old one.
    func former(_ place: ByteRange) -> ByteRange {
        if isNone { return place }
        return ByteRange(
            place.start - distance(beforeNew: place.start), place.end - distance(beforeNew: place.end)
        )
    }

    @inline(__always)
    private func distance(at place: Int) -> Int {
        var shift = count - 1
        while shift >= 0, Int(places[shift]) > place { shift -= 1 }
        return shift < 0 ? 0 : Int(distances[shift])
    }

    private func distance(beforeNew place: Int) -> Int {
        var shift = count - 1
        while shift >= 0, Int(places[shift] + distances[shift]) > place { shift -= 1 }
        return shift < 0 ? 0 : Int(distances[shift])
    }

    /// Goes through both values, byte by byte, and scalar by scalar.
    private mutating func compare(_ old: consuming JSONScanner, _ new: consuming JSONScanner) -> Bool {
        var distance = 0
        while !old.isAtEnd {
            let (byte, next) = (old.current, new.current)
            guard Self.beginsScalar(byte), Self.beginsScalar(next) else {
                guard byte == next else { return false }
                old.position += 1
                new.position += 1
                continue
            }
            let (start, newStart) = (old.position, new.position)
            guard (try? old.skipValue()) != nil, (try? new.skipValue()) != nil else { return false }
            if old.isAfterName {
                let name = ByteRange(start, old.position)
                let newName = ByteRange(newStart, new.position)
                guard name.bytes(of: old.bytes).isEqual(to: newName.bytes(of: new.bytes)) else {
                    return false
                }
            }
            let further = new.position - old.position
            if further == distance { continue }
            guard note(further, from: old.position) else { return false }
            distance = further
        }
        return new.isAtEnd
    }

    private mutating func note(_ distance: Int, from place: Int) -> Bool {
        guard count < Self.shiftsMax else { return false }
        (places[count], distances[count]) = (Int32(place), Int32(distance))
        count += 1
        return true
    }

    /// Whether a scalar, and no bracket or what separates them, begins with this byte in valid JSON.
    private static func beginsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): true
        default: false
        }
    }
}

extension JSONScanner {
    /// Whether the string before this place is the name of a member.
    fileprivate var isAfterName: Bool {
        if current != UInt8(ascii: ":"), !Self.isWhitespace(current) { return false }
        var scanner = self
        scanner.skipWhitespace()
        return scanner.current == UInt8(ascii: ":")
    }
}
