// A fast reader for the most common records: updates and deletes without rare members, spelled as
// `RecordBuffer` spells them. `RecordLine` reads all other records. For these it would have the same
// result.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The beginning of such a record.
struct PlainRecord: ~Escapable {
    private let line: Span<UInt8>
    let isUpdate: Bool
    /// The key as spelled, without quotes.
    let key: ByteRange
    let revision: UInt64
    /// The offset of the value; in a delete, of `,"by":`.
    private let rest: Int

    private static let update: StaticString = #"{"event":"update","key":""#
    private static let delete: StaticString = #"{"event":"delete","key":""#
    private static let revisionStart: StaticString = #"","revision":"#
    private static let valueStart: StaticString = #","value":"#
    private static let authorStart: StaticString = #","by":"#
    private static let timeStart: StaticString = #","when":"#
    private static let digitsMax = 15

    /// Nil if the record is spelled differently. Reads only up to the beginning of the value.
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

    /// The whole record; nil if it has more members or is malformed.
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

    /// The time of the record; nil unless it is the last member before the checksum.
    var when: UInt64? {
        // A time has 13 digits from 2001 to 2286.
        time(at: line.count - RecordEnd.bytes - 13 - Self.timeStart.utf8CodeUnitCount)
    }

    /// The time at `place`, if it is the last member.
    @inline(__always)
    private func time(at place: Int) -> UInt64? {
        guard place >= rest, Self.stands(Self.timeStart, in: line, at: place) else { return nil }
        var end = place + Self.timeStart.utf8CodeUnitCount
        guard let when = Self.number(line, &end), end == line.count - RecordEnd.bytes,
            RecordEnd.checksum(of: line) != nil
        else { return nil }
        return when
    }

    /// The offset of the quote after a key; nil if the key has escapes or isn't ASCII.
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

    /// Reads the digits at `place` and moves past them; nil if there are none, or more than 15.
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
