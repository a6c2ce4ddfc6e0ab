// A record that was read: the places of its members in a line. It contains no bytes, so it is useful only
// together with that line. Whoever reads the line checks its checksum.

import PlugboardMemory
import PlugboardWire

/// The kind of a record.
public enum RecordKind: Equatable, Sendable {
    case update, delete, batch
    /// The first line of a segment, and of a snapshot.
    case segment, snapshot
    /// Everything before this line is on disk. Also the last line of a snapshot.
    case synced
    /// A revision that was used by something that isn't kept.
    case revision
    /// The broker ended in order.
    case closed

    init?(_ word: UInt64) {
        switch word {
        case NameWord("update").word: self = .update
        case NameWord("delete").word: self = .delete
        case NameWord("batch").word: self = .batch
        case NameWord("segment").word: self = .segment
        case NameWord("snapshot").word: self = .snapshot
        case NameWord("synced").word: self = .synced
        case NameWord("revision").word: self = .revision
        case NameWord("closed").word: self = .closed
        default: return nil
        }
    }
}

/// Gets updates and deletes, in order. `line` has the bytes of `record`.
public typealias RecordTaker = (_ record: RecordLine, _ line: Span<UInt8>) -> Void

/// The members of a record. A missing member is empty, 0 or nil. Unknown members are ignored.
public struct RecordLine: Sendable {
    public internal(set) var kind = RecordKind.update
    /// The key as spelled, without quotes.
    public internal(set) var key = ByteRange.none
    public internal(set) var value = ByteRange.none
    /// The events of a batch: a JSON array.
    public internal(set) var events = ByteRange.none
    /// The writer's name, with quotes.
    public internal(set) var by = ByteRange.none
    /// The origin that the write named, with quotes.
    public internal(set) var origin = ByteRange.none
    /// The writer's user id, if what that user keeps is counted.
    public internal(set) var user: UInt32?
    public internal(set) var reason: EventReason?
    public internal(set) var isWhileConnected = false
    /// The `grace` of the writer's name.
    public internal(set) var grace: UInt64 = 0
    public internal(set) var revision: UInt64 = 0
    public internal(set) var cause: WriteCause = .none
    public internal(set) var expires: UInt64 = 0
    /// The same by a clock that nobody can set; see `end`.
    var ends: UInt64 = 0
    /// When it was written, in milliseconds since 1970.
    public internal(set) var when: UInt64 = 0
    /// The same in seconds.
    public var seconds: UInt32 { UInt32(clamping: when / 1000) }
    public internal(set) var version: UInt64 = 0
    public internal(set) var segment: UInt64 = 0
    public internal(set) var keys: UInt64 = 0
    /// In `synced`: how many bytes of the segment are on disk.
    public internal(set) var bytes: UInt64 = 0
    public internal(set) var epoch = ByteRange.none
    public internal(set) var boot = ByteRange.none
    /// In `segment`: shows that the folder isn't a copy.
    public internal(set) var mark = ByteRange.none
    /// In `segment` and `snapshot`: the checksum of the record before.
    public internal(set) var previous: UInt32?

    /// Whether it is from a snapshot. A snapshot has only the newest values, not everything that
    /// happened.
    public internal(set) var isOfSnapshot = false

    init() {}

    /// Reads a line without its line feed; nil if it is no record. Doesn't check the checksum.
    public init?(_ line: Span<UInt8>) {
        guard read(line) else { return nil }
    }

    /// Becomes the record in a line. Returns false if there is none.
    mutating func read(_ line: Span<UInt8>) -> Bool {
        self = RecordLine()
        var scanner = JSONScanner(line)
        guard line.first == UInt8(ascii: "{") else { return false }
        scanner.position = 1
        var isFirst = true
        do throws(JSONFailure) {
            while !scanner.isAtEnd, line[scanner.position] != UInt8(ascii: "}") {
                if !isFirst {
                    // Most lines end with a checksum, which their reader knows.
                    if line.count - scanner.position == RecordEnd.bytes, RecordEnd.checksum(of: line) != nil {
                        scanner.position = line.count - 1
                        break
                    }
                    guard line[scanner.position] == UInt8(ascii: ",") else { return false }
                    scanner.position += 1
                }
                guard try readMember(&scanner, line, isFirst) else { return false }
                isFirst = false
            }
        } catch {
            return false
        }
        return !isFirst && scanner.position == line.count - 1 && isComplete
    }

    /// When the value ends, by a clock that nobody can set; nil if the record doesn't say so.
    public func end(of line: Span<UInt8>) -> EndSinceBoot? {
        guard ends > 0, let mark = UInt32(String(boot.bytes(of: line)), radix: 16) else { return nil }
        return EndSinceBoot(boot: mark, milliseconds: ends)
    }

