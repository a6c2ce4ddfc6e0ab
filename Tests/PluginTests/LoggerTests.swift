import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@testable import LoggerPlugin

@Suite("What the log says of an event", .someAtATime)
struct LogLineTests {
    private func line(_ text: String) throws -> LogLine {
        LogLine(try event(text), at: 1_000_000_000_007)
    }

    @Test("an update is written with all its fields, its value byte for byte")
    func update() throws {
        let line = try line(
            #"{"event":"update","sub":1,"key":"a.b","revision":9,"value":{"x":1.50,"x":"é"},"by":"me","cause":8}"#
        )
        #expect(
            line.json.text
                == #"{"time":"2001-09-09T01:46:40.007Z","event":"update","key":"a.b","revision":9,"#
                + #""value":{"x":1.50,"x":"é"},"by":"me","cause":8}"#
        )
        #expect(
            line.text == #"01:46:40.007Z #9 update a.b {"x":1.50,"x":"é"} by me because of #8"#
        )
    }

    @Test("initial values, deletes and synced lines are distinguished")
    func kinds() throws {
        let initial = try line(
            #"{"event":"update","sub":1,"key":"a","revision":1,"value":null,"by":"me","initial":true}"#
        )
        #expect(initial.json["initial"] == .true)
        #expect(initial.text == "01:46:40.007Z #1 initial update a null by me")
        let delete = try line(#"{"event":"delete","sub":1,"key":"a","revision":2,"by":"me"}"#)
        #expect(
            delete.json.text
                == #"{"time":"2001-09-09T01:46:40.007Z","event":"delete","key":"a","revision":2,"by":"me"}"#
        )
        #expect(delete.text == "01:46:40.007Z #2 delete a by me")
        let synced = try line(#"{"event":"synced","sub":1,"revision":3}"#)
        #expect(synced.json.text == #"{"time":"2001-09-09T01:46:40.007Z","event":"synced","revision":3}"#)
        #expect(synced.text == "01:46:40.007Z #3 synced")
    }

    @Test("what the broker wrote for a client has its reason")
    func reason() throws {
        let line = try line(
            #"{"event":"delete","sub":1,"key":"a","revision":2,"by":"me","reason":"expired"}"#
        )
        #expect(
            line.json.text.hasSuffix(
                #""event":"delete","key":"a","revision":2,"by":"me","reason":"expired"}"#
            )
        )
        #expect(line.text == "01:46:40.007Z #2 delete a by me (expired)")
    }

    @Test("a long value is cut for people, and complete in the file")
    func long() throws {
        let value = #""\#(String(repeating: "é", count: 1_000))""#
        let line = try line(#"{"event":"emit","sub":1,"key":"a","revision":1,"value":\#(value),"by":"me"}"#)
        let shown = value.prefix(LogLine.shownMax) + "…"
        #expect(line.text == "01:46:40.007Z #1 emit a \(shown) by me")
        #expect(line.json["value"]?.text == value)
    }
}

@Suite("The files of a log", .someAtATime)
struct LogFileTests {
    @Test("a full file is put aside, and the oldest one goes")
    func rotation() throws {
        let folder = try TemporaryFolder()
        var log = try LogFile(path: folder("log"), bytesMax: 6, keep: 2)
        for number in 10...18 { try log.append(.integer(number)) }
        #expect(try folder.names() == ["log", "log.1", "log.2"])
        #expect(folder.text("log.2") == "14\n15\n")
        #expect(folder.text("log.1") == "16\n17\n")
        #expect(folder.text("log") == "18\n")
    }

    @Test("one file is kept on request")
    func keepOne() throws {
        let folder = try TemporaryFolder()
        var log = try LogFile(path: folder("log"), bytesMax: 3, keep: 1)
        for number in 10...12 { try log.append(.integer(number)) }
        #expect(try folder.names() == ["log", "log.1"])
        #expect(folder.text("log.1") + folder.text("log") == "11\n12\n")
    }

    @Test("a line that is larger than a file has a file of its own")
    func largeLine() throws {
        let folder = try TemporaryFolder()
        var log = try LogFile(path: folder("log"), bytesMax: 8, keep: 4)
        for line in [JSON.integer(1), .string("larger than eight"), .integer(2)] { try log.append(line) }
        #expect(folder.text("log.2") == "1\n")
        #expect(folder.text("log.1") == "\"larger than eight\"\n")
        #expect(folder.text("log") == "2\n")
    }

    @Test("an existing log is continued; half a line from a crash gets an end")
    func goingOn() throws {
        let folder = try TemporaryFolder()
        try Data("1\n{\"ha".utf8).write(to: URL(fileURLWithPath: folder("log")))
        do {
            var log = try LogFile(path: folder("log"), bytesMax: 1_000, keep: 1)
            try log.append(.integer(2))
        }
        var log = try LogFile(path: folder("log"), bytesMax: 1_000, keep: 1)
        try log.append(.integer(3))
        #expect(folder.text("log") == "1\n{\"ha\n2\n3\n")
    }

    @Test("the size of an existing log counts")
    func sizeCounts() throws {
        let folder = try TemporaryFolder()
        try Data("123456\n".utf8).write(to: URL(fileURLWithPath: folder("log")))
        var log = try LogFile(path: folder("log"), bytesMax: 8, keep: 1)
        try log.append(.integer(2))
        #expect(folder.text("log.1") == "123456\n")
        #expect(folder.text("log") == "2\n")
    }

