// README.md and the pages that continue it, as the tests read them: their blocks of code,
// and the text in backticks.

import Foundation

/// The pages.
enum Readme {
    static let questions = "protocol/QUESTIONS.md"
    static let swift = "protocol/SWIFT.md"
    static let faults = ".github/FAULTS.md"
    static let figures = ".github/FIGURES.md"
    static let contributing = ".github/CONTRIBUTING.md"
    /// The pages whose blocks are run like README's.
    private static let pages = ["README.md", swift, questions, faults, figures]

    struct Block: CustomStringConvertible {
        let page: String
        let language: String
        /// The number of its first line.
        let line: Int
        let lines: [String]

        var place: String { "\(page):\(line)" }

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

    /// The fenced blocks after a heading of the questions.
    static func blocks(below heading: String) throws -> [Block] {
        let lines = try text(of: questions).components(separatedBy: "\n")
        guard let start = lines.firstIndex(where: { $0 == "## \(heading)" || $0 == "### \(heading)" }) else {
            throw Missing("the heading \(heading)")
        }
        let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("##") } ?? lines.endIndex
        return try blocks(of: questions).filter { (start..<end).contains($0.line - 1) }
    }

    /// The fenced blocks of all pages, in order.
    static func blocks() throws -> [Block] { try pages.flatMap(blocks(of:)) }

    private static func blocks(of page: String) throws -> [Block] {
        var blocks: [Block] = []
        var open: (language: String, line: Int, lines: [String])?
        for (index, line) in try text(of: page).components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    blocks.append(
                        Block(page: page, language: block.language, line: block.line, lines: block.lines)
                    )
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
    static func section(_ heading: String, of page: String = "README.md") throws -> [String] {
        let lines = try text(of: page).components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: "## \(heading)") else {
            throw Missing("the section \(heading)")
        }
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix("## ") })
    }

    /// The text in backticks in the sentences of these lines.
    static func inlineCode(of lines: [String]) -> [String] {
        var isSentence = true
        let sentences = lines.filter { line in
            if line.hasPrefix("```") { isSentence.toggle() }
            return isSentence && !line.hasPrefix("```")
        }
        return sentences.joined(separator: " ").matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}

/// Something that is missing on a page.
struct Missing: Error, CustomStringConvertible {
    let description: String

    init(_ what: String) {
        description = "missing: \(what)"
    }
}
