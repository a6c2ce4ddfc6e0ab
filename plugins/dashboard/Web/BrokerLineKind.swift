// What a line of the broker is for the server: the reply to a request, which goes to who asked, or an
// event, which goes into the stream. Only the first two members count, and the broker always writes them
// first. Pure.

import PlugboardMemory

/// What to do with a line of the broker.
enum BrokerLineKind: Equatable {
    /// The reply to the request with this id.
    case reply(id: Int64)
    /// The greeting, which names the client if it has a permanent name.
    case greeting(hasName: Bool)
    case event
    /// A reply that nobody waits for.
    case other

    init(_ line: Span<UInt8>) {
        if line.starts(with: Self.greetingStart.span) {
            self = .greeting(hasName: Self.hasName(line))
        } else if line.starts(with: Self.eventStart.span) {
            self = .event
        } else if let id = Self.id(of: line) {
            self = .reply(id: id)
        } else {
            self = .other
        }
    }

    private static let eventStart = Array(#"{"event":""#.utf8)
    private static let greetingStart = Array(#"{"event":"hello""#.utf8)
    private static let id = Array(#"","id":"#.utf8)
    private static let name = Array(#","name":""#.utf8)

    /// The integer behind `"id":` as the second member.
    private static func id(of line: Span<UInt8>) -> Int64? {
        guard line.count > 8, line[0] == UInt8(ascii: "{"),
            let colon = line.firstIndex(of: UInt8(ascii: ":")), colon + 2 < line.count,
            let quote = line.firstIndex(of: UInt8(ascii: "\""), from: colon + 2),
            line[quote...].starts(with: id.span)
        else { return nil }
        let start = quote + id.count
        var end = start
        while end < line.count, end - start < 20, line[end] != UInt8(ascii: ","),
            line[end] != UInt8(ascii: "}")
        {
            end += 1
        }
        return Int64(String(line[start..<end]))
    }

    /// Whether the greeting has a name. No other member of it is called so, and its texts are the broker's.
    private static func hasName(_ line: Span<UInt8>) -> Bool {
        var place = 0
        while let comma = line.firstIndex(of: UInt8(ascii: ","), from: place) {
            if line[comma...].starts(with: name.span) { return true }
            place = comma + 1
        }
        return false
    }
}
