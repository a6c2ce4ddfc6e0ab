// The places of the parts that a few pointers name in a value. They are the same in the next value if that has the
// same shape (`JSONScanner.haveSameShape`), so it needn't be searched.

import PlugboardMemory

/// Where the parts are that a set of pointers names, in values of one shape.
public struct KnownPlaces: Sendable {
    /// A set with more pointers searches each value.
    public static let pointersMax = 4
    private var places = InlineArray<4, ByteRange>(repeating: .none)
    private let count: Int
    private var found: UInt64 = 0
    /// How many bytes the parts have.
    public private(set) var bytes = 0

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

    /// The parts of a value of this shape.
    @_lifetime(borrow self, copy value)
    func parts(of value: Span<UInt8>) -> JSONParts {
        JSONParts(of: value, at: places.span, found: found)
    }

    /// Whether other places, of the same pointers, are these.
    public func agree(with other: KnownPlaces) -> Bool {
        guard found == other.found, count == other.count else { return false }
        for pointer in 0..<count where places[pointer] != other.places[pointer] { return false }
        return true
    }

    /// Whether two values of this shape have the same bytes in all parts.
    public func areSame(_ old: Span<UInt8>, _ new: Span<UInt8>) -> Bool {
        for pointer in 0..<count {
            let place = places[pointer]
            guard place.bytes(of: old).isEqual(to: place.bytes(of: new)) else { return false }
        }
        return true
    }
}
