// README.md as the tests read it: its blocks of code, and what stands in backticks.

import Foundation

/// The page.
enum Readme {
    struct Block: CustomStringConvertible {
        let language: String
        /// The number of its first line.
        let line: Int
        let lines: [String]

        var place: String { "README.md:\(line)" }

        var text: String { lines.joined(separator: "\n") + "\n" }
        var description: String { "\(place) (\(language))" }
    }

    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(of path: String = "README.md") throws -> String {
        String(decoding: try Data(contentsOf: package.appendingPathComponent(path)), as: UTF8.self)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: package.appendingPathComponent(path).path)
    }

    /// The fenced blocks below a heading of the third level.
    static func blocks(below heading: String) throws -> [Block] {
        let lines = try text().components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: "### \(heading)") else {
            throw Missing("the heading \(heading)")
        }
        let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("##") } ?? lines.endIndex
        return try blocks().filter { (start..<end).contains($0.line - 1) }
    }

    /// The fenced blocks, in order.
    static func blocks() throws -> [Block] {
        var blocks: [Block] = []
        var open: (language: String, line: Int, lines: [String])?
        for (index, line) in try text().components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    blocks.append(Block(language: block.language, line: block.line, lines: block.lines))
                }
                open = open == nil ? (String(line.dropFirst(3)), index + 2, []) : nil
            } else {
                open?.lines.append(line)
            }
        }
        return blocks
    }

    static func blocks(in language: String) throws -> [Block] {
        try blocks().filter { $0.language == language }
    }

    /// The lines of the section with this heading.
    static func section(_ heading: String) throws -> [String] {
        let lines = try text().components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: "## \(heading)") else {
            throw Missing("the section \(heading)")
        }
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix("## ") })
    }

    /// What stands in backticks within the sentences of the lines.
    static func inlineCode(of lines: [String]) -> [String] {
        var isSentence = true
        let sentences = lines.filter { line in
            if line.hasPrefix("```") { isSentence.toggle() }
            return isSentence && !line.hasPrefix("```")
        }
        return sentences.joined(separator: " ").matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}

/// Something that should be there and isn't.
struct Missing: Error, CustomStringConvertible {
    let description: String

    init(_ what: String) {
        description = "missing: \(what)"
    }
}