    /// Passes the writes of this record to `take`: itself, or each event of a batch, which has the batch's time.
    /// Returns false if the batch is malformed or empty. Other records have no writes.
    public func forEachWrite(
        of line: Span<UInt8>, _ take: (RecordLine, Span<UInt8>) throws -> Void
    ) rethrows -> Bool {
        if kind == .update || kind == .delete { try take(self, line) }
        guard kind == .batch else { return true }
        let array = events.bytes(of: line)
        guard array.count > 2 else { return false }
        var scanner = JSONScanner(array)
        scanner.position = 1
        var event = RecordLine()
        while scanner.position < array.count - 1 {
            let start = scanner.position
            guard (try? Self.skipEvent(&scanner, array)) == true else { return false }
            let bytes = array[start..<scanner.position]
            guard event.read(bytes), event.kind == .update || event.kind == .delete else { return false }
            event.when = when
            try take(event, bytes)
            if array[scanner.position] == UInt8(ascii: ",") { scanner.position += 1 }
        }
        return true
    }

    /// Moves past the events of a batch. Returns false if they aren't an array of objects. Their values may be nested as
    /// deep as any others, although they stand in two brackets more.
    private static func skipEvents(
        _ scanner: inout JSONScanner, _ line: Span<UInt8>
    ) throws(JSONFailure) -> Bool {
        guard scanner.position < line.count, line[scanner.position] == UInt8(ascii: "[") else { return false }
        repeat {
            scanner.position += 1
            guard try skipEvent(&scanner, line) else { return false }
        } while scanner.position < line.count && line[scanner.position] == UInt8(ascii: ",")
        guard scanner.position < line.count, line[scanner.position] == UInt8(ascii: "]") else { return false }
        scanner.position += 1
        return true
    }

    private static func skipEvent(
        _ scanner: inout JSONScanner, _ line: Span<UInt8>
    ) throws(JSONFailure) -> Bool {
        guard scanner.position < line.count, line[scanner.position] == UInt8(ascii: "{") else { return false }
        repeat {
            scanner.position += 1
            try scanner.skipValue()
            guard scanner.position < line.count, line[scanner.position] == UInt8(ascii: ":") else {
                return false
            }
            scanner.position += 1
            try scanner.skipValue()
        } while scanner.position < line.count && line[scanner.position] == UInt8(ascii: ",")
        guard scanner.position < line.count, line[scanner.position] == UInt8(ascii: "}") else { return false }
        scanner.position += 1
        return true
    }

    private var isComplete: Bool {
        switch kind {
        case .update: revision > 0 && !key.isEmpty && !value.isEmpty && !by.isEmpty
        case .delete: revision > 0 && !key.isEmpty && !by.isEmpty
        case .batch: revision > 0 && !events.isEmpty
        case .revision: revision > 0
        case .segment, .snapshot: segment > 0 && version > 0 && !epoch.isEmpty && previous != nil
        case .synced, .closed: true
        }
    }

    /// Reads one member. Records have no white space. Returns false if the member isn't valid.
    private mutating func readMember(
        _ scanner: inout JSONScanner, _ line: Span<UInt8>, _ isFirst: Bool
    ) throws(JSONFailure) -> Bool {
        let nameStart = scanner.position
        try scanner.skipValue()
        guard let name = Self.text(ByteRange(nameStart, scanner.position), line),
            scanner.position < line.count, line[scanner.position] == UInt8(ascii: ":")
        else { return false }
        scanner.position += 1
        let start = scanner.position
        let word = Self.word(name, line)
        if isFirst || word != NameWord("events").word
            || (try? Self.skipEvents(&scanner, line)) != true
        {
            scanner.position = start
            try scanner.skipValue()
        }
        let value = ByteRange(start, scanner.position)
        guard isFirst else { return take(word, value, line) }
        guard word == NameWord("event").word, let text = Self.text(value, line),
            let kind = RecordKind(Self.word(text, line))
        else { return false }
        self.kind = kind
        return true
    }

    /// A text as the word of a `NameWord`; 0 if it is longer or empty, or nearer to the end of the line than any member
    /// begins: `"by":"a"}` and `"user":0}` are the shortest, at the end of an event of a batch.
    @inline(__always)
    private static func word(_ text: ByteRange, _ line: Span<UInt8>) -> UInt64 {
        guard 1...8 ~= text.count, line.count - text.start >= 8 else { return 0 }
        return line.word(at: text.start) & .max &>> UInt64(64 &- 8 &* text.count)
    }

