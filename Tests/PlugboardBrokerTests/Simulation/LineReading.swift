// The little JSON that the simulation's clients need, read by the tests' own code, because the broker's
// code is what is tested.

/// Reads the outermost members of an object.
enum LineReading {
    static func members(of line: [UInt8]) -> [(name: String, value: String)]? {
        guard line.first == UInt8(ascii: "{"), line.last == UInt8(ascii: "}") else { return nil }
        var found: [(name: String, value: String)] = []
        var place = 1
        while place < line.count - 1 {
            guard let nameEnd = end(of: line.span, from: place), line[nameEnd] == UInt8(ascii: ":"),
                let valueEnd = end(of: line.span, from: nameEnd + 1)
            else { return nil }
            let name = String(decoding: line[(place + 1)..<(nameEnd - 1)], as: UTF8.self)
            found.append((name, String(decoding: line[(nameEnd + 1)..<valueEnd], as: UTF8.self)))
            place = valueEnd + 1
        }
        return found
    }

    /// The members of an object by name; empty for anything else.
    static func dictionary(_ text: String) -> [String: String] {
        Dictionary(
            (members(of: Array(text.utf8)) ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }
        )
    }

    /// The objects in an array. `list` is the array without its brackets.
    static func objects(in list: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var place = 0
        while place < list.count {
            let end = end(of: list.span, from: place) ?? list.count
            found.append(Array(list[place..<end]))
            place = end + 1
        }
        return found
    }

    /// The offset of what comes after a value. Compares with numbers, because a debug build calls a function for
    /// each `UInt8(ascii:)`.
    private static func end(of bytes: Span<UInt8>, from start: Int) -> Int? {
        let (quote, backslash) = (0x22 as UInt8, 0x5C as UInt8)
        let count = bytes.count
        var place = start
        var depth = 0
        while place < count {
            switch bytes[place] {
            case quote:
                place += 1
                while place < count {
                    let byte = bytes[place]
                    if byte == quote { break }
                    place += byte == backslash ? 2 : 1
                }
            case 0x7B, 0x5B: depth += 1  // { [
            case 0x7D, 0x5D:  // } ]
                if depth == 0 { return place }
                depth -= 1
            case 0x2C, 0x3A: if depth == 0 { return place }  // , :
            default: break
            }
            place += 1
        }
        return nil
    }
}
