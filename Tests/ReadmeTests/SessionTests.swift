// What a reader does in the first five minutes, as README.md says: the demo, ten lines by
// hand, the commands and Ctrl-C.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, tried", .someAtATime)
struct SessionTests {
    @Test("the demo runs, ten lines by hand go as shown, so do the commands, and Ctrl-C ends it all")
    func firstFiveMinutes() async throws {
        let scratch = try TemporaryFolder()
        let up = try Running("plugboard", ["up", "--demo"], in: scratch)
        try await eventually("the demo is over") {
            up.output.contains("is over; the bus stays up")
        }
        #expect(up.output.contains("nc -U \(scratch.busSocket)"))
        try await session(scratch)
        try await commands(scratch)
        let children = Self.children(of: up.pid)
        #expect(children.count >= 6 || !Self.hasProc)
        up.interrupt()
        #expect(try await up.status() == 0)
        #expect(!FileManager.default.fileExists(atPath: scratch.busSocket))
        #expect(children.filter { kill($0, 0) == 0 } == [])
    }

    /// The block of the page, line by line. Only revisions may differ.
    private func session(_ scratch: TemporaryFolder) async throws {
        // The others have tests of their own.
        for block in try Readme.blocks(in: "plugboard").prefix(1) {
            #expect((8...10).contains(block.lines.count))
            let person = try Typist(socket: scratch.busSocket)
            #expect(try await person.line().hasPrefix(#"{"event":"hello","broker":"plugboard""#))
            for line in block.lines {
                let text = String(line.dropFirst(2))
                if line.hasPrefix("> ") {
                    try person.type(text)
                } else {
                    let answer = try await person.line()
                    #expect(Likeness.ofJSON(text, answer), "\(block.place): \(answer)")
                }
            }
            try person.type("help")
            #expect(try await person.line().hasPrefix(#"{"ok":"help""#))
        }
    }

    /// This includes each request in the page's sentences.
    @Test("each request in the text is accepted")
    func requests() async throws {
        let scratch = try TemporaryFolder()
        let broker = try Running("plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { broker.output.contains("ready") }
        let person = try Typist(socket: scratch.busSocket)
        _ = try await person.line()
        let lines = try Readme.text().components(separatedBy: "\n")
        let requests = Readme.inlineCode(of: lines).filter { $0.hasPrefix(#"{"op":""#) && !$0.contains("…") }
        #expect(!requests.isEmpty)
        for request in requests {
            try person.type(request)
            #expect(try await person.line().hasPrefix(#"{"ok":""#))
        }
    }

    @Test("the commands for the journal show what was kept")
    func journal() async throws {
        let scratch = try TemporaryFolder()
        let broker = try Running("plugboard", ["broker", "--ready"], in: scratch)
        try await eventually("the broker listens") { broker.output.contains("ready") }
        let publish = try Running("plugboard", ["publish", "cart.total", "42.50"], in: scratch)
        #expect(try await publish.status() == 0)
        let program = ".build/release/plugboard "
        let lines = try Readme.blocks(in: "sh").flatMap(\.lines).filter { $0.hasPrefix(program + "journal") }
        #expect(lines.count == 2)
        for (line, expected) in zip(lines, ["whole: 1 keys", "cart.total 42.50  by"]) {
            let words = "exec " + Running.folder.path + "/plugboard " + line.dropFirst(program.count)
            let run = try Running("/bin/sh", ["-c", words], in: scratch)
            #expect(try await run.status() == 0)
            #expect(run.output.contains(expected))
        }
        broker.interrupt()
        #expect(try await broker.status() == 0)
    }

    private func commands(_ scratch: TemporaryFolder) async throws {
        let program = ".build/release/plugboard "
        let lines = try Readme.blocks(in: "sh").flatMap(\.lines).filter { $0.hasPrefix(program) }
        #expect(lines.count >= 5)
        let file = scratch.url.appendingPathComponent("session.ndjson")
        // Measuring takes minutes, a demo has no journal, and nobody's home must change.
        let others = ["bench", "journal", "install"].map { program + $0 }
        for line in lines where !others.contains(where: { line.hasPrefix($0) }) {
            let words =
                "exec " + Running.folder.path + "/plugboard "
                + line.dropFirst(program.count).replacing("session.ndjson", with: file.path)
            let run = try Running("/bin/sh", ["-c", words], in: scratch)
            if line.contains("subscribe") {
                try await eventually("\(line) prints") { run.output.contains("\n") }
                run.kill()
            } else if line.contains("record") {
                try await eventually("\(line) writes") {
                    (try? Data(contentsOf: file)).map { $0.count > 200 } ?? false
                }
                run.interrupt()
                #expect(try await run.status() == 0, "\(line)")
            } else {
                #expect(try await run.status() == 0, "\(line)")
                #expect(!run.output.isEmpty || line.contains("emit"), "\(line)")
            }
        }
    }

    private static let hasProc = FileManager.default.fileExists(atPath: "/proc/self/stat")

    private static func children(of parent: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            let status = FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data()
            return String(decoding: status, as: UTF8.self).contains("\nPPid:\t\(parent)\n")
        }
    }
}
