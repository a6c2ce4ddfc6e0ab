// Compares what README.md says about the project with the project.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, its statements", .someAtATime)
struct PageTests {
    @Test("a test runs every block of code")
    func blocks() throws {
        // Plain blocks are pictures. The others have their tests in this folder.
        let languages = Set(try Readme.blocks().map(\.language))
        #expect(languages == ["", "sh", "plugboard", "console", "swift", "python", "json"])
        let known = [
            ".build/release/plugboard ", "~/.local/bin/plugboard ",
            "swift run -c release plugboard up --demo", "swift test",
        ]
        for block in try Readme.blocks(in: "sh") {
            for line in block.lines {
                #expect(known.contains { line.hasPrefix($0) }, "\(block.place): nothing runs \(line)")
            }
        }
    }

    @Test("CI runs the two commands exactly as the page has them")
    func commands() throws {
        let script = try Readme.text(of: ".ci/run").components(separatedBy: "\n")
        let commands = try Readme.blocks(in: "sh").flatMap(\.lines).filter { $0.hasPrefix("swift ") }
        #expect(commands.count == 2)
        for command in commands {
            #expect(script.contains { $0.hasSuffix(command) || $0.contains("\(command) ") }, "\(command)")
        }
    }

    @Test("a newcomer's page is short: 200 lines, 1,600 words, and twelve figures at most")
    func length() throws {
        let text = try Readme.text()
        #expect(text.split(separator: "\n").count <= 200)
        #expect(text.split(omittingEmptySubsequences: true, whereSeparator: \.isWhitespace).count <= 1_600)
        let rows = try Readme.section("Figures").filter { $0.hasPrefix("|") }.dropFirst(2)
        #expect((1...12).contains(rows.count))
    }

    @Test("plugboard limits prints exactly the limits of the specification")
    func limits() async throws {
        let rows = try Readme.section("9. Limits", of: "protocol/SPEC.md").compactMap {
            $0.firstMatch(of: /^\| `([a-z]+)` \| ([0-9]+) \|/).map { "\($0.1) \($0.2)" }
        }
        let run = try Running("plugboard", ["limits"], in: try TemporaryFolder())
        #expect(try await run.status() == 0)
        let printed = run.output.split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(printed.count > 20 && printed.sorted() == rows.sorted())
    }

    @Test("every file of the tour exists")
    func tour() throws {
        let lines = try Readme.section("Reading the sources", of: Readme.contributing)
        var folder = ""
        var named = 0
        for name in Readme.inlineCode(of: lines) {
            if Readme.exists(name) {
                folder = String(name[..<(name.lastIndex(of: "/") ?? name.startIndex)])
            } else {
                #expect(Readme.exists("\(folder)/\(name)"), "\(name) is neither at the top nor in \(folder)")
            }
            named += 1
        }
        #expect(named > 25)
    }

    @Test("every link on README and the pages that it leads to is a file, and every anchor a heading")
    func links() throws {
        var pages = ["README.md"]
        var next = 0
        while next < pages.count {
            let page = pages[next]
            next += 1
            let folder = page.split(separator: "/").dropLast().map { $0 + "/" }.joined()
            for match in try Readme.text(of: page).matches(of: /\]\(([^)#\s]*)(?:#([^)\s]*))?\)/) {
                let target = String(match.1)
                guard !target.contains("://") else { continue }
                let path = target.isEmpty ? page : Self.path(folder + target)
                #expect(Readme.exists(path), "\(page): \(target)")
                guard path.hasSuffix(".md"), Readme.exists(path) else { continue }
                if let anchor = match.2 {
                    #expect(
                        try Self.anchors(of: path).contains(String(anchor)), "\(page): \(target)#\(anchor)"
                    )
                }
                if !pages.contains(path) { pages.append(path) }
            }
        }
        #expect(pages.count > 10)
    }

    /// The path without `..`.
    private static func path(_ text: String) -> String {
        var parts: [Substring] = []
        for part in text.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The anchors of a page: those of its headings, as the sites that show it make them, and its own.
    private static func anchors(of page: String) throws -> [String] {
        let text = try Readme.text(of: page)
        let headings = text.components(separatedBy: "\n").filter { $0.hasPrefix("#") }
        return headings.map { heading in
            heading.drop { $0 == "#" || $0 == " " }.lowercased()
                .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
        } + text.matches(of: /<a id="([^"]+)">/).map { String($0.1) }
    }
}
