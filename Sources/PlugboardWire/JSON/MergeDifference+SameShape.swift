// The merge patch between two values of the same shape (`ShapeShift`): it is known where each member was, so nothing
// has to be paired. It is the patch that `MergeDifference.append` makes.

import PlugboardMemory

extension MergeDifference {
    /// Longer values are outlined.
    static let scannedBytesMax = 4_096

    /// Adds the patch between two values of the same shape, if they are short and have no escapes. Returns false if
    /// there is none, as `append` does, and nil if `append` has to be asked.
    public static func appendNext(
        from old: Span<UInt8>,
        to new: Span<UInt8>,
        _ shift: borrowing ShapeShift,
        into buffer: inout ByteBuffer
    ) -> Bool? {
        guard max(old.count, new.count) <= scannedBytesMax, !old.contains(UInt8(ascii: "\\")),
            !new.contains(UInt8(ascii: "\\"))
        else { return nil }
        guard JSONOutline.kind(of: new) == .object else { return false }
        let start = buffer.count
        var walk = SameShapeWalk(old, new)
        let isPatch = walk.appendChanges(shift, to: &buffer)
        if isPatch == true, buffer.count - start < new.count { return true }
        buffer.truncate(to: start)
        return isPatch == nil ? nil : false
    }
}

/// A place in two values of the same shape. The recursion is as deep as the nesting of the values.
private struct SameShapeWalk: ~Escapable {
    private let old: Span<UInt8>
    private let new: Span<UInt8>
    private var scanner: JSONScanner

    @_lifetime(copy old, copy new)
    init(_ old: Span<UInt8>, _ new: Span<UInt8>) {
        (self.old, self.new) = (old, new)
        scanner = JSONScanner(new)
    }

    /// Adds the patch for the object that begins here, and moves past it. False if there is none; nil if it would take
    /// long to find out.
    mutating func appendChanges(_ shift: borrowing ShapeShift, to buffer: inout ByteBuffer) -> Bool? {
        let start = buffer.count
        // The names of an object with more members are paired.
        var names = InlineArray<16, ByteRange>(repeating: .none)
        var count = 0
        guard scanner.enter() else { return false }
        do throws(JSONFailure) {
            repeat {
                guard count < names.count else { return nil }
                let name = try scanner.readName()
                for other in 0..<count where names[other].bytes(of: new).isEqual(to: name.bytes(of: new)) {
                    return nil
                }
                names[count] = name
                count += 1
                let isPatch = try appendMember(name, shift, start, &buffer)
                if isPatch != true { return isPatch }
            } while try scanner.goOn(to: UInt8(ascii: "}"))
        } catch {
            // Only values that the scanner accepted are stored.
            return false
        }
        if buffer.count == start { buffer.append("{") }
        buffer.append("}")
        return true
    }

    /// Adds the member whose value begins here, if that differs, and moves past it.
    private mutating func appendMember(
        _ name: ByteRange, _ shift: borrowing ShapeShift, _ start: Int, _ buffer: inout ByteBuffer
    ) throws(JSONFailure) -> Bool? {
        let place = scanner.position
        try scanner.skipValue()
        let value = ByteRange(place, scanner.position)
        if shift.former(value).bytes(of: old).isEqual(to: value.bytes(of: new)) { return true }
        // Elements that are objects may be equal by meaning; and null can't be set.
        if new[place] == UInt8(ascii: "["), value.bytes(of: new).contains(UInt8(ascii: "{")) { return nil }
        if new[place] == UInt8(ascii: "n") { return false }
        buffer.append(byte: buffer.count == start ? UInt8(ascii: "{") : UInt8(ascii: ","))
        buffer.append(ByteRange(name.start - 1, name.end + 1).bytes(of: new))
        buffer.append(":")
        guard new[place] == UInt8(ascii: "{") else {
            buffer.append(value.bytes(of: new))
            return true
        }
        let end = scanner.position
        scanner.position = place
        let isPatch = appendChanges(shift, to: &buffer)
        scanner.position = end
        return isPatch
    }
}
