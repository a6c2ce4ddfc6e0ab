// The places of the parts that a few pointers name in a value. If the next value has the same shape, they follow from
// that (`ShapeShift`), so it needn't be searched.

import PlugboardMemory

/// Where the parts are that a set of pointers names, in the last value and in the one before.
public struct KnownPlaces: Sendable, BitwiseCopyable {
    /// A set with more pointers searches each value.
    public static let pointersMax = 4
    private var places = InlineArray<4, ByteRange>(repeating: .none)
    /// Where they were in the value before, if that is somewhere else.
    private var former = InlineArray<4, ByteRange>(repeating: .none)
    public private(set) var haveMoved = false
    private var count = 0
    private var found: UInt64 = 0
    /// How many bytes the parts have.
    public private(set) var bytes = 0

    /// No pointer names anything.
    public init() {}

    /// Finds the parts in a value that the scanner accepted. Nil if the set has too many pointers.
    public init?(of set: JSONPointerSet, in value: Span<UInt8>) {
        guard set.count <= Self.pointersMax else { return nil }
        count = set.count
        set.withParts(of: value) { parts in
            found = parts.found
            for pointer in 0..<set.count where parts.has(pointer) {
                places[pointer] = parts.places[pointer]
                bytes += parts.places[pointer].count
            }
        }
    }

    /// The next value has the same shape.
    public mutating func move(by shift: borrowing ShapeShift) {
        haveMoved = !shift.isNone && count > 0
        if !haveMoved { return }
        former = places
        bytes = 0
        for pointer in 0..<count {
            // A part that isn't there is at 0, and nothing there moves.
            places[pointer] = shift.moved(former[pointer])
            bytes += places[pointer].count
        }
    }

    /// The parts of the last value.
    @_lifetime(borrow self, copy value)
    func parts(of value: Span<UInt8>) -> JSONParts {
        JSONParts(of: value, at: places.span, found: found)
    }

    /// Where the part is that each pointer names; empty if there is none. Ask once for all pointers: wherever a place is
    /// asked for, the compiler copies all of them.
    @inline(__always)
    var now: Span<ByteRange> {
        @_lifetime(borrow self)
        borrowing get { places.span }
    }

    /// The same of the value before.
    @inline(__always)
    var before: Span<ByteRange> {
        @_lifetime(borrow self)
        borrowing get { haveMoved ? former.span : places.span }
    }

    /// Whether a pointer names a part.
    @inline(__always)
    func has(_ pointer: Int) -> Bool { found >> UInt64(pointer) & 1 == 1 }

    /// Whether other places, of the same pointers, are these.
    public func agree(with other: KnownPlaces) -> Bool {
        guard found == other.found, count == other.count else { return false }
        for pointer in 0..<count where places[pointer] != other.places[pointer] { return false }
        return true
    }

    /// Whether all parts have the same bytes in the last value and the one before.
    public func areSame(_ old: Span<UInt8>, _ new: Span<UInt8>) -> Bool {
        let (now, before) = (now, before)
        for pointer in 0..<count {
            let (old, new) = (before[pointer].bytes(of: old), now[pointer].bytes(of: new))
            if !old.isEqual(to: new) { return false }
        }
        return true
    }
}
