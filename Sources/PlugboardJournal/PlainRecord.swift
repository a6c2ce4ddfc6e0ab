// Reads the most common records quickly: updates and deletes with only the common members,
// in the order in which `RecordBuffer` writes them. It goes from one member to the next.
// `RecordLine` reads all other records, and reads these with the same result.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The beginning of such a record, and its time.
struct PlainRecord: ~Escapable {
    private let line: Span<UInt8>
    let isUpdate: Bool
    /// The key as spelled, without quotes.
    let key: ByteRange
    let revision: UInt64
    /// The place of the value; in a delete, of the writer's member.
    private let rest: Int

    private static let update: StaticString = #"{"event":"update","key":""#
    private static let delete: StaticString = #"{"event":"delete","key":""#
    private static let revisionStart: StaticString = #"","revision":"#
    private static let valueStart: StaticString = #","value":"#
    private static let authorStart: StaticString = #","by":"#
    private static let timeStart: StaticString = #","when":"#
    private static let digitsMax = 15

    /// Nil if the record is spelled differently. Nothing after the value's beginning is looked at.
    @inline(__always)
    @_lifetime(copy line)
    init?(_ line: Span<UInt8>) {
        let keyStart = Self.update.utf8CodeUnitCount
        isUpdate = Self.stands(Self.update, in: line, at: 0)
        guard isUpdate || Self.stands(Self.delete, in: line, at: 0) else { return nil }
        guard let keyEnd = Self.keyEnd(line, from: keyStart),
            Self.stands(Self.revisionStart, in: line, at: keyEnd)
        else { return nil }
        var place = keyEnd + Self.revisionStart.utf8CodeUnitCount
        guard let revision = Self.number(line, &place), revision > 0 else { return nil }
        if isUpdate {
            guard Self.stands(Self.valueStart, in: line, at: place) else { return nil }
            place += Self.valueStart.utf8CodeUnitCount
        }
        self.line = line
        self.revision = revision
        key = ByteRange(keyStart, keyEnd)
        rest = place
    }

    /// The whole record; nil if it has further members or isn't one.
    func record() -> RecordLine? {
        var record = RecordLine()
        record.kind = isUpdate ? .update : .delete
        record.key = key
        record.revision = revision
        var scanner = JSONScanner(line)
        scanner.position = rest
        if isUpdate {
            guard (try? scanner.skipValue()) != nil else { return nil }
            record.value = ByteRange(rest, scanner.position)
        }
        guard Self.stands(Self.authorStart, in: line, at: scanner.position) else { return nil }
        let author = scanner.position + Self.authorStart.utf8CodeUnitCount
        scanner.position = author
        guard author < line.count, line[author] == UInt8(ascii: "\""), (try? scanner.skipValue()) != nil,
            let when = time(at: scanner.position)
        else { return nil }
        record.by = ByteRange(author, scanner.position)
        record.when = when
        return record
    }

    /// When it was written; nil if that isn't the last member before the checksum.
    var when: UInt64? {
        // A time has 13 digits from 2001 to 2286.
        time(at: line.count - RecordEnd.bytes - 13 - Self.timeStart.utf8CodeUnitCount)
    }

    /// The time, if it is the member at `place` and the last one.
    @inline(__always)
    private func time(at place: Int) -> UInt64? {
        guard place >= rest, Self.stands(Self.timeStart, in: line, at: place) else { return nil }
        var end = place + Self.timeStart.utf8CodeUnitCount
        guard let when = Self.number(line, &end), end == line.count - RecordEnd.bytes,
            RecordEnd.checksum(of: line) != nil
        else { return nil }
        return when
    }

    /// The place of the quote at the end of a key without escapes.
    @inline(__always)
    private static func keyEnd(_ line: Span<UInt8>, from start: Int) -> Int? {
        var place = start
        while place < line.count {
            let byte = line[place]
            if byte == UInt8(ascii: "\"") { return place > start ? place : nil }
            if byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x7F { return nil }
            place += 1
        }
        return nil
    }

    /// Moves past the digits at `place`; nil if there are none, or too many for this fast path.
    @inline(__always)
    private static func number(_ line: Span<UInt8>, _ place: inout Int) -> UInt64? {
        let start = place
        var number: UInt64 = 0
        while place < line.count, place - start <= digitsMax {
            let digit = line[place] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            number = number &* 10 &+ UInt64(digit)
            place += 1
        }
        let count = place - start
        let isLeadingZero = count > 1 && line[start] == UInt8(ascii: "0")
        return count > 0 && count <= digitsMax && !isLeadingZero ? number : nil
    }

    @inline(__always)
    private static func stands(_ text: StaticString, in line: Span<UInt8>, at place: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard place >= 0, line.count - place >= count else { return false }
        return line[place..<(place + count)].isEqual(to: text)
    }
}
