// Swift text without its comments and string literals, so that a rule finds code and not
// words about code. Lines keep their numbers. Interpolations are removed as well.

/// One pass over the bytes of a file.
struct CodeOnly {
    private let bytes: [UInt8]
    private var index = 0
    private var result: [UInt8] = []

    static func text(of text: String) -> String {
        var scan = CodeOnly(bytes: Array(text.utf8))
        return scan.run()
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        result.reserveCapacity(bytes.count)
    }

    private mutating func run() -> String {
        let (slash, quote, hash) = (UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "#"))
        while index < bytes.count {
            let byte = bytes[index]
            if byte != slash, byte != quote, byte != hash {
                // Most bytes begin nothing.
                result.append(byte)
                index += 1
            } else if starts("//") {
                skipLine()
            } else if starts("/*") {
                skipComment()
            } else if let hashes = literalHashes() {
                skipLiteral(hashes)
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private func starts(_ text: String, at offset: Int = 0) -> Bool {
        let from = index + offset
        guard from < bytes.count, bytes[from] == text.utf8.first else { return false }
        return bytes[from...].starts(with: text.utf8)
    }

    /// Replaces `count` bytes by spaces, except line feeds.
    private mutating func blank(_ count: Int) {
        for _ in 0..<min(count, bytes.count - index) {
            result.append(bytes[index] == UInt8(ascii: "\n") ? bytes[index] : UInt8(ascii: " "))
            index += 1
        }
    }

    private mutating func skipLine() {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { blank(1) }
    }

    private mutating func skipComment() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                blank(2)
            } else if starts("*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && index < bytes.count
    }

    /// The number of `#` before the quote where a literal begins.
    private func literalHashes() -> Int? {
        var hashes = 0
        while index + hashes < bytes.count, bytes[index + hashes] == UInt8(ascii: "#") { hashes += 1 }
        return starts("\"", at: hashes) ? hashes : nil
    }

    private mutating func skipLiteral(_ hashes: Int) {
        blank(hashes)
        let quotes = starts("\"\"\"") ? 3 : 1
        blank(quotes)
        while index < bytes.count, !ends(quotes, hashes) {
            if bytes[index] == UInt8(ascii: "\\"), areHashes(hashes, at: 1) {
                blank(1 + hashes)
                if starts("(") { skipInterpolation() } else { blank(1) }
            } else {
                blank(1)
            }
        }
        blank(quotes + hashes)
    }

    private func ends(_ quotes: Int, _ hashes: Int) -> Bool {
        starts(quotes == 3 ? "\"\"\"" : "\"") && areHashes(hashes, at: quotes)
    }

    private func areHashes(_ count: Int, at offset: Int) -> Bool {
        guard index + offset + count <= bytes.count else { return false }
        return bytes[(index + offset)..<(index + offset + count)].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    private mutating func skipInterpolation() {
        var depth = 0
        repeat {
            if let hashes = literalHashes() {
                skipLiteral(hashes)
                continue
            }
            if starts("(") { depth += 1 }
            if starts(")") { depth -= 1 }
            blank(1)
        } while depth > 0 && index < bytes.count
    }
}