    @Test("if a file can't be rotated, the log continues in it")
    func noRotation() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder("log") + ".1/full", withIntermediateDirectories: true
        )
        var log = try LogFile(path: folder("log"), bytesMax: 3, keep: 1)
        for number in 10...13 { try log.append(.integer(number)) }
        #expect(folder.text("log") == "10\n11\n12\n13\n")
    }

    @Test("a symbolic link is followed, and only what it leads to is renamed", arguments: [true, false])
    func link(isThere: Bool) throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder("disk"), withIntermediateDirectories: true)
        if isThere { try folder.write("disk/bus", "10\n") }
        try FileManager.default.createSymbolicLink(atPath: folder("log"), withDestinationPath: "disk/bus")
        var log = try LogFile(path: folder("log"), bytesMax: 6, keep: 2)
        for number in (isThere ? 11 : 10)...14 { try log.append(.integer(number)) }
        #expect(try folder.names() == ["disk", "log"])
        #expect(FileCopy.target(ofLink: folder("log")) == "disk/bus")
        #expect(folder.text("disk/bus.2") + folder.text("disk/bus.1") == "10\n11\n12\n13\n")
        #expect(folder.text("log") == "14\n")
        // The link leads elsewhere from now on.
        try FileManager.default.removeItem(atPath: folder("log"))
        try FileManager.default.createSymbolicLink(atPath: folder("log"), withDestinationPath: "disk/other")
        log.reopen()
        for number in 15...18 { try log.append(.integer(number)) }
        #expect(folder.text("disk/other.1") + folder.text("disk/other") == "15\n16\n17\n18\n")
        #expect(folder.text("disk/bus") == "14\n")
    }

    @Test("a file that was moved away is opened again, and its size begins anew")
    func reopened() throws {
        let folder = try TemporaryFolder()
        var log = try LogFile(path: folder("log"), bytesMax: 6, keep: 2)
        try log.append(.integer(10))
        try FileManager.default.moveItem(atPath: folder("log"), toPath: folder("log-moved"))
        try log.append(.integer(11))
        log.reopen()
        for number in 12...14 { try log.append(.integer(number)) }
        #expect(folder.text("log-moved") == "10\n11\n")
        #expect(folder.text("log.1") == "12\n13\n" && folder.text("log") == "14\n")
        let trouble = log.trouble
        #expect(trouble == nil)
    }

    @Test("if it can't be opened again, the log goes on in the present file, and says so")
    func notReopened() throws {
        let folder = try TemporaryFolder()
        var log = try LogFile(path: folder("log"), bytesMax: 100, keep: 2)
        try FileManager.default.moveItem(atPath: folder("log"), toPath: folder("old"))
        try FileManager.default.createDirectory(atPath: folder("log"), withIntermediateDirectories: true)
        log.reopen()
        try log.append(.integer(10))
        #expect(folder.text("old") == "10\n")
        let trouble = log.trouble
        #expect(trouble?.contains("can't be opened: Is a directory") == true)
        try FileManager.default.removeItem(atPath: folder("log"))
        log.reopen()
        try log.append(.integer(11))
        #expect(folder.text("log") == "11\n")
        let later = log.trouble
        #expect(later == nil)
    }

    @Test("something that is no file, such as a pipe or a device, is never rotated")
    func pipe() throws {
        let folder = try TemporaryFolder()
        try #require(SystemCalls.makePipe(folder("log")))
        var log = try LogFile(path: folder("log"), bytesMax: 3, keep: 1)
        for number in 10...13 { try log.append(.integer(number)) }
        #expect(try folder.names() == ["log"])
        let fd = SystemCalls.open(folder("log"), O_RDONLY | O_NONBLOCK)
        defer { close(fd) }
        let bytes = PipeCalls.read(fd, upTo: 100).1
        #expect(String(decoding: bytes, as: UTF8.self) == "10\n11\n12\n13\n")
    }

    @Test("a new file is for its owner only, and knows its size and whether it ends with a line")
    func appendedFile() throws {
        let folder = try TemporaryFolder()
        var file = try AppendedFile(path: folder("log"))
        var (bytes, endsWithLine) = (file.bytes, file.endsWithLine)
        #expect(bytes == 0 && endsWithLine)
        try file.append(Array("ab".utf8))
        (bytes, endsWithLine) = (file.bytes, file.endsWithLine)
        #expect(bytes == 2 && !endsWithLine)
        try file.append([0x0A])
        (bytes, endsWithLine) = (file.bytes, file.endsWithLine)
        #expect(bytes == 3 && endsWithLine)
        let mode = try FileManager.default.attributesOfItem(atPath: folder("log"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("a file that can't be opened is named, with the reason")
    func notOpened() throws {
        let folder = try TemporaryFolder()
        let failure = #expect(throws: LogFailure.self) { _ = try AppendedFile(path: folder.path) }
        #expect(failure?.description == "\(folder.path) can't be opened: Is a directory")
    }

    @Test(
        "a full disk is an error, not a silent loss",
        .enabled(if: FileStatus(path: "/dev/full").kind == .other)
    )
    func fullDisk() throws {
        var file = try AppendedFile(path: "/dev/full")
        do throws(LogFailure) {
            try file.append([0x31, 0x0A])
            Issue.record("it was written")
        } catch {
            #expect(error.description == "the log can't be written: No space left on device")
        }
        let bytes = file.bytes
        #expect(bytes == 0)
    }
}