    /// Notes a member. Returns false if the value has the wrong type.
    private mutating func take(_ name: UInt64, _ place: ByteRange, _ line: Span<UInt8>) -> Bool {
        switch name {
        case NameWord("key").word: return Self.set(&key, Self.text(place, line))
        case NameWord("revision").word: return Self.set(&revision, Self.number(place, line))
        case NameWord("value").word: value = place
        case NameWord("by").word: by = place
        case NameWord("when").word: return Self.set(&when, Self.number(place, line))
        case NameWord("origin").word: origin = place
        case NameWord("events").word: events = place
        case NameWord("while").word: isWhileConnected = true
        case NameWord("cause").word: return Self.set(&cause, Self.number(place, line).map { WriteCause($0) })
        case NameWord("expires").word: return Self.set(&expires, Self.number(place, line))
        case NameWord("ends").word: return Self.set(&ends, Self.number(place, line))
        case NameWord("grace").word: return Self.set(&grace, Self.number(place, line))
        case NameWord("version").word: return Self.set(&version, Self.number(place, line))
        case NameWord("segment").word: return Self.set(&segment, Self.number(place, line))
        case NameWord("keys").word: return Self.set(&keys, Self.number(place, line))
        case NameWord("bytes").word: return Self.set(&bytes, Self.number(place, line))
        case NameWord("user").word:
            return Self.set(&user, Self.number(place, line).map { UInt32(exactly: $0) })
        case NameWord("epoch").word: return Self.set(&epoch, Self.text(place, line))
        case NameWord("boot").word: return Self.set(&boot, Self.text(place, line))
        case NameWord("mark").word: return Self.set(&mark, Self.text(place, line))
        case NameWord("previous").word:
            previous = Self.text(place, line).flatMap { UInt32(String($0.bytes(of: line)), radix: 16) }
            return previous != nil
        case NameWord("reason").word:
            guard let place = Self.text(place, line) else { return false }
            let text = place.bytes(of: line)
            for each in EventReason.allCases where text.isEqual(to: each.name) { reason = each }
        default: break
        }
        return true
    }

    @inline(__always)
    private static func set<Member>(_ member: inout Member, _ new: Member?) -> Bool {
        guard let new else { return false }
        member = new
        return true
    }

    /// What is between the quotes; nil if there are none.
    @inline(__always)
    private static func text(_ place: ByteRange, _ line: Span<UInt8>) -> ByteRange? {
        guard place.count >= 2, line[place.start] == UInt8(ascii: "\"") else { return nil }
        return ByteRange(place.start + 1, place.end - 1)
    }

    /// Nil if it isn't an integer from 0, or has more than 16 digits.
    @inline(__always)
    private static func number(_ place: ByteRange, _ line: Span<UInt8>) -> UInt64? {
        guard 1...16 ~= place.count else { return nil }
        var number: UInt64 = 0
        for index in place.start..<place.end {
            let digit = line[index] ^ 0x30
            guard digit < 10 else { return nil }
            number = number &* 10 &+ UInt64(digit)
        }
        return number
    }
}

// The end of every record: its checksum, written and read eight digits at a time. A checksum has only one
// spelling, so any changed digit is detected. All that write or read records use this code.

/// The end of a record: `,"crc":"1a2b3c4d"}` and a line feed.
enum RecordEnd {
    /// The number of bytes, without the line feed.
    static let bytes = 18
    /// `,"crc":"` as a word, and `"}` with a line feed as another.
    private static let start: UInt64 = 0x223A_2263_7263_222C
    private static let close: UInt32 = 0x000A_7D22
    private static let closeBytes = 3

    @inline(__always)
    static func append(_ checksum: UInt32, to line: inout ByteBuffer) {
        line.append(word: start, count: 8)
        line.append(word: HexDigits.text(checksum), count: 8)
        line.append(word: UInt64(close), count: closeBytes)
    }

    /// The checksum at the end of a line, which has no line feed; nil if there is none. Accepts only the
    /// spelling of `append`.
    @inline(__always)
    static func checksum(of line: Span<UInt8>) -> UInt32? {
        guard line.count > bytes else { return nil }
        let place = line.count - bytes
        guard line.word(at: place) == start, line[place + 16] == UInt8(ascii: "\""),
            line[place + 17] == UInt8(ascii: "}")
        else { return nil }
        return HexDigits.value(line.word(at: place + 8))
    }
}

/// Eight hexadecimal digits as a word, the first digit in the lowest byte.
private enum HexDigits {
    private static let each: UInt64 = 0x0101_0101_0101_0101
    private static let evens: UInt64 = 0x00FF_00FF_00FF_00FF

    /// Lower-case digits.
    @inline(__always)
    static func text(_ value: UInt32) -> UInt64 {
        var word = UInt64(value.byteSwapped)
        word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word &<< 8) & evens
        word = (word &>> 4 | word &<< 8) & (each &* 0x0F)
        let letters = (word &+ each &* 6) &>> 4 & each
        return word &+ each &* 0x30 &+ letters &* 39
    }

    /// Nil if the text isn't what `text` writes.
    @inline(__always)
    static func value(_ text: UInt64) -> UInt32? {
        var word = (text & (each &* 0x0F)) &+ (text &>> 6 & each) &* 9
        word = (word &<< 4 | word &>> 8) & evens
        word = (word | word &>> 8) & 0x0000_FFFF_0000_FFFF
        let value = UInt32(truncatingIfNeeded: word | word &>> 16).byteSwapped
        return self.text(value) == text ? value : nil
    }
}
