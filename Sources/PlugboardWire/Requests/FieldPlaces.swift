// The place of each field's name in its line, for messages. The reader owns it. It isn't cleared between
// lines: only places of fields that the line has are read.

import PlugboardMemory

/// Places for two envelopes: that of the line, and one write within it.
struct FieldPlaces: ~Copyable {
    private static let count = 64
    private var places = List<UInt32>(reserving: Int32(2 * count))

    init() {
        for _ in 0..<2 * Self.count { places.append(0) }
    }

    /// The place of a field's name in the line's envelope, or in the write within it.
    subscript(field: Field, ofWrite isWrite: Bool) -> Int {
        @inline(__always)
        get { Int(places[Self.index(field, isWrite)]) }
        @inline(__always)
        set { places[Self.index(field, isWrite)] = UInt32(truncatingIfNeeded: newValue) }
    }

    /// The field that is first in the line; nil if there are no fields.
    func first(of fields: FieldSet, ofWrite isWrite: Bool) -> Field? {
        var first: Field?
        for field in fields.fields {
            if let earlier = first, self[earlier, ofWrite: isWrite] <= self[field, ofWrite: isWrite] {
                continue
            }
            first = field
        }
        return first
    }

    @inline(__always)
    private static func index(_ field: Field, _ isWrite: Bool) -> Int {
        Int(field.rawValue) + (isWrite ? count : 0)
    }
}
