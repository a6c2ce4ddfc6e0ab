// What a line means that can't be read, for each of those who read a journal.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("A line that can't be read", .computing) struct LogReaderTests {
    private static let segment = JournalFiles.segment(1)
    private static let header =
        #"{"event":"segment","version":1,"segment":1,"epoch":"e","revision":0,"previous":"0","boot":"""#
    private let disk = SimulatedDisk()

    private static func update(_ revision: Int, _ key: String = "key") -> String {
        #"{"event":"update","key":"\#(key)","revision":\#(revision),"value":\#(revision),"by":"me","when":1"#
    }

    /// Writes lines with valid checksums; nil is a line without one.
    private func write(_ lines: [String?], as name: String = segment) throws {
        let file = try disk.create(name)
        var chain: UInt32 = 0
        for line in lines {
            var text = ByteBuffer()
            text.append(string: line ?? "nonsense")
            if line != nil {
                chain = Checksum.extended(chain, by: text.bytes)
                RecordEnd.append(chain, to: &text)
            } else {
                text.append("\n")
            }
            try file.appendAll(text.bytes)
        }
    }

    /// The revisions that are shown; 0 for what can't be read.
    private func shown() throws -> [UInt64] {
        var revisions: [UInt64] = []
        try Journal.forEachLine(disk) { record, _, _ in
            if record.map({ $0.kind == .update }) ?? true { revisions.append(record?.revision ?? 0) }
        }
        return revisions
    }

    private func message() -> String? {
        do {
            _ = try Journal.check(disk) { _, _ in }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "is damage at a start, is shown once, and is left out by a repair",
        arguments: [
            #"{"event":"other","revision":2"#,
            #"{"event":"update","key":"","revision":2,"value":1,"by":"me""#,
            #"{"event":"update","key":"a","revision":-2,"value":1,"by":"me""#,
        ]
    )
    func noRecord(line: String) throws {
        try write([Self.header, Self.update(1), line, line, Self.update(3, "other"), Self.update(4)])
        #expect(message()?.hasSuffix("line 3, byte 201: the line is no record") == true, "\(message() ?? "")")
        #expect(try shown() == [1, 0, 3, 4])
        var repair = try JournalRepair(disk)
        let repaired = try #require(try repair.run(epoch: "new"))
        #expect(repaired.damageCount == 1 && repaired.keys == 2 && repaired.revision == 4)
        #expect(try TestJournal(disk).state.count == 2)
    }

    @Test("is one damage with those after it, up to the next that continues the one before it")
    func several() throws {
        try write([Self.header, Self.update(1), nil, nil, Self.update(2)])
        // The first line after it follows a line without a checksum.
        #expect(try shown() == [1, 0])
        #expect(message()?.hasSuffix("there is no checksum at the end of the line") == true)
    }

    @Test("is a batch with anything but writes", arguments: [#"{"event":"closed"}"#, "7", ""])
    func batch(event: String) throws {
        try write([
            Self.header, Self.update(1), #"{"event":"batch","revision":2,"events":[\#(event)],"when":1"#,
        ])
        #expect(message()?.hasSuffix("the batch can't be read") == true)
        let request = ReadRequest(
            number: 1,
            place: ReadPlace(segment: 1),
            after: 0,
            skipping: 0,
            upTo: 9,
            patterns: [Array("**".utf8)]
        )
        #expect(ReadPiece(request, disk).hasFailed)
        var repair = try JournalRepair(disk)
        #expect(try repair.run(epoch: "new")?.damageCount == 1)
    }

    @Test("is none of many: who finds nothing reads only so much at a time", arguments: [0, 1])
    func pieces(found: Int) throws {
        let value = String(repeating: "x", count: 100_000)
        let long = #"{"event":"update","key":"other","revision":1,"value":"\#(value)","by":"me","when":1"#
        let lines = (1...40).map { long.replacing("\"revision\":1", with: "\"revision\":\($0)") }
        try write([Self.header] + lines + [Self.update(41)])
        var place: ReadPlace? = ReadPlace(segment: 1)
        var pieces: [ReadPiece] = []
        while let next = place, pieces.count < 10 {
            let key = found == 1 ? "key" : "nokey"
            let piece = ReadPiece(
                ReadRequest(
                    number: 1, place: next, after: 0, skipping: 0, upTo: 41, patterns: [Array(key.utf8)]
                ),
                disk
            )
            pieces.append(piece)
            place = piece.next
        }
        #expect(pieces.count == 4 && !pieces.contains { $0.hasFailed })
        #expect(pieces.map { $0.records.entries.count } == [0, 0, 0, found])
    }

    private static func snapshot(keys: Int) -> String {
        FileHeader(kind: .snapshot, segment: 1, epoch: "e", revision: 9, keys: keys).text
    }

    @Test(
        "is what a snapshot has too few or too many of",
        arguments: [
            ([snapshot(keys: 1), update(1)], "the end is missing", [1, 0]),
            ([snapshot(keys: 1), #"{"event":"synced""#, update(1)], "there is something after the end", [0]),
            ([snapshot(keys: 2), update(1), #"{"event":"synced""#], "as many values as it says", [1]),
            ([snapshot(keys: 1), update(1), #"{"event":"synced""#], nil, [1]),
        ] as [([String], String?, [UInt64])]
    )
    func end(lines: [String], message: String?, shown: [UInt64]) throws {
        try write(lines, as: JournalFiles.snapshot(1))
        #expect(try self.shown() == shown)
        #expect(message.map { self.message()?.hasSuffix($0) == true } ?? (self.message() == nil))
    }

    @Test("is the first of a later program's journal, which nobody reads")
    func later() throws {
        try write([Self.header.replacing(#""version":1"#, with: #""version":2"#), Self.update(1)])
        #expect(message()?.contains("is of a later version") == true)
        #expect(throws: JournalError.unknownVersion(JournalPlace(file: Self.segment, offset: 0, line: 1))) {
            try shown()
        }
    }

    @Test("is one whose revision isn't a number of 1 to 16 digits")
    func numbers() throws {
        func revision(_ text: String) -> UInt64? {
            let line = #"{"event":"update","key":"k","value":1,"by":"me","revision":\#(text)}"#
            let bytes = Array(line.utf8)
            return RecordLine(bytes.span)?.revision
        }
        for count in 1...16 {
            let digits = Array("9182736450918273".prefix(count))
            #expect(revision(String(digits)) == UInt64(String(digits)))
            for place in digits.indices {
                for other in ["-", ".", "e", "/", ":", " ", "\u{7F}", "\u{B9}"] as [Character] {
                    var wrong = digits
                    wrong[place] = other
                    #expect(revision(String(wrong)) == nil, "\(String(wrong))")
                }
            }
        }
        for text in ["12345678901234567", "1.5", "-1", "1e3", "null", #""1""#, "{}", "[]"] {
            #expect(revision(text) == nil, "\(text)")
        }
    }

    @Test(
        "isn't one with names of any length that this program doesn't know",
        arguments: ["a", "abcdefg", "abcdefgh", "abcdefghi", "revisions", "\\u0000", ""]
    )
    func unknown(name: String) throws {
        for value in ["1", "-1.5e3", #""text""#, "[]", #"{"a":[1]}"#] {
            let line = Self.update(7) + ",\"\(name)\":\(value)}"
            let bytes = Array(line.utf8)
            let read = RecordLine(bytes.span)
            let record = try #require(read)
            #expect(record.revision == 7 && record.when == 1 && record.kind == .update)
        }
    }
}
