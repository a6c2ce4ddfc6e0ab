// The first lines of a request in HTTP/1.1. Reading is pure: bytes in, a head or a status out. It takes
// less than the standard allows, because its only honest clients are browsers: lines end with CR LF, no
// header is folded, and nothing is above ASCII.

/// What a request says before its body.
struct RequestHead: Equatable {
    /// A header; its name is in lower case, and its value has no spaces at its ends.
    struct Header: Equatable {
        let name: String
        let value: String
    }

    let method: String
    /// The part after the host: a path, perhaps with a query.
    let target: String
    let headers: [Header]
    /// Whether the client speaks HTTP/1.0, and so expects the connection to end.
    let isOld: Bool

    /// The value of a header that occurs once; nil if it doesn't occur, or twice.
    func only(_ name: String) -> String? {
        let found = headers.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }

    func has(_ name: String) -> Bool { headers.contains { $0.name == name } }

    /// Whether the connection should end after the answer.
    var wantsEnd: Bool {
        isOld || headers.contains { $0.name == "connection" && $0.value.lowercased().contains("close") }
    }
}

extension RequestHead {
    /// The result of a reading.
    enum Reading: Equatable {
        /// The empty line hasn't come yet.
        case incomplete
        /// A head, and how many bytes it has with its empty line.
        case head(RequestHead, bytes: Int)
        /// The status to refuse it with.
        case refused(WebStatus)
    }

    /// Reads the head at the beginning of `bytes`.
    static func read(_ bytes: [UInt8]) -> Reading {
        let window = bytes.prefix(WebLimits.headBytesMax)
        guard let end = endOfHead(window) else {
            return bytes.count >= WebLimits.headBytesMax ? .refused(.headTooLarge) : .incomplete
        }
        guard let lines = lines(window[..<(end - 2)]) else { return .refused(.badRequest) }
        guard lines.count - 1 <= WebLimits.headersMax else { return .refused(.headTooLarge) }
        var headers: [Header] = []
        for line in lines.dropFirst() {
            guard let header = header(line) else { return .refused(.badRequest) }
            headers.append(header)
        }
        return requestLine(lines[0], headers, bytes: end)
    }

    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var place = bytes.startIndex
        while let feed = bytes[place...].firstIndex(of: 0x0A) {
            if feed >= 3, bytes[feed - 1] == 0x0D, bytes[feed - 2] == 0x0A, bytes[feed - 3] == 0x0D {
                return feed + 1
            }
            place = feed + 1
        }
        return nil
    }

    /// The lines without their ends; nil if one has a byte that may not be there. There is at least one.
    private static func lines(_ bytes: ArraySlice<UInt8>) -> [String]? {
        var lines: [String] = []
        var rest = bytes
        while let end = rest.firstIndex(of: 0x0D) {
            let line = rest[..<end]
            guard rest.index(after: end) < rest.endIndex, rest[end + 1] == 0x0A,
                line.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 })
            else { return nil }
            lines.append(String(decoding: line, as: UTF8.self))
            rest = rest[(end + 2)...]
        }
        return rest.isEmpty && !lines.isEmpty ? lines : nil
    }

    private static func header(_ line: String) -> Header? {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
            return nil
        }
        let name = line[..<colon]
        guard name.utf8.allSatisfy(isTokenByte) else { return nil }
        return Header(name: name.lowercased(), value: trimmed(line[line.index(after: colon)...]))
    }

    private static func requestLine(_ line: String, _ headers: [Header], bytes: Int) -> Reading {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].utf8.allSatisfy(isTokenByte),
            words[1].hasPrefix("/"), !words[1].contains("\t")
        else { return .refused(.badRequest) }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { return .refused(.badVersion) }
        let head = RequestHead(
            method: String(words[0]),
            target: String(words[1]),
            headers: headers,
            isOld: words[2] == "HTTP/1.0"
        )
        return .head(head, bytes: bytes)
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text
        while let first = rest.first, first == " " || first == "\t" { rest.removeFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
