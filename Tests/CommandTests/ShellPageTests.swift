// Runs everything on the page about shell scripts, in one folder, from its top to its end.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("protocol/SHELL.md", .someAtATime)
final class ShellPageTests: BrokerSuite {
    private struct Block {
        let language: Substring
        let lines: [Substring]
    }

    private static func blocks() throws -> [Block] {
        let tests = SocketPath.folder(of: #filePath)
        let page = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/protocol/SHELL.md"
        let text = String(decoding: try InputFile.contents(path: page, limit: 1 << 20), as: UTF8.self)
        let parts = text.split(separator: "```", omittingEmptySubsequences: false)
        return stride(from: 1, to: parts.count, by: 2).map { index in
            let lines = parts[index].split(separator: "\n", omittingEmptySubsequences: false)
            return Block(language: lines[0], lines: Array(lines.dropFirst().dropLast()))
        }
    }

    /// The program finds `plugboard` by its name.
    private func shell(_ script: String) throws -> Run {
        let path = "\(Products.folder):\(SocketPath.variable("PATH") ?? "/usr/bin:/bin")"
        return try Run(program: "/bin/sh", ["-c", script], in: folder, environment: ["PATH": path])
    }

    @Test("each command prints what the page shows")
    func page() throws {
        var background: [Run] = []
        let blocks = try Self.blocks()
        #expect(blocks.count > 7)
        for block in blocks {
            if block.language == "sh" {
                let command = block.lines.joined(separator: "\n")
                let run = try shell(command)
                background.append(run)
                try awaitReadiness(command, run)
            } else {
                #expect(block.language == "console")
                try play(block.lines)
            }
        }
        for run in background {
            run.signal(SIGTERM)
            _ = try run.finished()
        }
    }

    /// Runs the lines that begin with `$ `, and compares what each prints.
    private func play(_ lines: [Substring]) throws {
        var rest = lines[...]
        while let line = rest.popFirst() {
            let expected = rest.prefix { !$0.hasPrefix("$ ") }
            rest = rest.dropFirst(expected.count)
            let finished = try shell("{ \(line.dropFirst(2)); } 2>&1").finished()
            #expect(finished.output == expected.map { $0 + "\n" }.joined(), "\(line)")
        }
    }

    /// Waits until the broker knows a server or an observer.
    private func awaitReadiness(_ command: String, _ background: Run) throws {
        let words = command.split(separator: " ")
        let key = words[2].filter { $0 != "'" }.split(separator: "*")[0]
        try eventually("\(command) is ready") {
            words[1] == "serve"
                ? background.output == "ready\n" : try run("who", "\(key)x").output.contains("sub 1")
        }
    }
}
