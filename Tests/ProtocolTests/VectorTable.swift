// Reads the tables in `protocol/vectors/`. Their README.md describes the format.

/// A table: rows whose columns are separated by tabs.
struct VectorTable {
    struct Row: CustomStringConvertible {
        let place: String
        let columns: [String]
        var description: String { "\(place): \(columns.joined(separator: " ⇥ "))" }

        func bytes(_ column: Int) throws -> [UInt8] {
            try Generator.bytes(columns[column], place: place)
        }
    }

    let rows: [Row]

    /// Reads `vectors/name`. Every row must have one of the `columns` counts.
    init(_ name: String, columns: ClosedRange<Int>) throws {
        let text = try ProtocolFolder.text("vectors/\(name)")
        var rows: [Row] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            let place = "protocol/vectors/\(name):\(index + 1)"
            guard columns.contains(parts.count) else { throw BadDocument(place, "\(parts.count) columns") }
            rows.append(Row(place: place, columns: parts))
        }
        guard !rows.isEmpty else { throw BadDocument("protocol/vectors/\(name)", "no rows") }
        self.rows = rows
    }
}

/// A document that doesn't follow its notation: our mistake, not the broker's.
struct BadDocument: Error, CustomStringConvertible {
    let description: String
    init(_ place: String, _ reason: String) {
        description = "\(place): \(reason)"
    }
}

/// Reads the text between « and »: bytes that can't be in a text file, or shouldn't.
enum Generator {
    /// `«C3 28»` is those bytes, `«257×a»` is 257 times `a`, and everything else is itself. So is `«epoch»`,
    /// which only a session knows.
    static func bytes(_ text: String, place: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while let opening = rest.firstIndex(of: "«") {
            guard let closing = rest[opening...].firstIndex(of: "»") else {
                throw BadDocument(place, "« without »")
            }
            bytes.append(contentsOf: rest[..<opening].utf8)
            bytes.append(contentsOf: try generated(rest[rest.index(after: opening)..<closing], place))
            rest = rest[rest.index(after: closing)...]
        }
        return bytes + rest.utf8
    }

    private static func generated(_ text: Substring, _ place: String) throws -> [UInt8] {
        if let times = text.firstIndex(of: "×"), let count = Int(text[..<times]) {
            let unit = Array(text[text.index(after: times)...].utf8)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(unit.count * count)
            // It doubles, because millions of bytes one by one take a debug build seconds.
            if count > 0 { bytes = unit }
            while bytes.count * 2 <= unit.count * count { bytes.append(contentsOf: bytes) }
            return bytes + bytes[..<(unit.count * count - bytes.count)]
        }
        if text == "epoch" { return Array("«epoch»".utf8) }
        return try text.split(separator: " ").map { pair in
            guard pair.utf8.count == 2, let byte = UInt8(pair, radix: 16) else {
                throw BadDocument(place, "«\(text)» is neither bytes nor a repetition")
            }
            return byte
        }
    }
}
